"""Search from the command line: the same service, the same answer."""

import json
import re
from argparse import ArgumentParser
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path
from typing import Any, Final

from django.core.management.base import BaseCommand

from library.conf import search_config
from library.exceptions import InvalidRequest
from library.graph import browse
from library.management.arguments import Once
from library.management.callers import add_user_argument, allowed_for
from library.management.exit_codes import exit_codes
from library.services.explain import hit_lines, search_lines
from library.services.present import legs_line, one_line, passage_segments, place, printable, response_as_dict
from library.services.query_optimizer import understand
from library.services.requests import build_request
from library.services.search import SearchService
from library.services.types import (
    FUSIONS,
    GROUPINGS,
    STRATEGIES,
    TEXT_LEGS,
    Facets,
    Scope,
    SearchCandidate,
    SearchRequest,
    SearchResponse,
)

PREVIEW_CHARS: Final = 240
NO_GOOD_MATCH: Final = "No good match: the nearest passages are shown."
_SPACE: Final = re.compile(r"\s+")


class Command(BaseCommand):
    """Exit code 0: answered, if only by an empty list; 1: nothing could answer; 2: the arguments make no sense."""

    help = "Search the libraries. With --json, prints what the REST API answers."
    # Checks load the whole web application; the settings that a search reads are checked as they are read.
    requires_system_checks = ()

    def add_arguments(self, parser: ArgumentParser) -> None:
        """The parameters of a search."""
        parser.add_argument("query", nargs="*", help="what to search for")
        parser.add_argument("--image", action=Once, type=Path, metavar="PATH", help="search by this picture as well")
        parser.add_argument("--library-uid", action=Once, help="only this library, by uid")
        parser.add_argument("--library", action=Once, metavar="NAME", help="only this library, by name")
        parser.add_argument("--type", action=Once, dest="library_type", help="only libraries of this type")
        parser.add_argument("--collection-uid", action=Once, help="only this collection")
        parser.add_argument("--limit", action=Once, type=int, help="how many results")
        parser.add_argument("--offset", action=Once, type=int, help="how many results to pass over")
        parser.add_argument("--strategy", action=Once, help=f"one of {', '.join(STRATEGIES)}")
        parser.add_argument("--fusion", action=Once, help=f"one of {', '.join(FUSIONS)}")
        parser.add_argument("--search-types", action=Once, metavar="LEG,LEG", help=f"of {', '.join(TEXT_LEGS)}")
        parser.add_argument(
            "--group-by", action=Once, help=f"one of {', '.join(GROUPINGS)}; item: its best passage only"
        )
        parser.add_argument(
            "--expand", action=Once, type=int, metavar="N", help="with N passages before and after each"
        )
        parser.add_argument("--facets", action="store_true", help="count all candidates by library, type, collection")
        parser.add_argument("--no-rerank", action="store_true", help="keep the fused order")
        parser.add_argument("--no-images", action="store_true", help="look for no pictures")
        parser.add_argument("--no-cache", action="store_true", help="search anew, also where the answer is cached")
        parser.add_argument("--explain", action="store_true", help="print how the search went, and each hit's parts")
        add_user_argument(parser)
        parser.add_argument("--json", action="store_true", help="print the response as JSON")

    def handle(self, *args: Any, **options: Any) -> None:
        """Search and print."""
        with exit_codes():
            response = SearchService().search(_request(options))
        if response.images:
            # The addresses load the whole web application.
            from library.addresses import API_THUMBNAIL, with_addresses

            response = with_addresses(response, API_THUMBNAIL)
        if options["json"]:
            shown = json.dumps(response_as_dict(response), indent=2, ensure_ascii=False, allow_nan=False)
            self.stdout.write(shown)
        else:
            self._print(response, options["explain"])

    def _print(self, response: SearchResponse, explained: bool) -> None:
        if response.no_good_match and response.candidates:
            self.stdout.write(f"{NO_GOOD_MATCH}\n\n")
        for candidate in response.candidates:
            self._print_hit(candidate, explained)
        for image in response.images:
            self.stdout.write(f"     picture: {_shortened(image.description or image.item_title)} ({image.source})")
        if not response.candidates:
            self.stdout.write("Nothing found.")
        for title, counts in _facets(response.facets):
            self.stdout.write(f"{title}: {counts}")
        if explained:
            question_type = understand(response.query).question_type
            self.stdout.write("\n".join(search_lines(response, question_type)))
        else:
            self._print_summary(response)
        for warning in response.warnings:
            self.stderr.write(self.style.WARNING(f"warning: {one_line(warning)}"))

    def _print_hit(self, candidate: SearchCandidate, explained: bool) -> None:
        self.stdout.write(self.style.SUCCESS(f"{candidate.rank:>3}. {one_line(candidate.item_title)}"))
        self.stdout.write(f"     {_about(candidate)}")
        before, after = _context(candidate)
        passage = "".join(
            self.style.MIGRATE_HEADING(text) if segment.hit else text
            for segment in passage_segments(candidate)
            if (text := _SPACE.sub(" ", printable(segment.text)))
        )
        for line in (*before, passage.strip(), *after):
            self.stdout.write(f"     {line}")
        for line in hit_lines(candidate) if explained else ():
            self.stdout.write(f"       {printable(line)}")
        self.stdout.write("\n")

    def _print_summary(self, response: SearchResponse) -> None:
        plain = response_as_dict(response)
        strategy = f"{response.search_strategy} ({response.strategy_confidence:.2f})"
        self.stdout.write(f"legs: {legs_line(plain['legs'].items())}")
        self.stdout.write(f"{strategy}: {response.strategy_reason}; {response.search_time_ms:.0f} ms in all")


