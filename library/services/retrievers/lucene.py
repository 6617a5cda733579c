"""Text of users made safe for Lucene's query parser, and scopes that cut inside a full-text index. Pure.

Only words reach Lucene: runs of letters and digits with the joiners that its tokenizer keeps inside a word
(Unicode UAX #29), so that nothing of the parser's syntax is left to escape but the colon.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from library.services.query_terms import composed, words_of
from library.services.types import Scope

_RUN: Final = re.compile(r"\w+")
_OPERATORS: Final = frozenset({"AND", "OR", "NOT", "TO"})
# Lucene's EnglishAnalyzer drops these; a query of nothing else must not be sent (it would match the whole scope).
STOP_WORDS: Final = frozenset(
    re.findall(
        r"\w+",
        """a an and are as at be but by for if in into is it no not of on or such that the their then there these they
        this to was will with""",
    )
)
# Lucene refuses more than 1,024 clauses in one query; the rest is left to the words.
MAX_SCOPE_CLAUSES: Final = 800
# How much the fields of a chunk and of a concept count. docs/relevance.md has what the title is worth.
CHUNK_BOOSTS: Final = {"text": 1.0, "title": 0.4, "section": 0.2}
CONCEPT_BOOSTS: Final = {"name": 1.0, "aliases": 1.0}


@dataclass(frozen=True, slots=True)
class SafeText:
    """The words of a query that may be sent to Lucene. `cut` says that there were more than allowed."""

    words: tuple[str, ...]
    cut: bool = False

    @property
    def is_searchable(self) -> bool:
        """False where the analyzer would leave no term."""
        return any(run.lower() not in STOP_WORDS for word in self.words for run in _RUN.findall(word))


def safe_text(text: str, max_terms: int) -> SafeText:
    """The words of `text`, composed (NFC), at most `max_terms` runs of letters and digits."""
    words: list[str] = []
    runs = 0
    for word in words_of(composed(text)):
        runs += len(_RUN.findall(word))
        if runs > max_terms:
            return SafeText(tuple(words), cut=True)
        words.append(word)
    return SafeText(tuple(words))


def any_of(words: Sequence[str]) -> str:
    """A Lucene group that matches any of the words."""
    return "(" + " ".join(_escaped(word) for word in words) + ")"


def _escaped(word: str) -> str:
    plain = word.lower() if word in _OPERATORS else word
    return plain.replace(":", "\\:")


@dataclass(frozen=True, slots=True)
class ScopeFields:
    """What the scope's properties are called in one index."""

    library_uid: str = "library_uid"
    library_type: str = "library_type"
    collection_uid: str = "collection_uid"


LISTED_SCOPE: Final = ScopeFields("library_uids", "library_types", "collection_uids")


def text_clause(words: Sequence[str], boosts: Mapping[str, float]) -> str:
    """A required clause that matches any of the words in any of the fields, by their boosts; "" without words."""
    if not words:
        return ""
    group = any_of(words)
    return "+(" + " ".join(f"{field}:{group}^{boost:g}" for field, boost in boosts.items()) + ")"


def scoped_queries(text: str, scope: Scope, fields: ScopeFields | None = None) -> list[str]:
    """Lucene queries whose hits together are exactly those of `text` that lie in the scope.

    The scope's clauses count nothing (boost 0), so scores are those of the unscoped query. More libraries than Lucene
    takes clauses make several queries. None where nothing may be seen or the text is empty: the scope alone would
    match everything in it.
    """
    if scope.is_empty or not text:
        return []
    names = fields if fields is not None else ScopeFields()
    fixed = ""
    if scope.library_type is not None:
        fixed += f" +{names.library_type}:{_identifier(scope.library_type)}^0"
    if scope.collection_uid is not None:
        fixed += f" +{names.collection_uid}:{_identifier(scope.collection_uid)}^0"
    if scope.library_uids is None:
        return [text + fixed]
    return [f"{text} +{names.library_uid}:({' '.join(part)})^0{fixed}" for part in _parts(scope.library_uids)]


def _parts(uids: frozenset[str]) -> Iterator[list[str]]:
    ordered = [_identifier(uid) for uid in sorted(uids)]
    for start in range(0, len(ordered), MAX_SCOPE_CLAUSES):
        yield ordered[start : start + MAX_SCOPE_CLAUSES]


def _identifier(value: str) -> str:
    """A uid or a type as one Lucene term; what is neither matches nothing."""
    return value if re.fullmatch(r"[A-Za-z0-9_]+", value) and value.upper() not in _OPERATORS else "0nothing0"
