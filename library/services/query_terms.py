"""Words and phrases of a query as patterns over a text, in Python's and in Java's dialect of one regex. Pure.

A term is one word or a few in a row. It is found in a text where its words stand whole, in any case, one after the
other, with nothing but space and punctuation between them. The index splits words by Unicode UAX #29, and so do the
patterns, as far as a pattern can: "can" is not in "can't", "3" not in "3.5", "kiln" is in "kiln's" and in "salt-kiln".
"""

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import Final

# Marks that belong to the letter before them and have no composed form. Python's \w leaves them out.
_MARKS: Final = (
    "\u0300-\u036f\u0483-\u0487\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7\u0610-\u061a\u064b-\u065f\u0670"
    "\u06d6-\u06dc\u06df-\u06e4\u06e7\u06e8\u06ea-\u06ed\u0900-\u0963\u0966-\u0dff\u0e31\u0e34-\u0e3a\u0e47-\u0e4e"
    "\u0eb1\u0eb4-\u0ebc\u0ec8-\u0ece\u0f71-\u0f84\u102b-\u103e\u1056-\u1059\u17b4-\u17d3\u1ab0-\u1aff\u1dc0-\u1dff"
    "\u20d0-\u20f0\u3099\u309a\ufe20-\ufe2f"
)
# Scripts that put no space between words (Thai to Khmer, kana, Han): a word may begin or end anywhere in a run.
_UNSPACED: Final = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
    "\uff66-\uff9f\U00020000-\U0003ffff]"
)
_WORD: Final = re.compile(rf"[\w{_MARKS}]+(?:[.,:'\u2019][\w{_MARKS}]+)*")
_HAS_ALNUM: Final = re.compile(r"[^\W_]")
_APOSTROPHE: Final = "['\u2019]"


@dataclass(frozen=True, slots=True)
class _Dialect:
    """A letter, digit or mark, and a run of anything that is neither letter nor digit, as a regex."""

    letter: str
    apart: str


_PYTHON: Final = _Dialect(rf"(?:[^\W_]|[{_MARKS}])", r"[\W_]")
_JAVA: Final = _Dialect(r"[\p{L}\p{N}\p{M}]", r"[^\p{L}\p{N}]")


def composed(text: str) -> str:
    """Canonical composition (NFC), which is what the index holds."""
    return unicodedata.normalize("NFC", text)


def words_of(text: str) -> list[str]:
    """The words of `text` as typed: letters, digits and the joiners that the index keeps inside a word."""
    return [word for word in _WORD.findall(text) if _HAS_ALNUM.search(word)]


def java_pattern(term: str) -> str:
    """A Java regex that matches a whole text with `term` in it (Cypher's `=~` matches whole strings)."""
    return f"(?ius).*{_phrase(words_of(composed(term)), _JAVA)}.*"


@lru_cache(maxsize=512)
def _python_pattern(term: str) -> re.Pattern[str]:
    return re.compile(_phrase(words_of(composed(term)), _PYTHON), re.IGNORECASE)


def is_in(term: str, texts: Sequence[str]) -> bool:
    """Whether one of the composed `texts` holds the term."""
    pattern = _python_pattern(term)
    return any(pattern.search(text) for text in texts)


def _phrase(words: Sequence[str], dialect: _Dialect) -> str:
    pattern = _word(words[0], dialect)
    for before, word in pairwise(words):
        count = "*" if _UNSPACED.match(before[-1]) and _UNSPACED.match(word[0]) else "+"
        # The index drops a possessive s: "kiln glaze" is in "the kiln's glaze".
        pattern += f"(?:{_APOSTROPHE}s)?{dialect.apart}{count}{_word(word, dialect)}"
    return pattern


def _word(word: str, dialect: _Dialect) -> str:
    """One whole word. `re.escape` is not for Java; of what a word may hold, only the full stop means something."""
    literal = word.replace(".", "\\.").replace("\u2019", "'").replace("'", _APOSTROPHE)
    return _left_edge(word[0], dialect.letter) + literal + _right_edge(word[-1], dialect.letter)


def _left_edge(first: str, letter: str) -> str:
    """No letter before; an underscore only where it is emphasis (_kiln_) and not part of a name (salt_kiln)."""
    if _UNSPACED.match(first):
        return ""
    return f"(?<!{letter})(?<!{letter}_)" + ("(?<![0-9][.,])" if first.isdecimal() else "")


def _right_edge(last: str, letter: str) -> str:
    if _UNSPACED.match(last):
        return ""
    if last.isdecimal():
        return f"(?!_*{letter})(?![.,][0-9])"
    return f"(?!_*{letter})(?!{_APOSTROPHE}(?!s(?!{letter})){letter})"