def _request(options: dict[str, Any]) -> SearchRequest:
    """The request that the arguments ask for. Raises `InvalidRequest`."""
    allowed = allowed_for(options)
    names = ("library_type", "collection_uid", "limit", "offset", "strategy", "fusion", "group_by", "expand")
    types = options["search_types"]
    return build_request(
        _query(options["query"]),
        query_image=_picture(options["image"]),
        **{name: options[name] for name in names},
        library_uid=_library_uid(options, allowed),
        allowed_library_uids=allowed,
        search_types=None if types is None else [name.strip() for name in types.split(",")],
        rerank=False if options["no_rerank"] else None,
        include_images=False if options["no_images"] else None,
        facets=options["facets"],
        fresh=options["no_cache"],
    )


def _query(words: str | list[str]) -> str:
    """The words as one query. Raises `InvalidRequest` for bytes that are no text in the terminal's encoding."""
    query = words if isinstance(words, str) else " ".join(words)
    try:
        query.encode()
    except UnicodeEncodeError as error:
        raise InvalidRequest("query", "is not valid text in the encoding of this terminal") from error
    return query


def _picture(path: Path | None) -> bytes | None:
    """The bytes of a file. Raises `InvalidRequest` where it cannot be read, or is larger than a picture may be."""
    if path is None:
        return None
    try:
        with path.open("rb") as content:
            return content.read(search_config().max_image_bytes + 1)
    except OSError as error:
        raise InvalidRequest("image", f"{path}: {error.strerror or error}") from error


def _library_uid(options: dict[str, Any], allowed: frozenset[str] | None) -> str | None:
    """The library asked for, by uid or by name. Raises `InvalidRequest` where there is none of that name."""
    uid, name = options["library_uid"], options["library"]
    if name is None:
        return uid if uid is None else str(uid)
    if uid is not None:
        raise InvalidRequest("library", "give --library or --library-uid, not both")
    known = browse.libraries(Scope(allowed))
    for library in known:
        if library.name == name:
            return library.uid
    listed = ", ".join(library.name for library in known) or "none"
    raise InvalidRequest("library", f"there is no library {name!r}; known are {listed}")


def _about(candidate: SearchCandidate) -> str:
    others = candidate.metadata.get("other_chunks")
    parts = [place(candidate.metadata), candidate.library_type, f"found by {candidate.source}"]
    parts += [f"score {candidate.score:.4f}", f"{others} more of this item" if others else ""]
    return one_line(" · ".join(part for part in parts if part))


def _context(candidate: SearchCandidate) -> tuple[list[str], list[str]]:
    """The passages before and after a hit, where they were asked for, on one line each."""
    context = candidate.metadata.get("context") or ()
    before = [f"| {_shortened(part['text'])}" for part in context if part["chunk_index"] < candidate.chunk_index]
    return before, [f"| {_shortened(part['text'])}" for part in context if part["chunk_index"] > candidate.chunk_index]


def _facets(facets: Facets | None) -> Iterator[tuple[str, str]]:
    """A line for each facet: its values with their counts."""
    if facets is None:
        return
    for field in fields(facets):
        counts = getattr(facets, field.name)
        yield field.name, ", ".join(f"{one_line(found.label)} {found.count}" for found in counts) or "none"


def _shortened(text: str) -> str:
    """The beginning of a text on one line."""
    line = one_line(text)
    return line if len(line) <= PREVIEW_CHARS else line[: PREVIEW_CHARS - 1].rstrip() + "…"
