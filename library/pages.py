"""What the templates show of an answer, ready to be written out. Texts are raw: the templates escape them."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from library.services.present import Segment, place, query_words, segments
from library.services.types import MAX_OFFSET, ImageSearchResult, LegReport, SearchCandidate, SearchResponse


@dataclass(frozen=True, slots=True)
class Hit:
    """One result. `breakdown` has a row for each part of its score."""

    candidate: SearchCandidate
    title: tuple[Segment, ...]
    preview: tuple[Segment, ...]
    place: str
    images: tuple[str, ...]
    breakdown: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Paging:
    """Query strings of the neighbouring pages, '' where there is none."""

    previous: str
    next: str
    first: int
    last: int


@dataclass(frozen=True, slots=True)
class Results:
    """A search's answer as the page shows it."""

    response: SearchResponse
    hits: tuple[Hit, ...]
    images: tuple[ImageSearchResult, ...]
    legs: tuple[tuple[str, LegReport], ...]
    paging: Paging


def results(response: SearchResponse, given: Mapping[str, Any], offset: int, limit: int) -> Results:
    """The answer with highlighted words and links; `given` are the parameters that the links repeat."""
    words = query_words(response.query)
    # One page more may be empty: how many there are in all is not counted, only found.
    more = len(response.candidates) >= limit and offset + limit <= MAX_OFFSET
    return Results(
        response=response,
        hits=tuple(_hit(candidate, words) for candidate in response.candidates),
        images=tuple(response.images),
        legs=tuple(response.legs.items()),
        paging=paging(given, offset, limit, len(response.candidates), more),
    )


def paging(given: Mapping[str, Any], offset: int, limit: int, shown: int, more: bool) -> Paging:
    """Links that keep every parameter but the offset."""
    kept = {name: value for name, value in given.items() if name != "offset"}
    earlier = max(0, offset - limit)
    return Paging(
        previous="?" + urlencode({**kept, "offset": earlier}) if offset > 0 else "",
        next="?" + urlencode({**kept, "offset": offset + limit}) if more else "",
        first=offset + 1 if shown else 0,
        last=offset + shown,
    )


def _hit(candidate: SearchCandidate, words: frozenset[str]) -> Hit:
    return Hit(
        candidate=candidate,
        title=segments(candidate.item_title, words),
        preview=segments(candidate.text_preview, words),
        place=place(candidate.metadata),
        images=tuple(str(uid) for uid in candidate.metadata.get("nearby_images") or ()),
        breakdown=tuple(_rows(candidate.score_breakdown)),
    )


def _rows(breakdown: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, str]]:
    for name, value in breakdown.items():
        if value is None:
            continue
        if isinstance(value, Mapping):
            yield from _rows(value, f"{prefix}{name}: ")
        elif isinstance(value, float):
            yield prefix + name, f"{value:.6f}"
        elif isinstance(value, list | tuple):
            yield prefix + name, " → ".join(str(part) for part in value)
        else:
            yield prefix + name, str(value)
