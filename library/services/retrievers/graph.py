"""Chunks by the concepts of the query: named in it, or related to those named, out to a bounded depth."""

from typing import Final

from library.graph import session
from library.graph.schema import CONCEPT_FULLTEXT_INDEX
from library.graph.scope import node_filter
from library.services.retrievers.base import RetrievalQuery, normalised_candidates
from library.services.retrievers.lucene import LISTED_SCOPE, scoped_queries, text_clause
from library.services.retrievers.operators import operator_filter
from library.services.types import Scope, SearchCandidate

CONCEPT_BOOSTS: Final = {"name": 1.0, "aliases": 1.0}

# The bounds of the work, whatever the graph: concepts to start from, neighbours followed from each, concepts reached
# in all at each depth, and chunks taken from each.
MAX_SEEDS: Final = 8
MAX_NEIGHBOURS: Final = 8
MAX_FRONTIER: Final = 24
MAX_CHUNKS_PER_CONCEPT: Final = 20
# A concept with more relations than this relates to everything, and is not followed. One with more mentions gives the
# first of the scope instead of the weightiest: sorting them all would make the cost grow with the graph.
HUB_DEGREE: Final = 5_000
# What is left of a concept's score one step further away.
DECAY: Final = 0.5

_SEED_PART: Final = """
CYPHER 25
UNWIND $queries AS query
CALL db.index.fulltext.queryNodes('{index}', query, {{limit: $seeds}}) YIELD node, score
WITH node, max(score) AS score ORDER BY score DESC, node.uid LIMIT $seeds
WITH collect({{concept: node, score: score, path: [node.name]}}) AS hop0
"""

# One step along RELATED_TO. The weight is the edge's, divided by the logarithm of the degree that it leaves from.
_HOP_PART: Final = """
CALL (hop{previous}) {{
    UNWIND hop{previous} AS from
    WITH from, from.concept AS concept
    WITH from, concept, COUNT {{ (concept)-[:RELATED_TO]-() }} AS degree
    WHERE degree > 0 AND degree <= $hub
    CALL (concept) {{
        MATCH (concept)-[r:RELATED_TO]-(next:Concept) WHERE r.weight > 0 {concept_filter}
        RETURN next, r.weight AS weight ORDER BY weight DESC, next.uid LIMIT $neighbours
    }}
    WITH next, from, from.score * $decay * weight / (1 + log(degree)) AS score
    ORDER BY score DESC, next.uid
    WITH next, collect({{score: score, path: from.path + next.name}})[0] AS best
    WITH next, best ORDER BY best.score DESC, next.uid LIMIT $frontier
    RETURN collect({{concept: next, score: best.score, path: best.path}}) AS hop{number}
}}
"""

_CHUNK_PART: Final = """
WITH {all_hops} AS reached
UNWIND reached AS step
WITH step.concept AS concept, step ORDER BY step.score DESC, concept.uid
WITH concept, collect(step)[0] AS step
CALL (concept) {{
    WITH concept, COUNT {{ (concept)<-[:MENTIONS]-() }} AS degree WHERE degree <= $hub
    MATCH (concept)<-[m:MENTIONS]-(c:Chunk) WHERE m.weight > 0 {chunk_filter}
    RETURN c, m.weight / (1 + log(degree)) AS weight, 'MENTIONS' AS via
    ORDER BY weight DESC, c.uid LIMIT $per_concept
  UNION ALL
    WITH concept, COUNT {{ (concept)<-[:MENTIONS]-() }} AS degree WHERE degree > $hub
    MATCH (concept)<-[m:MENTIONS]-(c:Chunk) WHERE m.weight > 0 {chunk_filter}
    RETURN c, m.weight / (1 + log(degree)) AS weight, 'MENTIONS' AS via LIMIT $per_concept
  UNION ALL
    WITH concept, COUNT {{ (concept)<-[:REFERENCES]-() }} AS degree WHERE degree <= $hub
    MATCH (concept)<-[m:REFERENCES]-(:Item)-[:HAS_CHUNK]->(c:Chunk {{chunk_index: 0}})
    WHERE m.weight > 0 {chunk_filter}
    RETURN c, m.weight / (1 + log(degree)) AS weight, 'REFERENCES' AS via
    ORDER BY weight DESC, c.uid LIMIT $per_concept
}}
WITH c, step.score * weight AS score, step.path + via AS path
ORDER BY score DESC, c.uid, path
WITH c, sum(score) AS score, collect(path)[0] AS path WHERE score > 0
RETURN c.uid AS uid, c.item_uid AS item_uid, c.chunk_index AS chunk_index, score, path
ORDER BY score DESC, uid LIMIT $k
"""


def graph_query(depth: int, chunk_filter: str, concept_filter: str) -> str:
    """The whole walk as one read, `depth` steps along RELATED_TO."""
    hops = [
        _HOP_PART.format(previous=number - 1, number=number, concept_filter=concept_filter)
        for number in range(1, depth + 1)
    ]
    all_hops = " + ".join(f"hop{number}" for number in range(depth + 1))
    return (
        _SEED_PART.format(index=CONCEPT_FULLTEXT_INDEX)
        + "".join(hops)
        + _CHUNK_PART.format(all_hops=all_hops, chunk_filter=chunk_filter)
    )


def concept_filter(scope: Scope, variable: str) -> str:
    """Concepts that something in the scope is about; parameters are those of `node_filter`."""
    if scope.library_uids is None:
        return ""
    if len(scope.library_uids) == 1:
        return f"AND $library_uid IN {variable}.library_uids"
    return f"AND any(uid IN {variable}.library_uids WHERE uid IN $library_uids)"


class GraphRetriever:
    """Chunks by concepts. Scores leave divided by the list's highest; `graph_path` tells how a chunk was reached."""

    def retrieve(self, query: RetrievalQuery, scope: Scope, timeout: float) -> list[SearchCandidate]:
        """The `graph_top_k` chunks of the scope that are nearest to the query's concepts."""
        if scope.is_empty or not query.text.is_searchable:
            return []
        chunk_filter, parameters = node_filter(scope, "c")
        operators, operator_parameters = operator_filter(query.parsed)
        rows = session.read(
            graph_query(query.graph_max_depth, f"{chunk_filter} {operators}", concept_filter(scope, "next")),
            {
                "queries": scoped_queries(text_clause(query.text.words, CONCEPT_BOOSTS), scope, LISTED_SCOPE),
                "seeds": MAX_SEEDS,
                "neighbours": MAX_NEIGHBOURS,
                "frontier": MAX_FRONTIER,
                "per_concept": MAX_CHUNKS_PER_CONCEPT,
                "hub": HUB_DEGREE,
                "decay": DECAY,
                "k": query.graph_top_k,
                **parameters,
                **operator_parameters,
            },
            timeout,
        )
        return normalised_candidates(rows, "graph")
