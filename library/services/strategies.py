"""The named ways to search, as data."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from library.services.types import LegName


@dataclass(frozen=True, slots=True)
class Strategy:
    """Which legs run. `fallback` names the strategy to take where none of them could answer."""

    name: str
    legs: tuple[LegName, ...]
    fallback: str | None = None


HYBRID: Final = Strategy("hybrid", ("vector", "fulltext", "graph"), fallback="semantic")
SEMANTIC: Final = Strategy("semantic", ("vector",), fallback="lexical")
LEXICAL: Final = Strategy("lexical", ("fulltext",))
LEXICAL_FIRST: Final = Strategy("lexical_first", ("fulltext",))

STRATEGIES: Final[Mapping[str, Strategy]] = {
    strategy.name: strategy for strategy in (HYBRID, SEMANTIC, LEXICAL, LEXICAL_FIRST)
}


@dataclass(frozen=True, slots=True)
class SearchPlan:
    """How one query is to be searched, and why. `confidence` is from 0 to 1."""

    strategy: Strategy
    confidence: float
    reason: str
