"""How answers are shown: one JSON shape for the API and the commands, and highlighting for the page. Pure."""

import math
import re
import unicodedata
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields, is_dataclass
from datetime import date
from enum import Enum
from typing import Any, Final

from library.services.types import SearchResponse

# Fields of a candidate that serve the search itself and are not part of what callers are shown.
_INTERNAL: Final = frozenset({"text"})
# A word and the combining marks that belong to it, so that a decomposed letter does not end a word.
_WORD: Final = re.compile(r"\w(?:\w|[\u0300-\u036f])*")
# Lucene's English stop words: the index does not know them, so they explain no hit.
_STOPPED: Final = """
a an and are as at be but by for if in into is it no not of on or such that the their then there these they this to
was will with how what which who why do does
"""
STOP_WORDS: Final = frozenset(_STOPPED.split())


def response_as_dict(response: SearchResponse) -> dict[str, Any]:
    """The response as JSON types, named as in the contract; a number that JSON cannot carry becomes null."""
    plain = as_plain(response)
    assert isinstance(plain, dict)  # noqa: S101  (a dataclass always becomes a dict)
    return plain


def as_plain(value: Any) -> Any:
    """Dataclasses, mappings and sequences as JSON types. Raises `TypeError` for what has no such form."""
    if value is None or isinstance(value, bool | str | int):
        return value.value if isinstance(value, Enum) else value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if is_dataclass(value) and not isinstance(value, type):
        shown = (field.name for field in fields(value) if field.name not in _INTERNAL)
        return {name: as_plain(getattr(value, name)) for name in shown}
    if isinstance(value, Mapping):
        return {str(key): as_plain(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [as_plain(inner) for inner in value]
    if isinstance(value, set | frozenset):
        return [as_plain(inner) for inner in sorted(value)]
    if isinstance(value, date):
        return value.isoformat()
    raise TypeError(f"{type(value).__name__} cannot be shown as JSON")


@dataclass(frozen=True, slots=True)
class Segment:
    """A piece of a text; `hit` when it is a word that was asked for."""

    text: str
    hit: bool


def query_words(query: str) -> frozenset[str]:
    """The words of a query in the form that `segments` compares; stop words only where there is nothing else."""
    words = frozenset(_folded(found.group()) for found in _WORD.finditer(query))
    return words - STOP_WORDS or words


@dataclass(frozen=True, slots=True)
class WordHit:
    """A word of a text that was asked for: its place, and the form that it was compared in."""

    start: int
    end: int
    word: str


def word_hits(text: str, words: frozenset[str]) -> tuple[WordHit, ...]:
    """Where the words of a query stand in a text, in order."""
    found = ((match, _folded(match.group())) for match in _WORD.finditer(text))
    return tuple(WordHit(match.start(), match.end(), word) for match, word in found if word in words)


def segments(text: str, words: frozenset[str]) -> tuple[Segment, ...]:
    """The text cut where words of a query begin and end; put together again it is the text, character by character.

    The pieces are raw text: each is to be escaped on its own when shown, so that a highlight never falls inside a
    tag or an entity.
    """
    pieces: list[Segment] = []
    done = 0
    for hit in word_hits(text, words):
        pieces.append(Segment(text[done : hit.start], False))
        pieces.append(Segment(text[hit.start : hit.end], True))
        done = hit.end
    pieces.append(Segment(text[done:], False))
    return tuple(piece for piece in pieces if piece.text)


def _folded(word: str) -> str:
    """Without case, marks and an English plural (Harman's S-stemmer, 1991): the word as the index roughly has it."""
    bare = "".join(c for c in unicodedata.normalize("NFKD", word) if not unicodedata.combining(c)).casefold()
    if len(bare) <= 3 or not bare.endswith("s") or bare.endswith(("us", "ss")):
        return bare
    return bare[:-3] + "y" if bare.endswith("ies") and not bare.endswith(("eies", "aies")) else bare[:-1]


def place(metadata: Mapping[str, Any]) -> str:
    """Where in its item a chunk stands: 'Section, page 3'; '' where nothing is known."""
    section, page = metadata.get("section"), metadata.get("page")
    parts = [str(section)] if section else []
    if page is not None:
        parts.append(f"page {page}")
    return ", ".join(parts)


def milliseconds(value: float) -> str:
    """A time for people: '3.1 ms'."""
    return f"{value:.1f} ms"


def legs_line(legs: Iterable[tuple[str, Mapping[str, Any]]]) -> str:
    """How the legs went, on one line: 'vector ok 12 in 3.1 ms; graph skipped (no concepts)'."""
    return "; ".join(_leg_words(name, leg) for name, leg in legs)


def _leg_words(name: str, leg: Mapping[str, Any]) -> str:
    reason = f" ({leg['reason']})" if leg["reason"] else ""
    if leg["status"] == "skipped":
        return f"{name} skipped{reason}"
    return f"{name} {leg['status']} {leg['count']} in {milliseconds(leg['time_ms'])}{reason}"
