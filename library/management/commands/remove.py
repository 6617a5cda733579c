"""Take items, or a whole library, out again."""

import sys
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand
from tqdm import tqdm

from library.exceptions import InvalidRequest
from library.graph import browse
from library.ingest.contents import items_named, remove_items, remove_library
from library.management.exit_codes import exit_codes
from library.services.types import Scope


class Command(BaseCommand):
    """Exit code 0: removed; 1: Neo4j cannot answer; 2: the arguments make no sense, and nothing was removed."""

    help = (
        "Remove items from a library by their source (as 'ingest --json' prints it), or with --all the whole library."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        """What to remove."""
        parser.add_argument("sources", nargs="*", metavar="SOURCE", help="absolute paths, or ids of a BEIR collection")
        parser.add_argument("--library", required=True, metavar="NAME", help="from this library")
        parser.add_argument("--all", action="store_true", help="the library with everything in it")
        parser.add_argument("--quiet", action="store_true", help="show no progress")

    def handle(self, *args: Any, **options: Any) -> None:
        """Remove, and say how much."""
        with exit_codes():
            if options["all"] == bool(options["sources"]):
                raise InvalidRequest("source", "name what to remove, or give --all for the whole library")
            uid = _library(options["library"])
            uids = items_named(uid, options["sources"])
            with tqdm(total=len(uids), unit="item", disable=options["quiet"] or None, file=sys.stderr) as bar:
                if options["all"]:
                    remove_library(uid, lambda done: _advance(bar, done))
                else:
                    remove_items(uid, uids, lambda done: _advance(bar, done))
        self.stdout.write(f"{len(uids)} removed from {options['library']}")


def _advance(bar: "tqdm[Any]", done: int) -> None:
    bar.update(done)


def _library(name: str) -> str:
    known = {library.name: library.uid for library in browse.libraries(Scope())}
    if name not in known:
        raise InvalidRequest("library", f"there is no library {name!r}; known are {', '.join(known) or 'none'}")
    return known[name]
