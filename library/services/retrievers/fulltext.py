"""Chunks by the words of their text and title, of their concepts' names, and of their items' titles."""

from typing import Any, Final

from library.graph import session
from library.graph.schema import CHUNK_FULLTEXT_INDEX, CONCEPT_FULLTEXT_INDEX, ITEM_FULLTEXT_INDEX
from library.graph.scope import naming_filter, naming_parameters, node_filter
from library.services.query_language import to_lucene
from library.services.query_terms import java_pattern
from library.services.retrievers.base import RetrievalQuery, normalised_candidates
from library.services.retrievers.lucene import (
    CHUNK_BOOSTS,
    CONCEPT_BOOSTS,
    LISTED_SCOPE,
    scoped_queries,
    text_clause,
)
from library.services.retrievers.operators import operator_filter
from library.services.types import Scope, SearchCandidate

TITLE_BOOSTS: Final = {"title": 1.0}

# A name says less than a passage: hits by a concept's name count 0.8 of their score (the search contract).
CONCEPT_WEIGHT: Final = 0.8
# How many more chunks are asked of the index where operators may pass some of them over.
OPERATOR_REACH: Final = 10
# How many names and titles are followed, and how many chunks each may bring.
MAX_NAMES: Final = 5
MAX_CHUNKS_PER_NAME: Final = 10

# Three indexes, one round trip. A chunk found in several ways keeps its best score.
FULLTEXT_QUERY: Final = """
CYPHER 25
CALL () {{
    UNWIND $chunk_queries AS query
    CALL db.index.fulltext.queryNodes('{chunk_index}', query, {{limit: $reach}}) YIELD node AS c, score
    WITH c, score WHERE score > 0 {operators}
    RETURN c, score
  UNION ALL
    UNWIND $concept_queries AS query
    CALL db.index.fulltext.queryNodes('{concept_index}', query, {{limit: $names_reach}}) YIELD node, score
    WITH node, score WHERE score > 0 {named}
    WITH node, score ORDER BY score DESC, node.uid LIMIT $names
    CALL (node) {{
        MATCH (node)<-[m:MENTIONS]-(c:Chunk) WHERE m.weight > 0 {filters}
        RETURN c, m.weight AS weight ORDER BY weight DESC, c.uid LIMIT $per_name
    }}
    RETURN c, score * weight * $concept_weight AS score
  UNION ALL
    UNWIND $title_queries AS query
    CALL db.index.fulltext.queryNodes('{item_index}', query, {{limit: $names}}) YIELD node, score
    WITH node, score ORDER BY score DESC, node.uid LIMIT $names
    MATCH (node)-[:HAS_CHUNK]->(c:Chunk {{chunk_index: 0}}) WHERE c.item_uid IS NOT NULL {filters}
    RETURN c, score * $title_weight AS score
}}
WITH c, max(score) AS score WHERE score > 0
WITH c, score ORDER BY score DESC, c.uid LIMIT $k
RETURN collect([c.uid, c.item_uid, c.chunk_index, score]) AS rows
"""
TITLE_WEIGHT: Final = 0.6

# The index leaves out stop words. A query of nothing else ("The Who", "to be or not to be") is looked up in the texts
# themselves, titles before passages. It stops at the first `k`, and at the leg's budget where it finds fewer.
STOP_WORDS_QUERY: Final = """
CYPHER 25
CALL () {{
    MATCH (c:Chunk) WHERE all(pattern IN $words WHERE c.title =~ pattern) {filters}
    RETURN c, 1.0 AS score LIMIT $k
  UNION ALL
    MATCH (c:Chunk) WHERE all(pattern IN $words WHERE c.text =~ pattern) {filters}
    RETURN c, 0.5 AS score LIMIT $k
}}
WITH c, max(score) AS score
WITH c, score ORDER BY score DESC, c.uid LIMIT $k
RETURN collect([c.uid, c.item_uid, c.chunk_index, score]) AS rows
"""


class FulltextRetriever:
    """Chunks by words (BM25 of Lucene). Scores leave divided by the list's highest, from 0 to 1."""

    def retrieve(self, query: RetrievalQuery, scope: Scope, timeout: float) -> list[SearchCandidate]:
        """The `fulltext_top_k` best chunks of the scope that pass the query's operators."""
        if scope.is_empty:
            return []
        scope_filter, scope_parameters = node_filter(scope, "c")
        operators, operator_parameters = operator_filter(query.parsed)
        common = {"k": query.fulltext_top_k, **scope_parameters, **operator_parameters}
        text = to_lucene(
            query.parsed,
            CHUNK_BOOSTS,
            max_words=len(query.text.words),
            exact=query.exact_terms,
            require_exact=query.require_exact,
        )
        if text:
            statement = FULLTEXT_QUERY.format(
                chunk_index=CHUNK_FULLTEXT_INDEX,
                concept_index=CONCEPT_FULLTEXT_INDEX,
                item_index=ITEM_FULLTEXT_INDEX,
                filters=f"{scope_filter} {operators}",
                operators=operators,
                named=naming_filter(scope, "node"),
            )
            # The index stems, the operators do not: some of its hits will be passed over.
            reach = query.fulltext_top_k * (OPERATOR_REACH if operators else 1)
            rows = session.read_listed(
                statement, {**common, **_index_queries(query, text, scope), "reach": reach}, timeout
            )
        elif query.text.words:
            statement = STOP_WORDS_QUERY.format(filters=f"{scope_filter} {operators}")
            words = [java_pattern(word) for word in query.text.words]
            rows = session.read_listed(statement, {**common, "words": words}, timeout)
        else:
            return []
        return normalised_candidates(rows, "fulltext")


def _index_queries(query: RetrievalQuery, text: str, scope: Scope) -> dict[str, Any]:
    """What each index is asked, and how much of it counts."""
    words = query.text.words if query.text.is_searchable else ()
    return {
        "chunk_queries": scoped_queries(text, scope),
        "concept_queries": scoped_queries(text_clause(words, CONCEPT_BOOSTS), scope, LISTED_SCOPE),
        "title_queries": scoped_queries(text_clause(words, TITLE_BOOSTS), scope),
        "names": MAX_NAMES,
        **naming_parameters(scope, words, MAX_NAMES, "names_reach"),
        "per_name": MAX_CHUNKS_PER_NAME,
        "concept_weight": CONCEPT_WEIGHT,
        "title_weight": TITLE_WEIGHT,
    }
