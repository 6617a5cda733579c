"""Headings of a Markdown text and the path of headings that a place in it stands under. Pure."""

import itertools
import re
from bisect import bisect_right
from dataclasses import dataclass
from typing import Final

from markdown_it import MarkdownIt

# Lines that can make a heading: parsing is left out for the many texts that have none.
_MAY_HAVE_HEADING: Final = re.compile(r"^(?:\s{0,3}#{1,6}(?:\s|$)|.*\n\s{0,3}(?:=+|-+)\s*$)", re.MULTILINE)
_MARKUP: Final = re.compile(r"!?\[([^\]]*)\]\([^)]*\)|[*`]|\\(?=[\W_])")
MAX_HEADING_CHARS: Final = 120
_BLOCKS: Final = MarkdownIt("commonmark")


@dataclass(frozen=True, slots=True)
class Heading:
    """A heading, from level 1, at a character offset."""

    offset: int
    level: int
    text: str


def find_headings(text: str) -> list[Heading]:
    """The headings of a Markdown text in order; those in code do not count."""
    if not _MAY_HAVE_HEADING.search(text):
        return []
    starts = [0]
    starts.extend(match.end() for match in re.finditer("\n", text))
    tokens = _BLOCKS.parse(text)
    found = []
    for token, inline in itertools.pairwise(tokens):
        if token.type == "heading_open" and token.map is not None:
            words = " ".join(_MARKUP.sub(lambda match: match.group(1) or "", inline.content).split())
            if words:
                found.append(Heading(starts[token.map[0]], int(token.tag[1]), words[:MAX_HEADING_CHARS]))
    return found


class Sections:
    """Answers which section an offset lies in."""

    def __init__(self, text: str) -> None:
        self.headings = find_headings(text)
        self._offsets = [heading.offset for heading in self.headings]

    def path(self, offset: int) -> str:
        """Headings above an offset, outermost first, as "A > B"; empty before the first."""
        trail: list[Heading] = []
        for heading in self.headings[: bisect_right(self._offsets, offset)]:
            while trail and trail[-1].level >= heading.level:
                trail.pop()
            trail.append(heading)
        return " > ".join(heading.text for heading in trail)
