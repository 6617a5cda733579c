"""How much of what exact comparison finds the vector leg finds, in everything and in a rare library."""

import statistics
from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from benchmarks.data import Vectors
from benchmarks.latency import exact_nearest
from benchmarks.timing import overlap
from library.services.retrieval import RETRIEVERS
from library.services.retrievers.base import RetrievalQuery
from library.services.types import Scope

K: Final = 50
TIMEOUT: Final = 30.0


def measure(vectors: Vectors, corpus: tuple[list[str], Vectors, list[str]], rare: str | None) -> dict[str, Any]:
    """recall@50 unscoped, and within the library `rare` where there is one."""
    uids, matrix, libraries = corpus
    found: dict[str, Any] = {"recall@50": _recall(vectors, matrix, uids, Scope())}
    if rare is not None:
        inside = np.flatnonzero([library == rare for library in libraries])
        if not len(inside):
            raise ValueError("the rare library is empty: the large corpus needs a thousand chunks")
        scoped = [uids[row] for row in inside]
        found["rare_chunks"] = len(scoped)
        found["rare recall@50"] = _recall(vectors, matrix[inside], scoped, Scope(frozenset({rare})))
    return found


def _recall(vectors: Vectors, matrix: Vectors, uids: Sequence[str], scope: Scope) -> float:
    shares = []
    for vector, wanted in zip(vectors, exact_nearest(vectors, matrix, uids, K), strict=True):
        # The leg looks at the vector alone, as long as the words are no operators.
        query = RetrievalQuery.of("words", vector=vector.tolist(), vector_top_k=K)
        hits = RETRIEVERS["vector"].retrieve(query, scope, TIMEOUT)
        shares.append(overlap([hit.chunk_uid for hit in hits], wanted))
    return statistics.mean(shares)
