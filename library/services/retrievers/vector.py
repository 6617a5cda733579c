"""Chunks by the similarity of their vectors to the query's, scoped inside the index."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from library.graph import session
from library.graph.schema import CHUNK_FULLTEXT_INDEX, CHUNK_VECTOR_INDEX
from library.graph.scope import node_filter, vector_filter
from library.services.query_language import to_lucene
from library.services.retrievers.base import RetrievalQuery
from library.services.retrievers.lucene import scoped_queries
from library.services.retrievers.operators import operator_filter
from library.services.types import Scope, SearchCandidate

CHUNK_VECTOR_QUERY: Final = """
CYPHER 25 MATCH (c:Chunk)
SEARCH c IN (VECTOR INDEX {index} FOR $vector {scope} LIMIT $reach) SCORE AS score
{operators}
WITH c, score ORDER BY score DESC, c.uid LIMIT $k
RETURN collect([c.uid, c.item_uid, c.chunk_index, score]) AS rows
"""
# Exact similarity inside what the full text finds. Scores are those of the index: (1 + cosine) / 2. Only the best
# travel back, with their places among all that full text found.
NARROWED_QUERY: Final = """
CYPHER 25
UNWIND $queries AS query
CALL db.index.fulltext.queryNodes('{index}', query, {{limit: $reach}}) YIELD node AS c, score AS lexical
WITH c, lexical WHERE lexical > 0 AND c.embedding IS NOT NULL {scope} {operators}
WITH c, lexical ORDER BY lexical DESC, c.uid LIMIT $reach
WITH collect(c) AS found, collect(lexical) AS lexicals
UNWIND range(1, size(found)) AS lexical_rank
WITH found[lexical_rank - 1] AS c, lexicals[lexical_rank - 1] / lexicals[0] AS lexical_score, lexical_rank,
     size(found) AS lexical_total
WITH c, lexical_score, lexical_rank, lexical_total, vector.similarity.cosine(c.embedding, $vector) AS score
ORDER BY score DESC, c.uid LIMIT $k
RETURN collect([c.uid, c.item_uid, c.chunk_index, score, lexical_score, lexical_rank, lexical_total]) AS rows
"""
# What the narrowed query says of a hit beside its similarity.
LEXICAL: Final = ("lexical_score", "lexical_rank", "lexical_total")
TEXT_BOOSTS: Final = {"text": 1.0, "title": 1.0, "section": 1.0}

# How many times as many chunks the index is asked for as are wanted: its graph is searched the farther for it. Of
# 100,000 chunks it finds .979 of the exact fifty by 3, .941 by 1, for a fifth more time (docs/performance.md).
WIDENING: Final = 3
# How many nearest chunks an exclusion is applied to, at first and at most; and how many chunks that hold the phrases
# and required words are compared exactly.
FIRST_REACH: Final = 4
MAX_REACH: Final = 10_000
NARROW_REACH: Final = 1_000


class VectorRetriever:
    """Nearest chunks. A score is Neo4j's (1 + cosine) / 2, from 0 to 1."""

    def retrieve(self, query: RetrievalQuery, scope: Scope, timeout: float) -> list[SearchCandidate]:
        """The `vector_top_k` nearest chunks of the scope that pass the query's operators."""
        if query.vector is None or scope.is_empty:
            return []
        if not query.parsed.has_operators:
            return self._nearest(query, scope, WIDENING * query.vector_top_k, timeout)
        if query.parsed.must_hold and to_lucene(query.parsed, TEXT_BOOSTS):
            hits = narrowed(query, scope, NARROW_REACH, query.vector_top_k, timeout)
            return [replace(hit, metadata={}) for hit in hits]
        reach = FIRST_REACH * query.vector_top_k
        while True:
            hits = self._nearest(query, scope, reach, timeout)
            if len(hits) >= query.vector_top_k or reach >= MAX_REACH:
                return hits
            reach = min(MAX_REACH, reach * 10)

    def _nearest(self, query: RetrievalQuery, scope: Scope, reach: int, timeout: float) -> list[SearchCandidate]:
        scope_filter, scope_parameters = vector_filter(scope, "c")
        operators, operator_parameters = operator_filter(query.parsed)
        rows = session.read_listed(
            CHUNK_VECTOR_QUERY.format(
                index=CHUNK_VECTOR_INDEX,
                scope=scope_filter,
                operators=f"WITH c, score WHERE score > 0 {operators}" if operators else "",
            ),
            {
                "vector": session.native_vector(query.vector),
                "reach": reach,
                "k": query.vector_top_k,
                **scope_parameters,
                **operator_parameters,
            },
            timeout,
        )
        return [_candidate(*row) for row in rows]


def narrowed(query: RetrievalQuery, scope: Scope, reach: int, k: int, timeout: float) -> list[SearchCandidate]:
    """The `k` nearest of the `reach` best chunks by full text, compared exactly.

    `metadata` has their lexical rank, their lexical score divided by the highest, and how many full text found.
    """
    queries = scoped_queries(to_lucene(query.parsed, TEXT_BOOSTS), scope)
    if not queries or query.vector is None:
        return []
    scope_filter, scope_parameters = node_filter(scope, "c")
    operators, operator_parameters = operator_filter(query.parsed)
    parameters: Mapping[str, Any] = {
        "queries": queries,
        "vector": session.native_vector(query.vector),
        "reach": reach,
        "k": k,
        **scope_parameters,
        **operator_parameters,
    }
    statement = NARROWED_QUERY.format(index=CHUNK_FULLTEXT_INDEX, scope=scope_filter, operators=operators)
    rows = session.read_listed(statement, parameters, timeout)
    return [
        _candidate(uid, item_uid, chunk_index, score, dict(zip(LEXICAL, lexical, strict=True)))
        for uid, item_uid, chunk_index, score, *lexical in rows
    ]


def _candidate(
    uid: str, item_uid: str, chunk_index: int, score: float, metadata: Mapping[str, Any] | None = None
) -> SearchCandidate:
    return SearchCandidate(
        chunk_uid=uid,
        item_uid=item_uid,
        chunk_index=chunk_index,
        score=score,
        source="vector",
        metadata=metadata or {},
    )
