"""What the graph holds, library by library, and the state of its indexes."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from library.graph import schema, session
from library.services.types import Scope

# Counting reads every item of a library once: slower than a page, still bounded.
STATS_TIMEOUT: Final = 60.0

LIBRARY_STATS_QUERY: Final = """
MATCH (l:Library)
WHERE $uids IS NULL OR l.uid IN $uids
CALL (l) {
  MATCH (i:Item) WHERE i.library_uid = l.uid
  WITH coalesce(i.status, 'unknown') AS status, count(i) AS items ORDER BY status
  RETURN collect([status, items]) AS by_status
}
CALL (l) {
  MATCH (k:Chunk) WHERE k.library_uid = l.uid
  WITH k.embedding IS NULL AS bare, coalesce(k.embedding_model, '') <> $model AS differs
  RETURN count(*) AS chunks, count(CASE WHEN bare THEN 1 END) AS bare_chunks,
         count(CASE WHEN NOT bare AND differs THEN 1 END) AS stale_chunks
}
CALL (l) {
  MATCH (i:Item)-[:HAS_IMAGE]->(m:Image) WHERE i.library_uid = l.uid
  OPTIONAL MATCH (m)-[:HAS_EMBEDDING]->(e:ImageEmbedding)
  RETURN count(DISTINCT m) AS images,
         count(DISTINCT CASE WHEN coalesce(e.embedding_model, '') <> $model THEN e END) AS stale_images
}
CALL (l) {
  MATCH (c:Concept) WHERE l.uid IN c.library_uids
  RETURN count(c) AS concepts
}
RETURN l.uid AS uid, l.name AS name, l.library_type AS library_type, by_status, chunks, bare_chunks,
       stale_chunks + stale_images AS stale, images, concepts
ORDER BY name, uid
"""


@dataclass(frozen=True, slots=True)
class LibraryStats:
    """Counts of one library. `stale_vectors` were made by another model than the system's."""

    uid: str
    name: str
    library_type: str
    items: Mapping[str, int]
    chunks: int
    images: int
    concepts: int
    chunks_without_vector: int
    stale_vectors: int


@dataclass(frozen=True, slots=True)
class IndexState:
    """An index of ours as Neo4j reports it; `state` is missing where it does not exist."""

    name: str
    kind: str
    state: str
    populated_percent: float


def library_stats(scope: Scope, embedding_model: str) -> tuple[LibraryStats, ...]:
    """Counts of each library of a scope. With no embedding model ('') no vector counts as stale."""
    if scope.is_empty:
        return ()
    uids = None if scope.library_uids is None else sorted(scope.library_uids)
    # A comparison with null is null: nothing is stale where there is no model to differ from.
    parameters = {"uids": uids, "model": embedding_model or None}
    return tuple(
        LibraryStats(
            uid=row["uid"],
            name=row["name"],
            library_type=row["library_type"],
            items=dict(row["by_status"]),
            chunks=row["chunks"],
            images=row["images"],
            concepts=row["concepts"],
            chunks_without_vector=row["bare_chunks"],
            stale_vectors=row["stale"],
        )
        for row in session.read(LIBRARY_STATS_QUERY, parameters, STATS_TIMEOUT)
    )


def index_states() -> tuple[IndexState, ...]:
    """The vector and full-text indexes that search needs, by name."""
    found = schema.existing_indexes()
    kinds = dict.fromkeys(schema.VECTOR, "vector") | dict.fromkeys(schema.FULLTEXT, "fulltext")
    return tuple(
        IndexState(
            name,
            kind,
            str(found[name]["state"]).lower() if name in found else "missing",
            float(found[name]["populationPercent"] or 0.0) if name in found else 0.0,
        )
        for name, kind in sorted(kinds.items())
    )
