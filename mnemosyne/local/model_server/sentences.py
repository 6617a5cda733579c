"""Where a passage's sentences begin and end."""

import re

SHORTEST = 20  # characters: "e.g." and headings of one word go with what follows

_END = re.compile(r"(?<=[.!?])[\"')\]]*\s+|\n\s*\n")


def sentence_spans(text: str) -> list[tuple[int, int]]:
    """(start, end) of every sentence, in characters, together covering the text; at least one."""
    bounds = [0]
    for found in _END.finditer(text):
        if found.end() - bounds[-1] >= SHORTEST:
            bounds.append(found.end())
    if len(bounds) > 1 and len(text) - bounds[-1] < SHORTEST:
        bounds.pop()
    ends = [*bounds[1:], len(text)]
    return list(zip(bounds, ends, strict=True))
