"""The routing table row by row, and the plans made from it."""

import pytest

from library.services.query_context import features_of
from library.services.query_language import parse
from library.services.query_optimizer import plan_search
from library.services.routing import ROUTES, route_of
from library.services.strategies import STRATEGIES
from library.services.types import STRATEGIES as STRATEGY_NAMES
from library.services.types import TEXT_LEGS, SearchRequest

LONG = "After the upgrade of last night our backup job stops with ORA-00942 although no table was touched"

ROWS = [
    ("nothing to go by", "-kiln 😀", "hybrid", 0.1),
    ("quoted phrase", '"salt kiln"', "lexical", 0.95),
    ("quoted phrase", '"state of the art" "tide mill"', "lexical", 0.95),
    ("operators", '"to be or not to be"', "hybrid", 0.9),
    ("operators", 'sea "tide mill" -ferry', "hybrid", 0.9),
    ("operators", "E11000 -mongodb", "hybrid", 0.9),
    ("code", "E11000", "lexical", 0.95),
    ("code", "error code 0x80070005", "lexical", 0.95),
    ("code", "ISBN 978-0-306-40615-7", "lexical", 0.95),
    ("code", "6ES7 315-2AG10", "lexical", 0.95),
    ("code", "HTTP 404?", "lexical", 0.95),
    ("file or identifier", "settings.py", "lexical", 0.8),
    ("file or identifier", "max_connections", "lexical", 0.8),
    ("code and a few words", "E11000 duplicate key", "lexical", 0.8),
    ("code and a few words", "What does ORA-00942 mean?", "lexical", 0.8),
    ("code in a long question", LONG, "hybrid", 0.85),
    (
        "long text",
        "the keeper rowed out at dawn and found the lamp cold and the log book open at an empty page",
        "hybrid",
        0.9,
    ),
    ("procedural", "How do I fix kubernetes port 8080?", "hybrid", 0.95),
    ("troubleshooting", "the lamp keeps flickering", "hybrid", 0.9),
    ("comparative", "oil versus acrylic", "hybrid", 0.9),
    ("definitional", "What is a passacaglia?", "hybrid", 0.85),
    ("factual", "Who painted the altarpiece?", "hybrid", 0.85),
    ("time", "journal of the summer of 1998", "hybrid", 0.75),
    ("key words", "salt kiln", "hybrid", 0.7),
    ("key words", "kiln", "hybrid", 0.7),
    ("anything else", "salt kilns along the northern coast", "hybrid", 0.6),
]


@pytest.mark.parametrize(("row", "text", "strategy", "confidence"), ROWS)
def test_row(row: str, text: str, strategy: str, confidence: float) -> None:
    route = route_of(features_of(parse(text)))
    assert (route.name, route.strategy.name, route.confidence) == (row, strategy, confidence)


def test_every_row_has_a_case_and_a_name_of_its_own() -> None:
    names = [route.name for route in ROUTES]
    assert len(names) == len(set(names))
    assert set(names) == {row for row, *_ in ROWS}


def test_every_row_gives_a_reason_and_a_confidence_and_a_strategy_that_exists() -> None:
    for route in ROUTES:
        assert len(route.reason) > 20
        assert 0 < route.confidence <= 1
        assert STRATEGIES[route.strategy.name] is route.strategy
        assert set(route.weights) <= set(route.strategy.legs)


def test_a_route_to_fewer_retrievers_can_go_on_with_all() -> None:
    for route in ROUTES:
        assert route.strategy.name == "hybrid" or route.strategy.when_empty == "hybrid"


def test_the_example_of_the_contract() -> None:
    plan = plan_search(SearchRequest(query="How do I fix kubernetes port 8080?"))
    assert (plan.question_type, plan.strategy.name, plan.confidence) == ("procedural", "hybrid", 0.95)
    assert plan.top_ks == {"vector": 50, "fulltext": 30, "graph": 30}
    assert (plan.weights, plan.exact_terms, plan.when_empty) == ({}, (), None)


@pytest.mark.parametrize("name", [name for name in STRATEGY_NAMES if name != "auto"])
def test_the_callers_own_strategy_always_wins(name: str) -> None:
    plan = plan_search(SearchRequest(query="E11000", strategy=name))
    assert (plan.strategy.name, plan.confidence) == (name, 1.0)
    assert (plan.when_empty, plan.require_exact) == (None, False)
    assert set(plan.top_ks) == set(plan.strategy.legs)


def test_lexical_first_narrows_to_two_hundred() -> None:
    plan = plan_search(SearchRequest(query="salt kiln", strategy="lexical_first"))
    assert plan.top_ks == {"fulltext": 200, "vector": 50}


def test_a_code_must_be_in_every_hit_or_all_retrievers_are_asked() -> None:
    plan = plan_search(SearchRequest(query="ISBN 978-0-306-40615-7"))
    assert plan.strategy.name == "lexical"
    assert plan.exact_terms == ("978-0-306-40615-7", "9780306406157")
    assert plan.require_exact
    assert plan.when_empty == "hybrid"


def test_full_text_alone_gives_as_many_hits_as_are_to_be_shown() -> None:
    plan = plan_search(SearchRequest(query="E11000", limit=40, offset=80))
    assert plan.top_ks == {"fulltext": 120}
    assert plan_search(SearchRequest(query="E11000")).top_ks == {"fulltext": 50}


@pytest.mark.parametrize("legs", [["vector"], ["vector", "graph"], ["fulltext"], ["fulltext", "graph"]])
def test_no_route_takes_a_retriever_away_that_the_caller_named(legs: list[str]) -> None:
    plan = plan_search(SearchRequest(query="E11000", search_types=legs))
    assert plan.strategy.name == "hybrid"
    assert set(legs) & set(plan.strategy.legs)
    assert plan_search(SearchRequest(query="E11000", search_types=list(reversed(TEXT_LEGS)))).strategy.name == "lexical"


def test_full_text_counts_more_where_a_long_question_has_a_code() -> None:
    plan = plan_search(SearchRequest(query=LONG))
    assert plan.weights == {"fulltext": 2.0}
    assert plan.exact_terms == ("ORA-00942",)
    assert not plan.require_exact


def test_a_picture_without_words_is_searched_by_all() -> None:
    plan = plan_search(SearchRequest(query="", query_image=b"x"))
    assert (plan.strategy.name, plan.confidence) == ("hybrid", 0.1)


def test_fallbacks_end() -> None:
    for strategy in STRATEGIES.values():
        seen = [strategy.name]
        while (following := STRATEGIES[seen[-1]].fallback) is not None:
            assert following not in seen
            seen.append(following)
    assert STRATEGIES["hybrid"].fallback == "semantic"
    assert STRATEGIES["semantic"].fallback == "lexical"
    assert STRATEGIES["lexical"].fallback is None
