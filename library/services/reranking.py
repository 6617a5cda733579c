"""The re-ranking stage: each type of content under its own instruction, side by side, merged by score."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from library import metrics
from library.content_types import CONTENT_TYPES
from library.exceptions import ModelError, ModelTimeout, NotConfigured
from library.graph.hydrate import ChunkRecord
from library.services.legs import pool
from library.services.reranker import RerankerClient
from library.services.types import LegReport, SearchCandidate
from library.services.usage import UsageRecord

NO_RERANKER: Final = "no reranker is configured"
NO_WORDS: Final = "the reranker takes no pictures, and there are no words"


@dataclass(frozen=True, slots=True)
class Reranked:
    """Candidates in their final order. `model` is None where the fused order was kept."""

    candidates: list[SearchCandidate]
    report: LegReport
    model: str | None = None


def rerank(
    query: str,
    candidates: Sequence[SearchCandidate],
    records: Mapping[str, ChunkRecord],
    record_usage: Callable[[UsageRecord], None],
    caller_jwt: str = "",
    query_image: bytes | None = None,
) -> Reranked:
    """Sort the candidates by the system's reranker.

    A service that fails, or gives an answer that cannot be used, costs the re-ranking and nothing else.
    """
    fused = list(candidates)
    try:
        client = RerankerClient.from_system(record_usage, caller_jwt)
    except NotConfigured:
        metrics.record_rerank("none", "skipped", 0.0, 0)
        return Reranked(fused, LegReport("skipped", NO_RERANKER))
    if not fused:
        return Reranked(fused, LegReport("empty"))
    picture = query_image if client.takes_images else None
    if not query and picture is None:
        return Reranked(fused, LegReport("skipped", NO_WORDS))
    started = time.perf_counter()
    try:
        scored = _scored_by_type(client, query, picture, fused, records)
    except ModelError as error:
        seconds = time.perf_counter() - started
        timed_out = isinstance(error, ModelTimeout)
        metrics.record_rerank(client.name, "timeout" if timed_out else "error", seconds, len(fused))
        return Reranked(fused, LegReport("timeout" if timed_out else "error", str(error), 1000 * seconds))
    seconds = time.perf_counter() - started
    metrics.record_rerank(client.name, "success", seconds, len(fused))
    report = LegReport("ok", "", 1000 * seconds, len(fused))
    return Reranked(_with_ranks(scored), report, client.name)


def _scored_by_type(
    client: RerankerClient,
    query: str,
    picture: bytes | None,
    head: Sequence[SearchCandidate],
    records: Mapping[str, ChunkRecord],
) -> list[SearchCandidate]:
    groups: dict[str, list[SearchCandidate]] = {}
    for candidate in head:
        groups.setdefault(instruction_for(records[candidate.chunk_uid]), []).append(candidate)
    futures = [
        pool().submit(client.rerank, query, group, instruction, query_image=picture)
        for instruction, group in sorted(groups.items())
    ]
    merged = [candidate for future in futures for candidate in future.result()]
    fused_rank = {candidate.chunk_uid: rank for rank, candidate in enumerate(head)}
    merged.sort(key=lambda candidate: (*_by_score(candidate), fused_rank[candidate.chunk_uid]))
    return merged


def _by_score(candidate: SearchCandidate) -> tuple[bool, float]:
    """Candidates that were scored first, by falling score."""
    score = candidate.score_breakdown.get("rerank_score")
    return (True, 0.0) if score is None else (False, -float(score))


def instruction_for(record: ChunkRecord) -> str:
    """The library's own reranker instruction, or its type's."""
    if record.reranker_instruction:
        return record.reranker_instruction
    kind = CONTENT_TYPES.get(record.library_type)
    return kind.reranker_instruction if kind is not None else ""


def _with_ranks(scored: Sequence[SearchCandidate]) -> list[SearchCandidate]:
    return [
        replace(candidate, score_breakdown={**candidate.score_breakdown, "rerank_rank": rank})
        if candidate.score_breakdown.get("rerank_score") is not None
        else candidate
        for rank, candidate in enumerate(scored, start=1)
    ]
