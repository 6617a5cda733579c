"""From a query's text to a plan. Pure."""

from library.services.strategies import HYBRID, STRATEGIES, SearchPlan
from library.services.types import SearchRequest


def plan_search(request: SearchRequest) -> SearchPlan:
    """The caller's own strategy, or hybrid."""
    if request.strategy != "auto":
        return SearchPlan(STRATEGIES[request.strategy], 1.0, "asked for by the caller")
    return SearchPlan(HYBRID, 0.5, "all retrievers, fused: nothing in the query speaks for less")
