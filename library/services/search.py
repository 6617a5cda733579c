"""The orchestrator: plan, embed once, retrieve in parallel, fuse, re-rank, report."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from library import metrics
from library.conf import SearchConfig, model_config, search_config
from library.content_types import CONTENT_TYPES, QUERY_INSTRUCTION
from library.exceptions import (
    EmbeddingUnavailable,
    GraphError,
    InvalidRequest,
    ModelError,
    NotConfigured,
    SearchUnavailable,
)
from library.graph.hydrate import ChunkRecord, chunk_records, library_instruction
from library.services import usage
from library.services.embeddings import EmbeddingClient
from library.services.fusion import linear_fusion, reciprocal_rank_fusion, weighted_reciprocal_rank_fusion
from library.services.legs import Outcome, RunningLegs
from library.services.query_optimizer import plan_search
from library.services.reranking import rerank
from library.services.retrievers.base import RetrievalQuery, Retriever
from library.services.retrievers.fulltext import FulltextRetriever
from library.services.retrievers.graph import GraphRetriever
from library.services.retrievers.image import ImageRetriever
from library.services.retrievers.lucene import safe_text
from library.services.retrievers.vector import VectorRetriever
from library.services.strategies import SearchPlan
from library.services.types import (
    ImageSearchResult,
    LegReport,
    SearchCandidate,
    SearchRequest,
    SearchResponse,
)
from library.services.usage import UsageRecord

RETRIEVERS: Final[Mapping[str, Retriever[Any]]] = {
    "vector": VectorRetriever(),
    "fulltext": FulltextRetriever(),
    "graph": GraphRetriever(),
    "image": ImageRetriever(),
}
NOT_ASKED: Final = LegReport("skipped", "not part of this search")
EMBEDDING_HINT: Final = "Check the model service, or run 'manage.py setup_models'."


@dataclass(slots=True)
class _Run:
    """The state of one search on its way."""

    request: SearchRequest
    config: SearchConfig
    plan: SearchPlan
    legs: list[str]
    started: float
    usage: list[UsageRecord] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    reports: dict[str, LegReport] = field(default_factory=dict)
    embedding_ms: float = 0.0
    fusion_ms: float = 0.0

    def elapsed_ms(self) -> float:
        return 1000 * (time.perf_counter() - self.started)


class SearchService:
    """Answers `SearchRequest`s. Holds no state of a search; one instance may serve many threads."""

    def __init__(self, retrievers: Mapping[str, Retriever[Any]] = RETRIEVERS) -> None:
        self._retrievers = retrievers

    def search(self, request: SearchRequest) -> SearchResponse:
        """The answer, or `InvalidRequest`, or `SearchUnavailable` where no leg could answer.

        A leg that fails or runs out of time costs its own results only; the response says so.
        """
        plan = plan_search(request)
        run = _Run(request, search_config(), plan, _legs(request, plan), time.perf_counter())
        try:
            outcomes = self._retrieve(run)
            _require_an_answer(run, outcomes)
            response = self._respond(run, outcomes)
        finally:
            usage.write(run.usage)
        metrics.record_search(response, request.library_type)
        return response

    def _retrieve(self, run: _Run) -> Mapping[str, Outcome]:
        """Run the legs side by side; those that need a vector start when there is one."""
        request = run.request
        text = safe_text(request.query, run.config.max_query_terms)
        if text.cut:
            run.warnings.append(f"The query was cut to its first {run.config.max_query_terms} words for full text.")
        query = RetrievalQuery(
            text=text,
            vector_top_k=request.vector_top_k,
            fulltext_top_k=request.fulltext_top_k,
            graph_top_k=request.fulltext_top_k,
            graph_max_depth=request.graph_max_depth,
            image_top_k=request.limit,
        )
        running = RunningLegs(time.monotonic() + run.config.leg_timeout)
        for leg in run.legs:
            if leg not in ("vector", "image"):
                self._start(running, leg, query, request)
        if "vector" in run.legs or "image" in run.legs:
            query = replace(query, vector=self._embedding(run, running))
        if "vector" in run.legs and query.vector is not None:
            self._start(running, "vector", query, request)
        if "image" in run.legs:
            self._start(running, "image", query, request)
        outcomes = running.outcomes()
        for leg in self._retrievers:
            if leg in outcomes:
                run.reports[leg] = outcomes[leg].report
            else:
                run.reports.setdefault(leg, NOT_ASKED)
        return outcomes

    def _start(self, running: RunningLegs, leg: str, query: RetrievalQuery, request: SearchRequest) -> None:
        retriever, scope = self._retrievers[leg], request.scope
        running.start(leg, lambda seconds: retriever.retrieve(query, scope, seconds))

    def _embedding(self, run: _Run, running: RunningLegs) -> list[float] | None:
        """The query's vector, made within the legs' budget; None, with the reason in the report, where it fails."""
        if run.request.scope.is_empty or not run.request.query.strip():
            run.reports["vector"] = LegReport("empty")
            return None
        started = time.perf_counter()
        try:
            client = EmbeddingClient.from_system(run.usage.append)
            instruction = _embedding_instruction(run.request, running.seconds_left)
            return client.embed_query(run.request.query, instruction, timeout=running.seconds_left)
        except (ModelError, NotConfigured, GraphError) as error:
            run.reports["vector"] = LegReport("skipped", f"no embedding: {error}")
            return None
        finally:
            run.embedding_ms = 1000 * (time.perf_counter() - started)

    def _respond(self, run: _Run, outcomes: Mapping[str, Outcome]) -> SearchResponse:
        request = run.request
        lists = [outcomes[leg].hits for leg in run.legs if leg != "image" and leg in outcomes]
        started = time.perf_counter()
        fused = _fuse(lists, request.fusion or run.config.fusion, run.config)
        run.fusion_ms = 1000 * (time.perf_counter() - started)
        window = request.offset + request.limit
        shown, model = self._ranked(run, fused, window)
        page = [replace(candidate, rank=rank) for rank, candidate in enumerate(shown, start=1)]
        images: Sequence[ImageSearchResult] = outcomes["image"].hits if "image" in outcomes else ()
        return SearchResponse(
            query=request.query,
            candidates=page[request.offset : window],
            images=list(images),
            total_candidates=sum(len(hits) for hits in lists),
            search_time_ms=run.elapsed_ms(),
            reranker_used=model is not None,
            reranker_model=model,
            search_types_used=[leg for leg in run.legs if leg != "image" and leg in outcomes],
            search_strategy=run.plan.strategy.name,
            strategy_confidence=run.plan.confidence,
            strategy_reason=run.plan.reason,
            legs=run.reports,
            metrics=_timings(run, len(page[request.offset : window])),
            degraded=_is_degraded(run),
            warnings=run.warnings + _leg_warnings(run),
        )

    def _ranked(
        self, run: _Run, fused: Sequence[SearchCandidate], window: int
    ) -> tuple[list[SearchCandidate], str | None]:
        """The best candidates with all that is shown of them, re-ranked where asked and possible."""
        wanted = max(window, model_config().reranker_max_candidates) if run.request.rerank else window
        head = fused[:wanted]
        try:
            records = chunk_records([candidate.chunk_uid for candidate in head], timeout=run.config.leg_timeout)
        except GraphError as error:
            raise SearchUnavailable("The search index cannot be read at the moment.") from error
        candidates = [
            _hydrated(candidate, records[candidate.chunk_uid]) for candidate in head if candidate.chunk_uid in records
        ]
        if not run.request.rerank:
            run.reports["rerank"] = LegReport("skipped", "not asked for")
            return candidates, None
        outcome = rerank(run.request.query, candidates, records, run.usage.append)
        run.reports["rerank"] = outcome.report
        return outcome.candidates, outcome.model


def _legs(request: SearchRequest, plan: SearchPlan) -> list[str]:
    legs: list[str] = [leg for leg in plan.strategy.legs if leg in request.search_types]
    if not legs:
        raise InvalidRequest(
            "search_types",
            f"the strategy {plan.strategy.name} needs {' or '.join(plan.strategy.legs)}",
        )
    return [*legs, "image"] if request.include_images else legs


def _embedding_instruction(request: SearchRequest, timeout: float) -> str:
    """The library's own instruction, or its type's; without a library or a type, the general one."""
    kind = request.library_type
    if request.library_uid is not None:
        found = library_instruction(request.library_uid, timeout)
        if found is not None and found[1]:
            return found[1]
        kind = found[0] if found is not None else kind
    content_type = CONTENT_TYPES.get(kind or "")
    return content_type.embedding_instruction if content_type is not None else QUERY_INSTRUCTION


def _require_an_answer(run: _Run, outcomes: Mapping[str, Outcome]) -> None:
    """Raise where no leg of the text search came back with an answer, even an empty one."""
    legs = [leg for leg in run.legs if leg != "image"]
    if any(run.reports[leg].status in ("ok", "empty") for leg in legs):
        return
    if legs == ["vector"] and run.reports["vector"].status == "skipped":
        raise EmbeddingUnavailable(
            f"This search needs vectors, and there is {run.reports['vector'].reason}. {EMBEDDING_HINT}"
        )
    raise SearchUnavailable("No part of the search could answer. Check that Neo4j runs, then try again.")


def _fuse(lists: Sequence[Sequence[SearchCandidate]], method: str, config: SearchConfig) -> list[SearchCandidate]:
    if method == "linear":
        return linear_fusion(lists, config.weights)
    if method == "weighted_rrf":
        return weighted_reciprocal_rank_fusion(lists, config.weights, config.rrf_k)
    return reciprocal_rank_fusion(lists, config.rrf_k)


def _hydrated(candidate: SearchCandidate, record: ChunkRecord) -> SearchCandidate:
    return replace(
        candidate,
        item_uid=record.item_uid,
        item_title=record.item_title,
        library_type=record.library_type,
        text_preview=record.text_preview,
        chunk_s3_key=record.chunk_s3_key,
        chunk_index=record.chunk_index,
        text=record.text,
        metadata={
            **candidate.metadata,
            "page": record.page,
            "section": record.section,
            "source": record.item_source,
            "library_uid": record.library_uid,
            "library_name": record.library_name,
            "collection_uid": record.collection_uid,
            "nearby_images": list(record.nearby_images),
        },
    )


def _timings(run: _Run, shown: int) -> dict[str, float]:
    reports = run.reports
    return {
        "total_time_ms": run.elapsed_ms(),
        "embedding_time_ms": run.embedding_ms,
        "semantic_time_ms": reports["vector"].time_ms,
        "lexical_time_ms": reports["fulltext"].time_ms,
        "graph_time_ms": reports["graph"].time_ms,
        "image_time_ms": reports["image"].time_ms,
        "fusion_time_ms": run.fusion_ms,
        "rerank_time_ms": reports["rerank"].time_ms,
        "semantic_results_count": reports["vector"].count,
        "lexical_results_count": reports["fulltext"].count,
        "graph_results_count": reports["graph"].count,
        "image_results_count": reports["image"].count,
        "final_results_count": shown,
    }


def _is_degraded(run: _Run) -> bool:
    failed = any(report.status in ("error", "timeout") for report in run.reports.values())
    return failed or ("vector" in run.legs and run.reports["vector"].status == "skipped")


def _leg_warnings(run: _Run) -> list[str]:
    """One warning a leg that was asked for and could not do its work."""
    return [
        f"{name}: {report.reason}"
        for name, report in run.reports.items()
        if report.status in ("error", "timeout") or (name in run.legs and report.status == "skipped")
    ]
