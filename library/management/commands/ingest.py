"""Take files and folders into a library."""

import json
import sys
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from tqdm import tqdm

from library.content_types import CONTENT_TYPES
from library.exceptions import MnemosyneError
from library.ingest.report import IngestReport
from library.ingest.run import DEFAULT_COLLECTION, EXTRACTORS, IngestRequest, ingest
from library.models import LibraryAccess


def _advance(bar: "tqdm[Any]", done: int) -> None:
    bar.update(done)


class Command(BaseCommand):
    """Progress goes to standard error, the report to standard output; exit code 1 when anything failed."""

    help = "Take files and folders into a library: text, Markdown, HTML, PDF, Word, EPUB, pictures, BEIR corpora."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """What to take in, and where it goes."""
        parser.add_argument("paths", nargs="+", type=Path, metavar="PATH", help="a file or a folder")
        parser.add_argument("--library", required=True, help="its name; made when there is none")
        parser.add_argument("--type", required=True, choices=tuple(CONTENT_TYPES), dest="library_type")
        parser.add_argument("--collection", default=DEFAULT_COLLECTION, help=f"default: {DEFAULT_COLLECTION}")
        parser.add_argument(
            "--visibility",
            choices=LibraryAccess.Visibility.values,
            help="who sees the library beside staff: those with a grant, all who are signed in, or anyone; "
            "without it, a library stays as it is, and a new one is what LIBRARY_DEFAULT_VISIBILITY says",
        )
        parser.add_argument(
            "--concepts",
            choices=EXTRACTORS,
            help="who finds concepts: the built-in finder, or the system's chat model, which costs calls; "
            "default: INGEST_CONCEPTS",
        )
        parser.add_argument("--encoding", help="of text files that are not UTF-8, for example cp1252")
        parser.add_argument(
            "--base", type=Path, help="identify files by their path below this folder, not by their absolute path"
        )
        parser.add_argument("--json", action="store_true", help="print the report as JSON")
        parser.add_argument("--quiet", action="store_true", help="show no progress")

    def handle(self, *args: Any, **options: Any) -> None:
        """Run the ingest and print what became of it."""
        try:
            request = IngestRequest(
                tuple(options["paths"]),
                options["library"],
                options["library_type"],
                options["collection"],
                options["encoding"],
                options["base"],
                options["visibility"],
                options["concepts"],
            )
            with tqdm(unit="item", desc=options["library"], disable=options["quiet"] or None, file=sys.stderr) as bar:
                report = ingest(request, progress=lambda done: _advance(bar, done), total=bar.reset)
        except MnemosyneError as error:
            raise CommandError(str(error)) from error
        if options["json"]:
            self.stdout.write(json.dumps(report.as_dict(), ensure_ascii=False, indent=2))
        else:
            self._print(report)
        if report.failed:
            raise CommandError(f"{len(report.failed)} of {len(report.outcomes)} failed", returncode=1)

    def _print(self, report: IngestReport) -> None:
        for name, text in report.warnings:
            self.stdout.write(f"warning: {text if name in text else f'{name}: {text}'}")
        for outcome in report.outcomes:
            if outcome.status in ("failed", "skipped"):
                reason = outcome.reason if outcome.name in outcome.reason else f"{outcome.name}: {outcome.reason}"
                self.stdout.write(f"{outcome.status}: {reason}")
        self.stdout.write(report.summary())
