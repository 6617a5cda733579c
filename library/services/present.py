"""How answers are shown: one JSON shape for the API and the commands, and highlighting for the page. Pure."""

import math
import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from datetime import date
from enum import Enum
from functools import lru_cache
from typing import Any, Final

from library.services.types import SearchCandidate, SearchResponse

# Fields of a candidate that serve the search itself and are not part of what callers are shown.
_INTERNAL: Final = frozenset({"text"})
# Marks that belong to the letter before them, so that a decomposed letter, a vowel point or a vowel sign does not end
# a word: Latin, Hebrew, Arabic, the scripts of India (but their full stops), and variants of a letter.
_MARKS: Final = (
    "\u0300-\u036f\u0483-\u0489\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7\u0610-\u061a\u064b-\u065f\u0670\u06d6-\u06dc"
    "\u0900-\u0903\u093a-\u094f\u0951-\u0957\u0962\u0963\u0981-\u0983\u09bc-\u09cd\u0a01-\u0a03\u0a3c-\u0a4d\u0a81-\u0a83\u0abc-\u0acd"
    "\u0b01-\u0b03\u0b3c-\u0b57\u0b82\u0bbe-\u0bcd\u0c00-\u0c04\u0c3c-\u0c56\u0c81-\u0c83\u0cbc-\u0cd6\u0d00-\u0d03\u0d3b-\u0d4d"
    "\u0e31\u0e34-\u0e3a\u0e47-\u0e4e\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20f0\ufe00-\ufe0f\ufe20-\ufe2f"
)
_WORD: Final = re.compile(rf"\w[\w{_MARKS}]*")
# A character beyond ASCII, but for the punctuation of print: letters there may fold to others, and change their length.
_FOREIGN: Final = re.compile("[^\x00-\x7f\xa0\u2010-\u2015\u2018-\u201f\u2022\u2026]")
# Control characters become spaces: those of ASCII and of Latin 1, and those that turn the direction of the text.
_CONTROLS: Final = dict.fromkeys(
    (*range(0x20), *range(0x7F, 0xA0), *range(0x202A, 0x202F), *range(0x2066, 0x206A)), " "
)
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
    if _FOREIGN.search(text) is not None:
        found = ((match.start(), match.end(), _folded(match.group())) for match in _WORD.finditer(text))
    else:
        lower = text.lower()
        found = (
            (match.start(), match.end(), _folded(match.group()))
            for match in _beginnings(words).finditer(lower)
            if match.start() == 0 or _WORD.match(lower[match.start() - 1]) is None
        )
    return tuple(WordHit(start, end, word) for start, end, word in found if word in words)


@lru_cache(maxsize=256)
def _beginnings(words: frozenset[str]) -> re.Pattern[str]:
    """Finds what begins like one of the words, which is all that may fold to it ("stud" for study and studies).

    Looking at every word of a text instead costs five times as much.
    """
    stems = sorted({re.escape(word.removesuffix("y")) for word in words})
    return re.compile(rf"(?:{'|'.join(stems)})\w*" if stems else r"(?!)")


def segments(text: str, words: frozenset[str]) -> tuple[Segment, ...]:
    """The text cut where words of a query begin and end; put together again it is the text, character by character.

    The pieces are raw text: each is to be escaped on its own when shown, so that a highlight never falls inside a
    tag or an entity.
    """
    return marked(text, [(hit.start, hit.end) for hit in word_hits(text, words)])


def marked(text: str, highlights: Sequence[Sequence[int]]) -> tuple[Segment, ...]:
    """The text cut at the offsets of its highlights, as `segments` does by words.

    Offsets count characters of `text`. Those that do not lie inside it, in order, side by side, are passed over.
    """
    pieces: list[Segment] = []
    done = 0
    for start, end in highlights:
        if done <= start < end <= len(text):
            pieces += (Segment(text[done:start], False), Segment(text[start:end], True))
            done = end
    pieces.append(Segment(text[done:], False))
    return tuple(piece for piece in pieces if piece.text)


def passage_segments(candidate: SearchCandidate) -> tuple[Segment, ...]:
    """What is shown of a hit: its best passage with the words that were asked for, or the beginning of its text.

    An ellipsis stands where the chunk goes on.
    """
    passage = candidate.metadata.get("passage")
    if not passage or not passage["text"]:
        return marked(candidate.text_preview, ())
    text, start = passage["text"], passage["start"]
    before = (Segment("… ", False),) if candidate.text[:start].strip() else ()
    after = (Segment(" …", False),) if candidate.text[start + len(text) :].strip() else ()
    return (*before, *marked(text, passage["highlights"]), *after)


@lru_cache(maxsize=50_000)
def _folded(word: str) -> str:
    """Without case, marks and an English plural (Harman's S-stemmer, 1991): the word as the index roughly has it."""
    bare = word.lower() if word.isascii() else _without_marks(word).casefold()
    if len(bare) <= 3 or not bare.endswith("s") or bare.endswith(("us", "ss")):
        return bare
    return bare[:-3] + "y" if bare.endswith("ies") and not bare.endswith(("eies", "aies")) else bare[:-1]


def _without_marks(word: str) -> str:
    return "".join(c for c in unicodedata.normalize("NFKD", word) if not unicodedata.combining(c))


def printable(text: str) -> str:
    """The text without control characters: what a document holds must not steer a terminal."""
    return text.translate(_CONTROLS)


def one_line(text: str) -> str:
    """The text on one line, fit for a terminal."""
    return " ".join(printable(text).split())


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
