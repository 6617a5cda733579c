"""Who sees which library: list, change, grant and withdraw."""

import json
from argparse import ArgumentParser
from typing import Any

from django.contrib.auth import get_user_model
from django.contrib.auth.models import Group
from django.core.management.base import BaseCommand

from library.conf import access_config
from library.exceptions import InvalidRequest
from library.graph import browse
from library.management.exit_codes import exit_codes
from library.models import LibraryAccess, LibraryGrant
from library.services.visibility import record_all, set_visibility


class Command(BaseCommand):
    """Exit code 0: done; 1: Neo4j cannot answer; 2: the arguments make no sense, and nothing was changed."""

    help = (
        "List the libraries and who sees them. With a NAME, change who does: "
        "library NAME --visibility private --grant user:anna --grant group:editors --revoke user:ben"
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Which library, and what is to become of it."""
        parser.add_argument("name", nargs="?", metavar="NAME", help="a library's name or uid; all, where left out")
        parser.add_argument(
            "--visibility",
            choices=LibraryAccess.Visibility.values,
            help="private: those with a grant; everyone: all who are signed in; public: anyone, if the settings allow",
        )
        for flag, text in (("--grant", "let a user or a group see it"), ("--revoke", "take that back")):
            parser.add_argument(flag, action="append", default=[], metavar="user:NAME|group:NAME", help=text)
        parser.add_argument("--json", action="store_true", help="print as JSON")

    def handle(self, *args: Any, **options: Any) -> None:
        """Change what is asked for, and print what is."""
        with exit_codes():
            record_all(browse.library_names(), access_config().default_visibility)
            records = list(LibraryAccess.objects.all())
            if options["name"] is not None:
                records = [_named(records, options["name"])]
            elif options["visibility"] or options["grant"] or options["revoke"]:
                raise InvalidRequest("name", "name the library that is to be changed")
            given = [(_grantee(text), True) for text in options["grant"]]
            given += [(_grantee(text), False) for text in options["revoke"]]
            for record in records if options["name"] is not None else ():
                _change(record, options["visibility"], given)
        rows = [_row(record) for record in records]
        if options["json"]:
            self.stdout.write(json.dumps(rows, indent=2, ensure_ascii=False))
            return
        for row in rows:
            grants = ", ".join(row["grants"]) or "no grants"
            self.stdout.write(f"{row['name']}  {row['visibility']}  ({grants})  {row['uid']}")
        if not rows:
            self.stdout.write("No libraries yet: see 'manage.py ingest'.")


def _named(records: list[LibraryAccess], name: str) -> LibraryAccess:
    for record in records:
        if name in (record.name, record.uid):
            return record
    listed = ", ".join(record.name for record in records) or "none"
    raise InvalidRequest("name", f"there is no library {name!r}; known are {listed}")


def _grantee(text: str) -> dict[str, Any]:
    """`user:NAME` or `group:NAME` as the field of a grant. Raises `InvalidRequest`."""
    kind, _, name = text.partition(":")
    users = get_user_model()
    if kind == "user":
        user = users.objects.filter(**{users.USERNAME_FIELD: name}).first()
        if user is None:
            raise InvalidRequest("grant", f"there is no user {name!r}")
        return {"user": user}
    if kind == "group":
        group = Group.objects.filter(name=name).first()
        if group is None:
            raise InvalidRequest("grant", f"there is no group {name!r}")
        return {"group": group}
    raise InvalidRequest("grant", f"must be user:NAME or group:NAME, not {text!r}")


def _change(record: LibraryAccess, visibility: str | None, given: list[tuple[dict[str, Any], bool]]) -> None:
    for grantee, wanted in given:
        if wanted:
            LibraryGrant.objects.get_or_create(library=record, **grantee)
        else:
            LibraryGrant.objects.filter(library=record, **grantee).delete()
    if visibility is not None and visibility != record.visibility:
        set_visibility(record, visibility)


def _row(record: LibraryAccess) -> dict[str, Any]:
    grants = record.grants.select_related("user", "group")
    names = [f"user:{grant.user}" if grant.user_id is not None else f"group:{grant.group}" for grant in grants]
    return {"uid": record.uid, "name": record.name, "visibility": record.visibility, "grants": sorted(names)}
