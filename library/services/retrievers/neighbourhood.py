"""Chunks that share concepts with the best hits of a search: a second, bounded pass of the graph leg."""

from collections.abc import Sequence
from typing import Final

from library.graph import session
from library.graph.scope import node_filter
from library.services.retrievers.base import RetrievalQuery, normalised_candidates
from library.services.retrievers.operators import operator_filter
from library.services.types import Scope, SearchCandidate

# The bounds of the work: concepts followed from each hit, and chunks taken from each. A concept of more mentions than
# HUB_DEGREE connects everything with everything and is not followed.
MAX_CONCEPTS: Final = 12
MAX_CHUNKS_PER_CONCEPT: Final = 10
HUB_DEGREE: Final = 1_000

NEIGHBOURHOOD_QUERY: Final = """
CYPHER 25
UNWIND range(0, size($hits) - 1) AS place
MATCH (hit:Chunk {{uid: $hits[place]}})
CALL (hit) {{
    MATCH (hit)-[m:MENTIONS]->(concept:Concept) WHERE m.weight > 0
    RETURN concept, m.weight AS here ORDER BY here DESC, concept.uid LIMIT $concepts
}}
WITH hit, place, concept, here, COUNT {{ (concept)<-[:MENTIONS]-() }} AS degree
WHERE degree > 1 AND degree <= $hub
CALL (hit, concept) {{
    MATCH (concept)<-[m:MENTIONS]-(c:Chunk) WHERE c <> hit AND m.weight > 0 {filters}
    RETURN c, m.weight AS there ORDER BY there DESC, c.uid LIMIT $per_concept
}}
WITH c, here * there / (1 + log(degree)) / (1 + place) AS score, [hit.title, concept.name, 'MENTIONS'] AS path
ORDER BY score DESC, c.uid, path
WITH c, sum(score) AS score, collect(path)[0] AS path
RETURN c.uid AS uid, c.item_uid AS item_uid, c.chunk_index AS chunk_index, score, path
ORDER BY score DESC, uid LIMIT $k
"""


def neighbourhood(hits: Sequence[str], query: RetrievalQuery, scope: Scope, timeout: float) -> list[SearchCandidate]:
    """The `graph_top_k` chunks nearest to the hits, given as chunk uids, the best first.

    A concept counts by its weight on both sides, less where it has many mentions, and less from a lower hit. Scores are
    divided by the list's highest; `graph_path` names the hit and the concept. Raises as `session.read` does.
    """
    if not hits or scope.is_empty:
        return []
    scope_filter, scope_parameters = node_filter(scope, "c")
    operators, operator_parameters = operator_filter(query.parsed)
    rows = session.read(
        NEIGHBOURHOOD_QUERY.format(filters=f"{scope_filter} {operators}"),
        {
            "hits": list(hits),
            "concepts": MAX_CONCEPTS,
            "per_concept": MAX_CHUNKS_PER_CONCEPT,
            "hub": HUB_DEGREE,
            "k": query.graph_top_k,
            **scope_parameters,
            **operator_parameters,
        },
        timeout,
    )
    return normalised_candidates(rows, "graph")
