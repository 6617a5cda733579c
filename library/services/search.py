"""The orchestrator: plan, embed once, retrieve in parallel, fuse, re-rank, report."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from library import metrics
from library.conf import search_config
from library.exceptions import EmbeddingUnavailable, InvalidRequest, SearchUnavailable
from library.services import cache, usage
from library.services.legs import Outcome
from library.services.query_optimizer import plan_search
from library.services.ranking import fuse, rank
from library.services.results import facets_of, has_no_good_match, page_of
from library.services.retrieval import RETRIEVERS, retrieve
from library.services.retrievers.base import RetrievalQuery, Retriever
from library.services.run import SearchRun
from library.services.strategies import STRATEGIES, SearchPlan, Strategy
from library.services.types import ImageSearchResult, SearchRequest, SearchResponse

EMBEDDING_HINT = "Check the model service, or run 'manage.py setup_models'."


class SearchService:
    """Answers `SearchRequest`s. Holds no state of a search; one instance may serve many threads."""

    def __init__(self, retrievers: Mapping[str, Retriever[Any]] = RETRIEVERS) -> None:
        self._retrievers = retrievers
        self._may_cache = retrievers is RETRIEVERS

    def search(self, request: SearchRequest) -> SearchResponse:
        """The answer, or `InvalidRequest`, or `SearchUnavailable` where no leg could answer.

        A leg that fails or runs out of time costs its own results only; the response says so. An answer may come out
        of the cache, where the retrievers are the usual ones and the request is not `fresh`; it then says `cached`.
        """
        started, config = time.perf_counter(), search_config()
        key = cache.answer_key(request) if self._may_cache and config.cache_ttl else None
        kept = cache.cached_answer(key) if key is not None and not request.fresh else None
        if kept is not None:
            return _again(kept, request, started)
        run = SearchRun(request, config, plan_search(request))
        response = self._answer(run)
        if key is not None and run.is_whole():
            cache.keep_answer(key, request, response)
        return response

    def _answer(self, run: SearchRun) -> SearchResponse:
        query = _retrieval_query(run)
        run.warnings.extend(query.parsed.warnings)
        if query.text.cut:
            run.warnings.append(f"The query was cut to its first {run.config.max_query_terms} words for full text.")
        try:
            outcomes = self._outcomes(run, query)
            response = _respond(run, query, outcomes)
        finally:
            usage.write(run.usage)
        metrics.record_search(response, _searched_type(response, run.request))
        return response

    def _outcomes(self, run: SearchRun, query: RetrievalQuery) -> Mapping[str, Outcome]:
        """Run the plan's strategy, and those that it falls back to, until one has an answer."""
        while True:
            run.legs, run.reports = _legs(run.request, run.plan), {}
            outcomes = retrieve(run, query, self._retrievers)
            step = _next_strategy(run, outcomes)
            if step is None:
                return outcomes
            strategy, reason = step
            run.fallbacks.append(f"{run.plan.strategy.name} -> {strategy.name}: {reason}")
            run.plan = replace(run.plan, strategy=strategy, when_empty=None)
            query = replace(query, require_exact=False)


def _again(kept: SearchResponse, request: SearchRequest, started: float) -> SearchResponse:
    """An answer out of the cache, with the caller's own spelling and the time that it took this time."""
    milliseconds = 1000 * (time.perf_counter() - started)
    response = replace(
        kept,
        query=request.query,
        cached=True,
        search_time_ms=milliseconds,
        metrics={**kept.metrics, "total_time_ms": milliseconds},
    )
    metrics.record_search(response, None)
    return response


def _searched_type(response: SearchResponse, request: SearchRequest) -> str | None:
    """The one type of library that a search was held to; None where it may have been several."""
    if request.library_type is None and request.library_uid is not None and response.candidates:
        return response.candidates[0].library_type
    return request.library_type


