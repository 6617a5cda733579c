"""From a query's text to what is known of it, and from a request to a plan. Pure."""

from collections.abc import Mapping

from library.services.query_context import QueryContext, QueryFeatures, features_of
from library.services.query_language import parse
from library.services.routing import Route, route_of
from library.services.strategies import HYBRID, STRATEGIES, SearchPlan, Strategy
from library.services.types import MAX_TOP_K, TEXT_LEGS, LegName, SearchRequest


def understand(text: str) -> QueryContext:
    """All six stages: normalise, tokenise, entities, characteristics, question type, routing."""
    features = features_of(parse(text))
    route = route_of(features)
    return QueryContext(
        raw_query=text,
        normalized=features.normalized,
        tokens=list(features.tokens),
        entities=list(features.entities),
        token_count=len(features.tokens),
        has_special_syntax=features.parsed.has_operators or bool(features.parsed.tags),
        has_date_filters=features.has_date_filters,
        has_negation=features.has_negation,
        question_type=features.question_type,
        search_strategy=route.strategy.name,
        confidence=route.confidence,
    )


def plan_search(request: SearchRequest) -> SearchPlan:
    """The caller's own strategy, or the one that the query's text speaks for.

    A caller who names some retrievers only has chosen: no route takes one of them away.
    """
    features = features_of(parse(request.query))
    if request.strategy != "auto":
        return _plan(request, features, STRATEGIES[request.strategy], 1.0, "asked for by the caller")
    route = route_of(features)
    if request.query_image is not None and route.strategy is not HYBRID:
        return _plan(request, features, HYBRID, route.confidence, "a picture was given: what is near it, and its words")
    if route.strategy is not HYBRID and set(request.search_types) != set(TEXT_LEGS):
        reason = "the retrievers that the caller asked for, fused"
        return _plan(request, features, HYBRID, route.confidence, reason)
    return _plan(request, features, route.strategy, route.confidence, route.reason, route)


def _plan(
    request: SearchRequest,
    features: QueryFeatures,
    strategy: Strategy,
    confidence: float,
    reason: str,
    route: Route | None = None,
) -> SearchPlan:
    routed = route is not None and route.strategy is not HYBRID
    return SearchPlan(
        strategy=strategy,
        confidence=confidence,
        reason=reason,
        question_type=features.question_type,
        weights=dict(route.weights) if route is not None else {},
        top_ks=_top_ks(request, strategy, routed),
        exact_terms=features.exact_terms,
        require_exact=route is not None and route.require_exact,
        when_empty=strategy.when_empty if routed else None,
    )


def _top_ks(request: SearchRequest, strategy: Strategy, routed: bool) -> Mapping[LegName, int]:
    """How many hits each leg gives. A leg that a route left alone gives as many as the largest would have."""
    asked: dict[LegName, int] = {
        "vector": request.vector_top_k,
        "fulltext": request.fulltext_top_k,
        "graph": request.fulltext_top_k,
    }
    if routed:
        wanted = min(max(*asked.values(), request.offset + request.limit), MAX_TOP_K)
        asked = dict.fromkeys(asked, wanted)
    if strategy.pool is not None:
        asked["fulltext"] = strategy.pool
    return {leg: asked[leg] for leg in strategy.legs}
