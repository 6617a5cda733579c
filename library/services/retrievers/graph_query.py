"""The graph leg as one read: from the concepts that a query names, and from those of the passages nearest to it. Pure.

The second way is what questions of two steps need: the passage that answers is named in a passage that the question
describes, and nowhere in the question. docs/relevance.md has what each is worth.
"""

from typing import Final

from library.graph.schema import CHUNK_FULLTEXT_INDEX, CHUNK_VECTOR_INDEX, CONCEPT_FULLTEXT_INDEX
from library.graph.scope import concept_filter, edge_filter, naming_filter, shown_name, vector_filter
from library.services.types import Scope

# The bounds of the work, whatever the graph: concepts to start from, neighbours followed from each, concepts reached
# in all at each depth, and chunks taken from each concept; concepts followed from each of the nearest passages, and
# chunks taken from each of those. With two or three times as many concepts the figures of docs/relevance.md are the
# same, and the leg takes twice as long.
BOUNDS: Final = {"seeds": 4, "neighbours": 4, "frontier": 8, "per_concept": 20, "concepts": 12, "per_near": 10}
# A concept with more relations than this relates to everything, and is not followed. One with more mentions gives the
# first of the scope instead of the weightiest: sorting them all would make the cost grow with the graph.
HUB_DEGREE: Final = 5_000
# A concept with more mentions says nothing of two passages that share it.
COMMON_DEGREE: Final = 100
# What is left of a concept's score one step further away.
DECAY: Final = 0.5

_SEED_PART: Final = """
    UNWIND $concept_queries AS query
    CALL db.index.fulltext.queryNodes('{index}', query, {{limit: $seeds_reach}}) YIELD node, score
    WITH node, score WHERE score > 0 {seed_filter}
    WITH node, max(score) AS score ORDER BY score DESC, node.uid LIMIT $seeds
    WITH collect({{concept: node, score: score, path: [{seed_name}]}}) AS hop0
"""

# One step along RELATED_TO. The weight is the edge's, divided by the logarithm of the degree that it leaves from.
_HOP_PART: Final = """
    CALL (hop{previous}) {{
        UNWIND hop{previous} AS from
        WITH from, from.concept AS concept
        WITH from, concept, COUNT {{ (concept)-[:RELATED_TO]-() }} AS degree
        WHERE degree > 0 AND degree <= $hub
        CALL (concept) {{
            MATCH (concept)-[r:RELATED_TO]-(next:Concept) WHERE r.weight > 0 {step_filter}
            RETURN next, max(r.weight) AS weight ORDER BY weight DESC, next.uid LIMIT $neighbours
        }}
        WITH next, from, from.score * $decay * weight / (1 + log(degree)) AS score
        ORDER BY score DESC, next.uid
        WITH next, collect({{score: score, path: from.path + {next_name}}})[0] AS best
        WITH next, best ORDER BY best.score DESC, next.uid LIMIT $frontier
        RETURN collect({{concept: next, score: best.score, path: best.path}}) AS hop{number}
    }}
"""

_MENTIONING_PART: Final = """
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
    WITH c, step.score * weight AS score, step.path + via AS path, false AS near
"""

_WORDS_PART: Final = """
        UNWIND $chunk_queries AS query
        CALL db.index.fulltext.queryNodes('{index}', query, {{limit: $nearest}}) YIELD node AS c, score
        WITH c, score ORDER BY score DESC, c.uid LIMIT $nearest
        RETURN collect(c) AS hits
"""
_VECTOR_PART: Final = """
      UNION ALL
        MATCH (c:Chunk)
        SEARCH c IN (VECTOR INDEX {index} FOR $vector {vector_scope} LIMIT $nearest) SCORE AS score
        WITH c, score ORDER BY score DESC, c.uid
        RETURN collect(c) AS hits
"""

# The nearest passages by words and by vector in one order, the first of both before the second of either. A passage
# counts by its concept's weight on both sides, squared: both must be about the concept.
_NEAR_PART: Final = """
    CALL () {{ {nearest_parts}
    }}
    UNWIND range(0, size(hits) - 1) AS place
    WITH hits[place] AS c, 1.0 / (1.5 + place) AS nearness
    WITH c, sum(nearness) AS nearness WHERE c.uid IS NOT NULL {operators}
    WITH c AS hit, nearness ORDER BY nearness DESC, hit.uid
    WITH collect(hit) AS hits
    UNWIND range(0, size(hits) - 1) AS place
    WITH hits[place] AS hit, place
    CALL (hit) {{
        MATCH (hit)-[m:MENTIONS]->(concept:Concept) WHERE m.weight > 0
        RETURN concept, m.weight AS here ORDER BY here DESC, concept.uid LIMIT $concepts
    }}
    WITH hit, place, concept, here, COUNT {{ (concept)<-[:MENTIONS]-() }} AS degree
    WHERE degree > 1 AND degree <= $common
    CALL (hit, concept) {{
        MATCH (concept)<-[m:MENTIONS]-(c:Chunk) WHERE c <> hit AND m.weight > 0 {chunk_filter}
        RETURN c, m.weight AS there ORDER BY there DESC, c.uid LIMIT $per_near
    }}
    WITH c, (here * there) ^ 2 / (1 + log(degree)) / (1 + place) AS score,
         [hit.title, {concept_name}, 'MENTIONS'] AS path, true AS near
"""

_RANKED_PART: Final = """
    ORDER BY score DESC, c.uid, path
    WITH c, near, sum(score) AS score, collect(path)[0] AS path WHERE score > 0
    RETURN c, near, score, path ORDER BY score DESC, c.uid LIMIT $k
"""

_WHOLE: Final = """
CYPHER 25
CALL () {{ {ways} }}
RETURN collect([c.uid, c.item_uid, c.chunk_index, score, path, near]) AS rows
"""


def named_part(depth: int, chunk_filter: str, scope: Scope) -> str:
    """From the concepts named, `depth` steps along RELATED_TO, to chunks that mention what was reached."""
    step_filter = f"{concept_filter(scope, 'next')} {edge_filter(scope, 'r')}"
    next_name = shown_name(scope, "next")
    hops = [
        _HOP_PART.format(previous=number - 1, number=number, step_filter=step_filter, next_name=next_name)
        for number in range(1, depth + 1)
    ]
    all_hops = " + ".join(f"hop{number}" for number in range(depth + 1))
    return (
        _SEED_PART.format(
            index=CONCEPT_FULLTEXT_INDEX,
            seed_filter=naming_filter(scope, "node"),
            seed_name=shown_name(scope, "node"),
        )
        + "".join(hops)
        + _MENTIONING_PART.format(all_hops=all_hops, chunk_filter=chunk_filter)
        + _RANKED_PART
    )


def near_part(chunk_filter: str, operators: str, scope: Scope, by_vector: bool) -> str:
    """From the nearest passages, by words and perhaps `by_vector`, by their concepts to other chunks."""
    nearest = _WORDS_PART.format(index=CHUNK_FULLTEXT_INDEX)
    if by_vector:
        nearest += _VECTOR_PART.format(index=CHUNK_VECTOR_INDEX, vector_scope=vector_filter(scope, "c")[0])
    near = _NEAR_PART.format(
        nearest_parts=nearest,
        operators=operators,
        chunk_filter=chunk_filter,
        concept_name=shown_name(scope, "concept"),
    )
    return near + _RANKED_PART


def graph_query(*ways: str) -> str:
    """The ways in one read; the last column tells the rows of the second from those of the first."""
    return _WHOLE.format(ways="\n  UNION ALL\n".join(ways))
