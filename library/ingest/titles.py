"""Titles as concepts, and finding the titles of other items in running text. Pure."""

import re
from collections.abc import Collection, Iterable
from typing import Final

from library.graph.records import concept_key
from library.ingest.names import Word, words_of

_PARENTHESIS: Final = re.compile(r"\s*[(\[][^()\[\]]*[)\]]\s*$")
_SENTENCES: Final = re.compile(r"[.!?]\s+\S")
MAX_TITLE_WORDS: Final = 12


def title_name(title: str) -> str | None:
    """A title as a concept's name; None when it is a sentence, a number or too long to be one."""
    name = title.strip().rstrip(".:;,").strip()
    words = words_of(name)
    if not words or len(words) > MAX_TITLE_WORDS or _SENTENCES.search(name):
        return None
    return name if any(character.isalpha() for character in name) else None


def base_name(name: str) -> str | None:
    """The title without its last parenthesis, "Inception (film)" -> "Inception"; None where there is none."""
    base = _PARENTHESIS.sub("", name)
    return base if base and base != name else None


def _stands_alone(words: list[Word], position: int) -> bool:
    """True unless a word is part of a longer name: "United" in "United Airlines" is no mention of "United"."""
    after = words[position + 1] if position + 1 < len(words) else None
    if after is not None and after.gap == " " and after.capital:
        return False
    word = words[position]
    return not (position and word.gap == " " and words[position - 1].capital and not words[position - 1].opens)


class TitleIndex:
    """Finds known titles in texts: "Demon Dice" in another item's passage is the same concept."""

    def __init__(self, titles: Iterable[str], stop_words: Collection[str]) -> None:
        self._keys: dict[str, str] = {}
        self.names: dict[str, str] = {}
        self._longest = 0
        bases: dict[str, set[str]] = {}
        for title in titles:
            name = title_name(title)
            if name is None:
                continue
            key = concept_key(name)
            self.names.setdefault(key, name)
            self._add(name, key, stop_words)
            base = base_name(name)
            if base is not None:
                bases.setdefault(base, set()).add(key)
        for base, keys in bases.items():
            if len(keys) == 1:
                self._add(base, next(iter(keys)), stop_words)

    def _add(self, name: str, key: str, stop_words: Collection[str]) -> None:
        words = [word.folded for word in words_of(name)]
        if len(words) == 1 and (words[0] in stop_words or len(words[0]) < 3 or words[0].isdigit()):
            return
        self._keys.setdefault(" ".join(words), key)
        self._longest = max(self._longest, len(words))

    def find(self, words: list[Word]) -> dict[str, tuple[int, str]]:
        """Key -> (times, surface) of the titles in a text; longest first, without overlap.

        A title counts where its first word is written with a capital or a digit.
        """
        found: dict[str, tuple[int, str]] = {}
        position = 0
        while position < len(words):
            length = 0
            if words[position].capital or words[position].text[0].isdigit():
                length = self._match(words, position)
            if length:
                matched = words[position : position + length]
                key = self._keys[" ".join(word.folded for word in matched)]
                times, surface = found.get(key, (0, " ".join(word.text for word in matched)))
                found[key] = (times + 1, surface)
            position += max(1, length)
        return found

    def _match(self, words: list[Word], position: int) -> int:
        folded = [word.folded for word in words[position : position + self._longest]]
        for length in range(len(folded), 0, -1):
            if " ".join(folded[:length]) in self._keys:
                return length if length > 1 or _stands_alone(words, position) else 0
        return 0
