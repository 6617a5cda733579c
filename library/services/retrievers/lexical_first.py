"""Full text narrows, exact vector similarity ranks: two steps in one query."""

from library.services.retrievers.base import RetrievalQuery
from library.services.retrievers.vector import narrowed
from library.services.types import Scope, SearchCandidate


class LexicalFirstRetriever:
    """The nearest of the best chunks by full text. A score is (1 + cosine) / 2; `metadata` has the lexical part."""

    def retrieve(self, query: RetrievalQuery, scope: Scope, timeout: float) -> list[SearchCandidate]:
        """The `vector_top_k` nearest of the `fulltext_top_k` best by full text."""
        if query.vector is None or scope.is_empty:
            return []
        return narrowed(query, scope, query.fulltext_top_k, query.vector_top_k, timeout)
