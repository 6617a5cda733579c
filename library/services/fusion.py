"""Fusion of ranked lists into one. Pure: no Django, no Neo4j, no clock.

Every method gives each chunk a contribution per list; the fused score is their sum, and the parts are kept in
`score_breakdown["rrf_components"]`. Ties are broken by chunk_uid, so that the order never depends on threads or
hash seeds.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace
from typing import Any, Final, NamedTuple

from library.services.normalise import divide_by_highest, min_max
from library.services.types import SearchCandidate

ResultList = Sequence[SearchCandidate]

# k = 60: Cormack, Clarke and Buettcher, "Reciprocal Rank Fusion outperforms Condorcet and individual Rank
# Learning Methods", SIGIR 2009.
RRF_K: Final = 60

# What a leg's rank and score are called in a breakdown.
BREAKDOWN_NAMES: Final[Mapping[str, str]] = {"vector": "semantic", "fulltext": "lexical", "graph": "graph"}


class _Part(NamedTuple):
    """What one list says of one chunk. `rank` counts from 1."""

    candidate: SearchCandidate
    rank: int
    contribution: float


def reciprocal_rank_fusion(result_lists: Sequence[ResultList], k: int = RRF_K) -> list[SearchCandidate]:
    """Fuse by score = sum of 1 / (k + rank), rank from 1 (Cormack et al. 2009)."""
    return weighted_reciprocal_rank_fusion(result_lists, {}, k)


def weighted_reciprocal_rank_fusion(
    result_lists: Sequence[ResultList], weights: Mapping[str, float], k: int = RRF_K
) -> list[SearchCandidate]:
    """Fuse by score = sum of w / (k + rank); `weights` by list name, 1 where a name is missing."""

    def contributions(name: str, ranked: ResultList) -> list[float]:
        weight = weights.get(name, 1.0)
        return [weight / (k + rank) for rank in range(1, len(ranked) + 1)]

    return _fuse(result_lists, contributions, "weighted_rrf" if weights else "rrf")


def linear_fusion(
    result_lists: Sequence[ResultList], weights: Mapping[str, float], zero_based: AbstractSet[str] = frozenset()
) -> list[SearchCandidate]:
    """Fuse by score = sum of w x min-max normalised score; `weights` by list name, 1 where a name is missing.

    The minimum of a list named in `zero_based` is 0, whatever its last score: what it does not find scores 0.
    """

    def contributions(name: str, ranked: ResultList) -> list[float]:
        weight, normalise = weights.get(name, 1.0), divide_by_highest if name in zero_based else min_max
        return [weight * score for score in normalise([candidate.score for candidate in ranked])]

    return _fuse(result_lists, contributions, "linear")


def by_similarity(ranked: ResultList) -> list[SearchCandidate]:
    """One list as it stands: the score is the similarity itself. Lexical rank and score come from `metadata`."""
    fused = _fuse([ranked], lambda name, hits: [hit.score for hit in hits], "lexical_first")
    return [_with_lexical_part(candidate) for candidate in fused]


def _with_lexical_part(candidate: SearchCandidate) -> SearchCandidate:
    lexical = {name: candidate.metadata.get(name) for name in ("lexical_rank", "lexical_score")}
    return replace(candidate, metadata={}, score_breakdown={**candidate.score_breakdown, **lexical})


def _fuse(
    result_lists: Sequence[ResultList], contributions: Callable[[str, ResultList], list[float]], method: str
) -> list[SearchCandidate]:
    parts: dict[str, dict[str, _Part]] = {}
    for number, ranked in enumerate(result_lists, start=1):
        name = (ranked[0].source if ranked else "") or f"list_{number}"
        for rank, (candidate, value) in enumerate(zip(ranked, contributions(name, ranked), strict=True), start=1):
            # The first appearance is the best: a chunk repeated in a list counts once.
            parts.setdefault(candidate.chunk_uid, {}).setdefault(name, _Part(candidate, rank, value))
    scores = {uid: math.fsum(part.contribution for part in of_chunk.values()) for uid, of_chunk in parts.items()}
    ordered = sorted(scores.items(), key=lambda scored: (-scored[1], scored[0]))
    return [_merged(parts[uid], method, score, rank) for rank, (uid, score) in enumerate(ordered, start=1)]


def _merged(parts: Mapping[str, _Part], method: str, score: float, rank: int) -> SearchCandidate:
    """One candidate out of what each list says of it; `source` is the list that contributed most."""
    leading = max(parts, key=lambda name: parts[name].contribution)
    metadata: dict[str, Any] = {}
    for part in parts.values():
        metadata.update(part.candidate.metadata)
    path = metadata.pop("graph_path", None)
    found = parts[leading].candidate
    # Written out: this is done a hundred times a search, and `replace` would cost four times as much.
    return SearchCandidate(
        chunk_uid=found.chunk_uid,
        item_uid=found.item_uid,
        item_title=found.item_title,
        library_type=found.library_type,
        text_preview=found.text_preview,
        chunk_s3_key=found.chunk_s3_key,
        chunk_index=found.chunk_index,
        text=found.text,
        score=score,
        rank=rank,
        source=leading,
        metadata=metadata,
        score_breakdown=_breakdown(parts, method, score, rank, path),
    )


def _breakdown(parts: Mapping[str, _Part], method: str, score: float, rank: int, path: Any) -> dict[str, Any]:
    breakdown: dict[str, Any] = {}
    for leg, name in BREAKDOWN_NAMES.items():
        part = parts.get(leg)
        breakdown[f"{name}_rank"] = None if part is None else part.rank
        breakdown[f"{name}_score"] = None if part is None else part.candidate.score
    return {
        **breakdown,
        "rrf_components": {name: part.contribution for name, part in parts.items()},
        "fusion_method": method,
        "fused_score": score,
        "fused_rank": rank,
        "rerank_score": None,
        "rerank_rank": None,
        "graph_path": path,
    }
