"""Chunks by concepts: those the query names and what they relate to, and those of the passages nearest to the query."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final

from library.graph import session
from library.graph.scope import naming_parameters, node_filter
from library.services.query_language import to_lucene
from library.services.retrievers.base import RetrievalQuery, normalised_candidates
from library.services.retrievers.graph_query import (
    BOUNDS,
    COMMON_DEGREE,
    DECAY,
    HUB_DEGREE,
    graph_query,
    named_part,
    near_part,
)
from library.services.retrievers.lucene import (
    CHUNK_BOOSTS,
    CONCEPT_BOOSTS,
    LISTED_SCOPE,
    scoped_queries,
    text_clause,
)
from library.services.retrievers.operators import operator_filter
from library.services.types import Scope, SearchCandidate

# Concepts named by the query's words are weaker evidence than those of the passages nearest to it.
NAMED_SHARE: Final = 0.5


class GraphRetriever:
    """Chunks by concepts. A score is 0 to 1 in each of the two ways; `graph_path` tells how a chunk was reached."""

    def retrieve(self, query: RetrievalQuery, scope: Scope, timeout: float) -> list[SearchCandidate]:
        """The `graph_top_k` chunks of the scope that are nearest by concepts.

        The nearest passages are followed as long as `graph_max_depth` allows a step and `graph_seed_hits` is not 0; by
        words alone where the query has no vector.
        """
        if scope.is_empty or not query.text.is_searchable:
            return []
        chunk_filter, parameters = node_filter(scope, "c")
        operators, operator_parameters = operator_filter(query.parsed)
        ways = [named_part(query.graph_max_depth, f"{chunk_filter} {operators}", scope)]
        if query.graph_max_depth and query.graph_seed_hits:
            ways.append(near_part(f"{chunk_filter} {operators}", operators, scope, query.vector is not None))
        rows = session.read_listed(
            graph_query(*ways),
            {
                "concept_queries": scoped_queries(text_clause(query.text.words, CONCEPT_BOOSTS), scope, LISTED_SCOPE),
                "chunk_queries": scoped_queries(
                    to_lucene(query.parsed, CHUNK_BOOSTS, max_words=len(query.text.words)), scope
                ),
                "vector": session.native_vector(query.vector),
                "nearest": query.graph_seed_hits,
                **BOUNDS,
                **naming_parameters(scope, query.text.words, BOUNDS["seeds"], "seeds_reach"),
                "hub": HUB_DEGREE,
                "common": COMMON_DEGREE,
                "decay": DECAY,
                "k": query.graph_top_k,
                **parameters,
                **operator_parameters,
            },
            timeout,
        )
        return _merged(rows)[: query.graph_top_k]


def _merged(rows: Sequence[Sequence[Any]]) -> list[SearchCandidate]:
    """Both ways in one list; a chunk of both keeps the better score, and the way from a word of the query.

    Scores of each way are divided by its highest, those of the named concepts count `NAMED_SHARE`.
    """
    named = normalised_candidates([row[:5] for row in rows if not row[5]], "graph")
    best = {hit.chunk_uid: hit for hit in normalised_candidates([row[:5] for row in rows if row[5]], "graph")}
    for hit in named:
        score, near = NAMED_SHARE * hit.score, best.get(hit.chunk_uid)
        best[hit.chunk_uid] = replace(hit, score=score if near is None else max(score, near.score))
    return sorted(best.values(), key=lambda hit: (-hit.score, hit.chunk_uid))
