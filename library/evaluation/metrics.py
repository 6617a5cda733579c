"""Measures of a ranking against judgements. Pure.

nDCG: Jaervelin and Kekaelaeinen, "Cumulated gain-based evaluation of IR techniques", ACM TOIS 2002, with linear gain
and the discount 1 / log2(rank + 1) of trec_eval. MRR, P and recall: Voorhees and Harman, "TREC", 2005.
"""

import math
from collections.abc import Mapping, Sequence

Judged = Mapping[str, int]


def ndcg(ranking: Sequence[str], judged: Judged, k: int = 10) -> float:
    """Discounted gain of the first k, as a part of the best possible; 0 where nothing is relevant."""
    gain = _discounted([max(0, judged.get(document, 0)) for document in ranking[:k]])
    ideal = _discounted(sorted((max(0, value) for value in judged.values()), reverse=True)[:k])
    return gain / ideal if ideal else 0.0


def _discounted(gains: Sequence[int]) -> float:
    return math.fsum(gain / math.log2(rank + 1) for rank, gain in enumerate(gains, start=1))


def reciprocal_rank(ranking: Sequence[str], judged: Judged, k: int = 10) -> float:
    """1 / rank of the first relevant document among the first k, else 0."""
    return next((1 / rank for rank, d in enumerate(ranking[:k], start=1) if judged.get(d, 0) > 0), 0.0)


def precision(ranking: Sequence[str], judged: Judged, k: int = 5) -> float:
    """The relevant part of the first k; missing documents count as not relevant."""
    return sum(judged.get(document, 0) > 0 for document in ranking[:k]) / k


def recall(ranking: Sequence[str], judged: Judged, k: int = 100) -> float:
    """The part of the relevant documents that is among the first k; 0 where nothing is relevant."""
    relevant = sum(value > 0 for value in judged.values())
    return sum(judged.get(document, 0) > 0 for document in ranking[:k]) / relevant if relevant else 0.0


def percentile(values: Sequence[float], part: float) -> float:
    """The value that `part` (0 to 1) of the values do not exceed (nearest rank); 0 without values."""
    ordered = sorted(values)
    return ordered[max(0, math.ceil(part * len(ordered)) - 1)] if ordered else 0.0
