"""What the templates show of an answer, ready to be written out. Texts are raw: the templates escape them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final
from urllib.parse import urlencode

from library.content_types import CONTENT_TYPES
from library.services.explain import adds_up, breakdown_rows, metric_rows
from library.services.present import Segment, passage_segments, place, query_words, segments
from library.services.query_language import parse
from library.services.types import (
    MAX_OFFSET,
    FacetCount,
    Facets,
    ImageSearchResult,
    LegReport,
    SearchCandidate,
    SearchResponse,
)

# Values of a facet that are shown: the largest; the form's lists have all.
SHOWN_FACETS: Final = 12
_TYPE_LABELS: Final = {kind.name: kind.label for kind in CONTENT_TYPES.values()}


@dataclass(frozen=True, slots=True)
class Hit:
    """One result. `breakdown` has a row for each part of its score, `before` and `after` the text around it."""

    candidate: SearchCandidate
    title: tuple[Segment, ...]
    passage: tuple[Segment, ...]
    place: str
    library: str
    images: tuple[str, ...]
    breakdown: tuple[tuple[str, str], ...]
    adds_up: bool
    other_chunks: int
    before: tuple[str, ...]
    after: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class FacetLink:
    """One value of a facet: the link holds the search to it or, where it is chosen, lets go of it."""

    label: str
    count: int
    href: str
    chosen: bool


@dataclass(frozen=True, slots=True)
class FacetGroup:
    """A facet with its values; `rest` of them are not shown."""

    title: str
    links: tuple[FacetLink, ...]
    rest: int


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
    metrics: tuple[tuple[str, str], ...]
    facets: tuple[FacetGroup, ...]
    by_item: bool
    ungrouped: str
    grouped: str
    paging: Paging


def results(response: SearchResponse, given: Mapping[str, Any], offset: int, limit: int) -> Results:
    """The answer with highlighted words and links; `given` are the parameters that the links repeat."""
    words = query_words(parse(response.query).plain_text)
    # One page more may be empty: how many there are in all is not counted, only found.
    more = len(response.candidates) >= limit and offset + limit <= MAX_OFFSET
    return Results(
        response=response,
        hits=tuple(_hit(candidate, words) for candidate in response.candidates),
        images=tuple(response.images),
        legs=tuple(response.legs.items()),
        metrics=tuple(metric_rows(response.metrics)),
        facets=facet_groups(response.facets, given),
        by_item=given.get("group_by") == "item",
        ungrouped=_link(given, group_by=None),
        grouped=_link(given, group_by="item"),
        paging=paging(given, offset, limit, len(response.candidates), more),
    )


def paging(given: Mapping[str, Any], offset: int, limit: int, shown: int, more: bool) -> Paging:
    """Links that keep every parameter but the offset."""
    return Paging(
        previous=_link(given, offset=max(0, offset - limit)) if offset > 0 else "",
        next=_link(given, offset=offset + limit) if more else "",
        first=offset + 1 if shown else 0,
        last=offset + shown,
    )


def facet_groups(facets: Facets | None, given: Mapping[str, Any]) -> tuple[FacetGroup, ...]:
    """The facets as links that keep every parameter but the page: what is narrowed starts at its beginning."""
    if facets is None:
        return ()
    types = [replace(found, label=_TYPE_LABELS.get(found.value, found.label)) for found in facets.library_types]
    groups = (
        _group("Library", "library_uid", facets.libraries, given),
        _group("Type", "library_type", types, given),
        _group("Collection", "collection_uid", facets.collections, given),
    )
    return tuple(group for group in groups if group.links)


def _group(title: str, name: str, counts: Sequence[FacetCount], given: Mapping[str, Any]) -> FacetGroup:
    links = []
    for found in counts[:SHOWN_FACETS]:
        chosen = given.get(name) == found.value
        href = _link(given, **{name: None if chosen else found.value})
        links.append(FacetLink(found.label, found.count, href, chosen))
    return FacetGroup(title, tuple(links), max(0, len(counts) - SHOWN_FACETS))


def _link(given: Mapping[str, Any], **changes: Any) -> str:
    """A query string of `given` with changes; None takes a parameter out, and the offset goes unless it is given."""
    kept = {name: value for name, value in given.items() if name != "offset"} | changes
    return "?" + urlencode({name: value for name, value in kept.items() if value is not None})


def _hit(candidate: SearchCandidate, words: frozenset[str]) -> Hit:
    metadata = candidate.metadata
    context = metadata.get("context") or ()
    return Hit(
        candidate=candidate,
        title=segments(candidate.item_title, words),
        passage=passage_segments(candidate),
        place=place(metadata),
        library=str(metadata.get("library_name") or ""),
        images=tuple(str(uid) for uid in metadata.get("nearby_images") or ()),
        breakdown=tuple(breakdown_rows(candidate.score_breakdown)),
        adds_up=adds_up(candidate),
        other_chunks=int(metadata.get("other_chunks") or 0),
        before=tuple(part["text"] for part in context if part["chunk_index"] < candidate.chunk_index),
        after=tuple(part["text"] for part in context if part["chunk_index"] > candidate.chunk_index),
    )
