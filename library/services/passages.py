"""The part of a chunk that answers best, with the places of the query's words in it. Pure."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from library.services.present import WordHit, word_hits

PASSAGE_CHARS: Final = 320


@dataclass(frozen=True, slots=True)
class Passage:
    """A window of a text. `start` is its offset in the text; `highlights` are (start, end) offsets in the window."""

    text: str
    start: int
    highlights: tuple[tuple[int, int], ...]


def best_passage(text: str, words: frozenset[str], length: int = PASSAGE_CHARS) -> Passage:
    """The window of at most about `length` characters that holds most different words of the query.

    Among equals the one with more hits, then the first. Offsets count characters of `text` as it stands, so they are
    right for composed, decomposed and folded letters alike. Without a hit it is the beginning.
    """
    hits = word_hits(text, words)
    first, last = _densest(hits, length)
    start, end = _window(text, first, last, length)
    inside = tuple((hit.start - start, hit.end - start) for hit in hits if start <= hit.start and hit.end <= end)
    return Passage(text[start:end], start, inside)


def _densest(hits: Sequence[WordHit], length: int) -> tuple[int, int]:
    """Offsets of the first hit's start and the last hit's end of the best window; (0, 0) without hits."""
    best, span = (0, 0), (0, 0)
    seen: Counter[str] = Counter()
    left = 0
    for right, hit in enumerate(hits):
        seen[hit.word] += 1
        while hit.end - hits[left].start > length and left < right:
            seen[hits[left].word] -= 1
            if not seen[hits[left].word]:
                del seen[hits[left].word]
            left += 1
        score = (len(seen), right - left + 1)
        if score > best:
            best, span = score, (hits[left].start, hit.end)
    return span


def _window(text: str, first: int, last: int, length: int) -> tuple[int, int]:
    """The window around a span, centred, moved inside the text and cut at white space where there is some near."""
    spare = max(0, length - (last - first))
    start = max(0, min(first - spare // 2, len(text) - length))
    end = min(len(text), max(start + length, last))
    if start > 0:
        space = text.find(" ", start, first)
        start = space + 1 if space >= 0 else start
    if end < len(text):
        space = text.rfind(" ", last, end)
        end = space if space > 0 else end
    return start, end
