"""Search from the command line: the same service, the same answer."""

import json
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand

from library.exceptions import InvalidRequest
from library.graph import browse
from library.management.arguments import Once
from library.management.exit_codes import exit_codes
from library.services.present import legs_line, place, response_as_dict
from library.services.requests import build_request
from library.services.search import SearchService
from library.services.types import FUSIONS, STRATEGIES, Scope, SearchCandidate, SearchResponse

PREVIEW_CHARS = 240


class Command(BaseCommand):
    """Exit code 0: answered, if only by an empty list; 1: nothing could answer; 2: the arguments make no sense."""

    help = "Search the libraries. With --json, prints what the REST API answers."
    # Checks load the whole web application; the settings that a search reads are checked as they are read.
    requires_system_checks = ()

    def add_arguments(self, parser: ArgumentParser) -> None:
        """The parameters of a search."""
        parser.add_argument("query", nargs="+", help="what to search for")
        parser.add_argument("--library-uid", action=Once, help="only this library, by uid")
        parser.add_argument("--library", action=Once, metavar="NAME", help="only this library, by name")
        parser.add_argument("--type", action=Once, dest="library_type", help="only libraries of this type")
        parser.add_argument("--collection-uid", action=Once, help="only this collection")
        parser.add_argument("--limit", action=Once, type=int, help="how many results")
        parser.add_argument("--offset", action=Once, type=int, help="how many results to pass over")
        parser.add_argument("--strategy", action=Once, help=f"one of {', '.join(STRATEGIES)}")
        parser.add_argument("--fusion", action=Once, help=f"one of {', '.join(FUSIONS)}")
        parser.add_argument("--no-rerank", action="store_true", help="keep the fused order")
        parser.add_argument("--json", action="store_true", help="print the response as JSON")

    def handle(self, *args: Any, **options: Any) -> None:
        """Search and print."""
        with exit_codes():
            names = ("library_type", "collection_uid", "limit", "offset", "strategy", "fusion")
            request = build_request(
                _query(options["query"]),
                **{name: options[name] for name in names},
                library_uid=_library_uid(options),
                rerank=False if options["no_rerank"] else None,
            )
            response = SearchService().search(request)
        if options["json"]:
            shown = json.dumps(response_as_dict(response), indent=2, ensure_ascii=False, allow_nan=False)
            self.stdout.write(shown)
        else:
            self._print(response)

    def _print(self, response: SearchResponse) -> None:
        for candidate in response.candidates:
            self.stdout.write(self.style.SUCCESS(f"{candidate.rank:>3}. {candidate.item_title}"))
            self.stdout.write(f"     {_about(candidate)}")
            self.stdout.write(f"     {_shortened(candidate.text_preview)}\n\n")
        for image in response.images:
            self.stdout.write(f"     picture: {_shortened(image.description or image.item_title)} ({image.source})")
        if not response.candidates:
            self.stdout.write("Nothing found.")
        plain = response_as_dict(response)
        strategy = f"{response.search_strategy} ({response.strategy_confidence:.2f})"
        self.stdout.write(f"legs: {legs_line(plain['legs'].items())}")
        self.stdout.write(f"{strategy}: {response.strategy_reason}; {response.search_time_ms:.0f} ms in all")
        for warning in response.warnings:
            self.stderr.write(self.style.WARNING(f"warning: {warning}"))


def _query(words: str | list[str]) -> str:
    """The words as one query. Raises `InvalidRequest` for bytes that are no text in the terminal's encoding."""
    query = words if isinstance(words, str) else " ".join(words)
    try:
        query.encode()
    except UnicodeEncodeError as error:
        raise InvalidRequest("query", "is not valid text in the encoding of this terminal") from error
    return query


def _library_uid(options: dict[str, Any]) -> str | None:
    """The library asked for, by uid or by name. Raises `InvalidRequest` where there is none of that name."""
    uid, name = options["library_uid"], options["library"]
    if name is None:
        return uid if uid is None else str(uid)
    if uid is not None:
        raise InvalidRequest("library", "give --library or --library-uid, not both")
    known = browse.libraries(Scope())
    for library in known:
        if library.name == name:
            return library.uid
    listed = ", ".join(library.name for library in known) or "none"
    raise InvalidRequest("library", f"there is no library {name!r}; known are {listed}")


def _about(candidate: SearchCandidate) -> str:
    parts = [place(candidate.metadata), candidate.library_type, f"found by {candidate.source}"]
    return " · ".join([part for part in parts if part] + [f"score {candidate.score:.4f}"])


def _shortened(text: str) -> str:
    """The preview on one line."""
    line = " ".join(text.split())
    return line if len(line) <= PREVIEW_CHARS else line[: PREVIEW_CHARS - 1].rstrip() + "…"
