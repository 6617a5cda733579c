"""The whole path once, on real input: set up, take in the sample library, search it, say what to do next."""

import json
import os
import secrets
from argparse import ArgumentParser
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from typing import Any, Final

from django.conf import settings
from django.contrib.auth import get_user_model
from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandError
from rest_framework.authtoken.models import Token

from library.ingest.sample import SAMPLE_DIR, TOPICS_FOLDER, export_python_topics, sample_libraries

DEFAULT_QUERY: Final = "how do generators give control back to the caller"
USERNAME: Final = "demo"
HITS: Final = 5
WARM_UPS: Final = 3
SERVER: Final = "http://127.0.0.1:8000"
PREPARATIONS: Final = (
    ("Preparing the database", "migrate", ("--verbosity", "0")),
    ("Recording the model services", "setup_models", ()),
    ("Preparing Neo4j's constraints and indexes", "setup_neo4j_indexes", ()),
)


@dataclass(frozen=True, slots=True)
class SignIn:
    """How to come in as the demo user. The password is empty where it is not ours to show; `note` says why."""

    username: str
    password: str
    token: str
    note: str = ""


class Command(BaseCommand):
    """Safe to run again: what is there already is left as it is."""

    help = "Set everything up, take in the sample library, search it and print a sign-in."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """The question, and the shape of the answer."""
        parser.add_argument("query", nargs="?", default="", help=f"default: {DEFAULT_QUERY}")
        parser.add_argument("--json", action="store_true", help="print the search's answer as JSON, nothing else")

    def handle(self, *args: Any, **options: Any) -> None:
        """Progress goes to standard error, the answer to standard output."""
        self.stderr.style_func = None
        query = options["query"].strip() or DEFAULT_QUERY
        for title, command, arguments in PREPARATIONS:
            self._run(title, command, *arguments)
        self._take_in_sample()
        sign_in = demo_sign_in(state_dir())
        self._warm_up(query)
        self._say(f"Searching for: {query}")
        output = ["--json"] if options["json"] else ["--limit", str(HITS)]
        call_command("search", *output, "--", query, stdout=self.stdout, stderr=self.stderr)
        if not options["json"]:
            self.stdout.write(farewell(sign_in))

    def _take_in_sample(self) -> None:
        topics = state_dir() / "sample" / TOPICS_FOLDER
        self._say(f"Writing out {export_python_topics(topics)} Python language topics")
        for library in sample_libraries():
            self._run(
                f"Taking in the {library.library_type} library: {library.name}",
                "ingest",
                str(SAMPLE_DIR / library.folder if library.folder else topics),
                *("--library", library.name, "--type", library.library_type, "--collection", library.collection),
            )

    def _warm_up(self, query: str) -> None:
        """A Neo4j that has just started compiles its queries first: no leg of the search shown is to wait for that."""
        self._say("Warming up Neo4j")
        for _ in range(WARM_UPS):
            answer = StringIO()
            call_command("search", "--json", "--no-rerank", "--", query, stdout=answer, stderr=StringIO())
            if not json.loads(answer.getvalue())["degraded"]:
                return

    def _say(self, message: str) -> None:
        self.stderr.write(f"==> {message}")
        self.stderr.flush()

    def _run(self, title: str, command: str, *arguments: str) -> None:
        self._say(title)
        try:
            call_command(command, *arguments, stdout=self.stderr, stderr=self.stderr)
        except CommandError as error:
            raise CommandError(
                f"{title} did not succeed ({command}): {error}\nWhat is done already is kept: mend the cause, then run "
                "the demo again.",
                returncode=error.returncode,
            ) from error


def state_dir() -> Path:
    """Where the project keeps what it makes on this machine."""
    return Path(getattr(settings, "MNEMOSYNE_STATE_DIR", ".mnemosyne"))


def demo_sign_in(folder: Path) -> SignIn:
    """The demo user, made on the first call; a password that was changed since is not touched."""
    user, created = get_user_model().objects.get_or_create(username=USERNAME)
    kept = _kept(folder)
    if created:
        kept = secrets.token_urlsafe(12)
        user.set_password(kept)
        user.save(update_fields=["password"])
        _keep(folder, kept)
    token, _ = Token.objects.get_or_create(user=user)
    if kept and user.check_password(kept):
        return SignIn(USERNAME, kept, token.key)
    return SignIn(USERNAME, "", token.key, "changed since the demo made it; anew: manage.py changepassword demo")


def _note(folder: Path) -> Path:
    return folder / "demo-sign-in.json"


def _kept(folder: Path) -> str:
    """The password of an earlier run, empty where there was none."""
    path = _note(folder)
    return str(json.loads(path.read_text(encoding="utf-8"))["password"]) if path.exists() else ""


def _keep(folder: Path, password: str) -> None:
    """For the owner's eyes only, from the moment the file exists."""
    folder.mkdir(parents=True, exist_ok=True)
    path = _note(folder)
    path.unlink(missing_ok=True)
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as file:
        json.dump({"username": USERNAME, "password": password}, file)


def farewell(sign_in: SignIn) -> str:
    """The last lines of the demo: the sign-in, and what to try next."""
    return f"""
Sign in
  user       {sign_in.username}
  password   {sign_in.password or sign_in.note}
  API token  {sign_in.token}

Try next
  make serve     the search page: {SERVER}/library/search/
  make demo QUERY="who kept the lamp burning when the power failed"
  make stop      stop Neo4j and the model server; everything taken in is kept

With the server running, the same search over the API:
  curl {SERVER}/api/v1/library/search/ \\
    -H "Authorization: Token {sign_in.token}" -H "Content-Type: application/json" \\
    -d '{{"query": "a lighthouse in a gale", "limit": 3}}'
"""