def _retrieval_query(run: SearchRun) -> RetrievalQuery:
    request, top_ks = run.request, run.plan.top_ks
    return RetrievalQuery.of(
        request.query,
        run.config.max_query_terms,
        vector_top_k=top_ks.get("vector", request.vector_top_k),
        fulltext_top_k=top_ks.get("fulltext", request.fulltext_top_k),
        graph_top_k=top_ks.get("graph", request.fulltext_top_k),
        graph_max_depth=request.graph_max_depth,
        graph_seed_hits=run.config.graph_seed_hits,
        image_top_k=request.limit,
        exact_terms=run.plan.exact_terms,
        require_exact=run.plan.require_exact,
    )


def _legs(request: SearchRequest, plan: SearchPlan) -> list[str]:
    legs: list[str] = [leg for leg in plan.strategy.legs if leg in request.search_types]
    if not legs:
        needed = " or ".join(plan.strategy.legs)
        raise InvalidRequest("search_types", f"the strategy {plan.strategy.name} needs {needed}")
    return [*legs, "image"] if request.include_images else legs


def _next_strategy(run: SearchRun, outcomes: Mapping[str, Outcome]) -> tuple[Strategy, str] | None:
    """The strategy to go on with, and why; None where this one has answered. Raises where nothing is left.

    A caller's own strategy is never replaced: where it cannot answer, that is the answer.
    """
    answered = [leg for leg in run.text_legs if run.answered(leg)]
    chosen = run.request.strategy == "auto"
    if answered:
        empty = not any(outcomes[leg].hits for leg in run.text_legs if leg in outcomes)
        if chosen and empty and run.plan.when_empty is not None:
            return STRATEGIES[run.plan.when_empty], "it found nothing"
        return None
    fallback = run.plan.strategy.fallback
    tried = set(run.legs)
    while chosen and fallback is not None:
        strategy = STRATEGIES[fallback]
        if any(leg in run.request.search_types and leg not in tried for leg in strategy.legs):
            return strategy, "; ".join(f"{leg}: {run.reports[leg].reason}" for leg in run.text_legs)
        fallback = strategy.fallback
    vector = run.reports["vector"]
    if run.text_legs == ["vector"] and vector.status == "skipped":
        raise EmbeddingUnavailable(f"This search needs vectors, and there is {vector.reason}. {EMBEDDING_HINT}")
    raise SearchUnavailable("No part of the search could answer. Check that Neo4j runs, then try again.")


def _respond(run: SearchRun, query: RetrievalQuery, outcomes: Mapping[str, Outcome]) -> SearchResponse:
    request, text = run.request, query.parsed.plain_text
    fused = fuse(run, outcomes)
    ranked = rank(run, fused, text)
    page = page_of(run, ranked.candidates, text)
    facets = facets_of(run, fused)
    images: Sequence[ImageSearchResult] = outcomes["image"].hits if "image" in outcomes else ()
    return SearchResponse(
        query=request.query,
        candidates=page,
        images=list(images),
        total_candidates=sum(len(outcomes[leg].hits) for leg in run.text_legs if leg in outcomes),
        search_time_ms=run.elapsed_ms(),
        reranker_used=ranked.reranker_model is not None,
        reranker_model=ranked.reranker_model,
        search_types_used=[leg for leg in run.text_legs if leg in outcomes],
        search_strategy=_effective_strategy(run),
        strategy_confidence=run.plan.confidence,
        strategy_reason="; ".join([run.plan.reason, *run.fallbacks]),
        legs=run.reports,
        metrics=run.timings(len(page)),
        degraded=run.is_degraded(),
        warnings=run.all_warnings(),
        # Of a picture without words there is nothing to measure: what was found is what is near it.
        no_good_match=has_no_good_match(run, page, text) if text else not (page or images),
        facets=facets,
    )


def _effective_strategy(run: SearchRun) -> str:
    """What the search came down to: hybrid without its vector leg is lexical, with nothing else it is semantic."""
    name = run.plan.strategy.name
    if name != "hybrid" or "vector" not in run.legs:
        return name
    if not run.answered("vector"):
        run.fallbacks.append(f"hybrid -> lexical: vector: {run.reports['vector'].reason}")
        return "lexical"
    others = [leg for leg in run.text_legs if leg != "vector"]
    if others and not any(run.answered(leg) for leg in others):
        run.fallbacks.append(f"hybrid -> semantic: {', '.join(others)} could not answer")
        return "semantic"
    return name
