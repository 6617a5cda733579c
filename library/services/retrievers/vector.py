"""Chunks by the similarity of their vectors to the query's, scoped inside the index."""

from typing import Final

from library.graph import session
from library.graph.schema import CHUNK_VECTOR_INDEX
from library.graph.scope import vector_filter
from library.services.retrievers.base import RetrievalQuery
from library.services.types import Scope, SearchCandidate

CHUNK_VECTOR_QUERY: Final = """
CYPHER 25 MATCH (n:Chunk)
SEARCH n IN (VECTOR INDEX {index} FOR $vector {filters} LIMIT $k) SCORE AS score
RETURN n.uid AS uid, n.item_uid AS item_uid, n.chunk_index AS chunk_index, score
ORDER BY score DESC, uid
"""


class VectorRetriever:
    """Nearest chunks. A score is Neo4j's (1 + cosine) / 2, from 0 to 1."""

    def retrieve(self, query: RetrievalQuery, scope: Scope, timeout: float) -> list[SearchCandidate]:
        """The `vector_top_k` nearest chunks of the scope."""
        if query.vector is None or scope.is_empty:
            return []
        filters, parameters = vector_filter(scope)
        rows = session.read(
            CHUNK_VECTOR_QUERY.format(index=CHUNK_VECTOR_INDEX, filters=filters),
            {"vector": query.vector, "k": query.vector_top_k, **parameters},
            timeout,
        )
        return [
            SearchCandidate(
                chunk_uid=row["uid"],
                item_uid=row["item_uid"],
                chunk_index=row["chunk_index"],
                score=row["score"],
                source="vector",
            )
            for row in rows
        ]
