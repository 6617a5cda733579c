"""Which strategy a query gets: a table, read from top to bottom, first match wins. Pure data.

Full text alone is for what must be found to the letter, and only where the plan can fall back to hybrid when it finds
nothing. Everything else, short key words too, is hybrid: the rows differ in how sure that is, and why.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final

from library.services.query_context import QueryFeatures
from library.services.strategies import HYBRID, LEXICAL, Strategy
from library.services.types import LegName

# A question this long says more by its meaning than by a code in it.
LONG_QUESTION: Final = 9
LONG_TEXT: Final = 15
KEYWORDS: Final = 3


@dataclass(frozen=True, slots=True)
class Route:
    """One row. `weights` None for a leg means the setting's; `require_exact` that a hit must hold one of the codes."""

    name: str
    when: Callable[[QueryFeatures], bool]
    strategy: Strategy
    confidence: float
    reason: str
    weights: Mapping[LegName, float | None] = field(default_factory=dict)
    require_exact: bool = False


ROUTES: Final[tuple[Route, ...]] = (
    Route(
        "nothing to go by",
        lambda query: not query.tokens,
        HYBRID,
        0.1,
        "the query has no word to search by",
    ),
    Route(
        "quoted phrase",
        lambda query: query.is_searchable_phrase,
        LEXICAL,
        0.95,
        "a quoted phrase: it must be found to the letter, which full text does",
    ),
    Route(
        "operators",
        lambda query: query.parsed.has_operators,
        HYBRID,
        0.9,
        "words and operators: all retrievers are fused, and what they find is held to the operators",
    ),
    Route(
        "code",
        lambda query: query.is_all_codes,
        LEXICAL,
        0.95,
        "an error code, ISBN or part number: it must be found to the letter, which full text does",
        require_exact=True,
    ),
    Route(
        "file or identifier",
        lambda query: query.is_all_names,
        LEXICAL,
        0.8,
        "the name of a file or an identifier: it must be found to the letter, which full text does",
        require_exact=True,
    ),
    Route(
        "code and a few words",
        lambda query: bool(query.codes) and len(query.tokens) < LONG_QUESTION,
        LEXICAL,
        0.8,
        "an error code, ISBN or part number with a few words: what has the code to the letter comes from full text",
        require_exact=True,
    ),
    Route(
        "code in a long question",
        lambda query: bool(query.codes),
        HYBRID,
        0.85,
        "a long question with a code in it: all retrievers are fused, and full text counts more",
        weights={"fulltext": 2.0},
    ),
    Route(
        "long text",
        lambda query: len(query.tokens) >= LONG_TEXT,
        HYBRID,
        0.9,
        "a long text: its meaning and its words are both looked for, so all retrievers are fused",
    ),
    Route(
        "procedural",
        lambda query: query.question_type == "procedural",
        HYBRID,
        0.95,
        "a how-to question: its words name the thing and its meaning the task, so all retrievers are fused",
    ),
    Route(
        "troubleshooting",
        lambda query: query.question_type == "troubleshooting",
        HYBRID,
        0.9,
        "something is wrong: symptoms are told in many ways and parts have names, so all retrievers are fused",
    ),
    Route(
        "comparative",
        lambda query: query.question_type == "comparative",
        HYBRID,
        0.9,
        "a comparison: passages on either side are wanted, so all retrievers are fused",
    ),
    Route(
        "definitional",
        lambda query: query.question_type == "definitional",
        HYBRID,
        0.85,
        "a definition: the term itself and what explains it are looked for, so all retrievers are fused",
    ),
    Route(
        "factual",
        lambda query: query.question_type == "factual",
        HYBRID,
        0.85,
        "a question for a fact: names and meaning both count, so all retrievers are fused",
    ),
    Route(
        "time",
        lambda query: query.has_date_filters,
        HYBRID,
        0.75,
        "a time is named: full text finds the date and vectors the subject, so all retrievers are fused",
    ),
    Route(
        "key words",
        lambda query: len(query.tokens) <= KEYWORDS,
        HYBRID,
        0.7,
        "a few key words: all retrievers are fused, so that other words for the same are found too",
    ),
    Route(
        "anything else",
        lambda query: True,
        HYBRID,
        0.6,
        "nothing in the query speaks for one retriever alone, so all are fused",
    ),
)


def route_of(query: QueryFeatures) -> Route:
    """The first row that fits; the last one always does."""
    return next(route for route in ROUTES if route.when(query))
