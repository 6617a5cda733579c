"""The named ways to search, as data."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from library.services.types import LegName


@dataclass(frozen=True, slots=True)
class Strategy:
    """Which legs run. `fallback` names the strategy to take where none of them could answer.

    `when_empty` names the one to take where they answered with nothing and the caller did not ask for this strategy.
    With `pool` full text hands on that many hits, not the request's top-k, and exact vector similarity ranks them.
    """

    name: str
    legs: tuple[LegName, ...]
    fallback: str | None = None
    when_empty: str | None = None
    pool: int | None = None


# hybrid -> semantic -> lexical -> error. Full text that fails is not asked again, so the two that need it end there.
HYBRID: Final = Strategy("hybrid", ("vector", "fulltext", "graph"), fallback="semantic")
SEMANTIC: Final = Strategy("semantic", ("vector",), fallback="lexical")
LEXICAL: Final = Strategy("lexical", ("fulltext",), when_empty="hybrid")
LEXICAL_FIRST: Final = Strategy("lexical_first", ("fulltext", "vector"), when_empty="hybrid", pool=200)

STRATEGIES: Final[Mapping[str, Strategy]] = {
    strategy.name: strategy for strategy in (HYBRID, SEMANTIC, LEXICAL, LEXICAL_FIRST)
}


@dataclass(frozen=True, slots=True)
class SearchPlan:
    """How one query is to be searched, and why. `confidence` is from 0 to 1.

    `weights` by leg: None, or no entry, means the setting's. `top_ks` by leg. `exact_terms` are spellings of the
    query's codes; with `require_exact` a hit of the full-text leg must hold one. `when_empty` names the strategy to go
    on with where this one finds nothing; None where nothing is the answer.
    """

    strategy: Strategy
    confidence: float
    reason: str
    question_type: str = ""
    weights: Mapping[LegName, float | None] = field(default_factory=dict)
    top_ks: Mapping[LegName, int] = field(default_factory=dict)
    exact_terms: tuple[str, ...] = ()
    require_exact: bool = False
    when_empty: str | None = None
