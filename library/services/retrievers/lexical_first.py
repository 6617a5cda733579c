"""Full text narrows, exact vector similarity ranks: two steps in one query."""

from dataclasses import replace
from typing import Final

from library.services.retrievers.base import RetrievalQuery
from library.services.retrievers.vector import narrowed
from library.services.types import Scope, SearchCandidate

# How many chunks the full text hands on.
REACH: Final = 200


class LexicalFirstRetriever:
    """The nearest of the best 200 chunks by full text. A score is (1 + cosine) / 2; `metadata` has the lexical part."""

    def retrieve(self, query: RetrievalQuery, scope: Scope, timeout: float) -> list[SearchCandidate]:
        """The `vector_top_k` nearest of them."""
        if query.vector is None or scope.is_empty:
            return []
        hits = narrowed(query, scope, REACH, query.vector_top_k, timeout)
        highest = max((hit.metadata["lexical_score"] for hit in hits), default=1.0)
        by_text = sorted(hits, key=lambda hit: (-hit.metadata["lexical_score"], hit.chunk_uid))
        ranks = {hit.chunk_uid: rank for rank, hit in enumerate(by_text, start=1)}
        return [
            replace(
                hit,
                metadata={
                    "lexical_rank": ranks[hit.chunk_uid],
                    "lexical_score": hit.metadata["lexical_score"] / highest,
                    "lexical_total": len(hits),
                },
            )
            for hit in hits
        ]
