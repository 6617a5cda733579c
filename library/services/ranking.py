"""From what the legs found to one ranked list: fuse, then re-rank the best."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from library.conf import SearchConfig, model_config
from library.exceptions import GraphError, SearchUnavailable
from library.graph.hydrate import ChunkRecord, chunk_records
from library.services.fusion import (
    by_similarity,
    linear_fusion,
    reciprocal_rank_fusion,
    weighted_reciprocal_rank_fusion,
)
from library.services.legs import Outcome
from library.services.reranking import rerank
from library.services.run import SearchRun
from library.services.types import LegReport, SearchCandidate

# What no word is found in has the score 0, so a list of word scores ends there and not at its last hit. Vectors have no
# such end.
ZERO_BASED: Final = frozenset({"fulltext"})


@dataclass(frozen=True, slots=True)
class Ranked:
    """All candidates in their final order. The first of them are hydrated, the rest know uid and score only."""

    candidates: list[SearchCandidate]
    reranker_model: str | None


def fuse(run: SearchRun, outcomes: Mapping[str, Outcome]) -> list[SearchCandidate]:
    """The candidates of all text legs in one list, by the request's fusion or the setting's."""
    lists: list[Sequence[SearchCandidate]] = [outcomes[leg].hits for leg in run.text_legs if leg in outcomes]
    started = time.perf_counter()
    if run.plan.strategy.pool is not None and "vector" in outcomes:
        fused = by_similarity(outcomes["vector"].hits)
    else:
        weights = dict(run.config.weights)
        weights.update({leg: weight for leg, weight in run.plan.weights.items() if weight is not None})
        fused = _fused(lists, run.request.fusion or run.config.fusion, weights, run.config)
    run.fusion_ms += 1000 * (time.perf_counter() - started)
    return fused


def _fused(
    lists: Sequence[Sequence[SearchCandidate]], method: str, weights: Mapping[str, float], config: SearchConfig
) -> list[SearchCandidate]:
    if method == "linear":
        return linear_fusion(lists, weights, ZERO_BASED)
    if method == "weighted_rrf":
        return weighted_reciprocal_rank_fusion(lists, weights, config.rrf_k)
    return reciprocal_rank_fusion(lists, config.rrf_k)


def rank(run: SearchRun, fused: Sequence[SearchCandidate], text: str) -> Ranked:
    """The fused list with its head re-ranked, where that is asked for and possible.

    How many are re-ranked does not depend on the page that is asked for, so pages never overlap.
    """
    if not run.request.rerank:
        run.reports["rerank"] = LegReport("skipped", "not asked for")
        return Ranked(list(fused), None)
    limit = model_config().reranker_max_candidates
    head, records = hydrate(run, fused[:limit])
    outcome = rerank(text, head, records, run.usage.append, run.request.caller_jwt, run.request.query_image)
    run.reports["rerank"] = outcome.report
    return Ranked([*outcome.candidates, *fused[limit:]], outcome.model)


def hydrate(
    run: SearchRun, candidates: Sequence[SearchCandidate]
) -> tuple[list[SearchCandidate], dict[str, ChunkRecord]]:
    """The candidates with all that is shown of them; one whose chunk was removed meanwhile is left out."""
    bare = [candidate.chunk_uid for candidate in candidates if not candidate.text]
    try:
        records = chunk_records(bare, timeout=run.read_timeout())
    except GraphError as error:
        raise SearchUnavailable("The search index cannot be read at the moment; try again shortly.") from error
    hydrated = [
        candidate if candidate.text else _hydrated(candidate, records[candidate.chunk_uid])
        for candidate in candidates
        if candidate.text or candidate.chunk_uid in records
    ]
    return hydrated, records


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
