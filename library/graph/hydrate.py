"""What is shown of chunks, read once for those that are."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from library.graph import session
from library.services.types import FacetCount, Facets

HYDRATE_QUERY: Final = """
CYPHER 25
UNWIND $uids AS uid
MATCH (c:Chunk {uid: uid})<-[:HAS_CHUNK]-(i:Item)
OPTIONAL MATCH (l:Library {uid: c.library_uid})
RETURN collect([
    c.uid, i.uid, i.title, coalesce(i.source, ''), c.library_uid, coalesce(l.name, ''), coalesce(c.library_type, ''),
    coalesce(c.collection_uid, ''), c.text, coalesce(c.text_preview, ''), coalesce(c.chunk_s3_key, ''), c.chunk_index,
    c.page, coalesce(c.section, ''), coalesce(l.reranker_instruction, ''),
    CASE WHEN COUNT { (i)-[:HAS_IMAGE]->() } = 0 THEN [] ELSE
        COLLECT { MATCH (i)-[:HAS_IMAGE]->(p:Image) WHERE p.page = c.page OR c.page IS NULL
                  RETURN p.uid ORDER BY p.page, p.uid LIMIT 3 } END
]) AS rows
"""
INSTRUCTION_QUERY: Final = """
MATCH (l:Library {uid: $uid}) RETURN l.library_type AS library_type, l.embedding_instruction AS instruction
"""

NEIGHBOURS_QUERY: Final = """
CYPHER 25
UNWIND $uids AS uid
MATCH (c:Chunk {uid: uid})<-[:HAS_CHUNK]-(:Item)-[:HAS_CHUNK]->(n:Chunk)
WHERE n <> c AND abs(n.chunk_index - c.chunk_index) <= $reach
RETURN uid, n.chunk_index AS chunk_index, n.text AS text ORDER BY uid, chunk_index
"""
FACETS_QUERY: Final = """
CYPHER 25
UNWIND $uids AS uid
MATCH (c:Chunk {uid: uid})
OPTIONAL MATCH (l:Library {uid: c.library_uid})
OPTIONAL MATCH (k:Collection {uid: c.collection_uid})
RETURN c.library_uid AS library_uid, l.name AS library_name, c.library_type AS library_type,
       c.collection_uid AS collection_uid, k.name AS collection_name, count(*) AS count
"""


@dataclass(frozen=True, slots=True)
class ChunkRecord:
    """One chunk with its item and library; the fields stand in the order of HYDRATE_QUERY."""

    uid: str
    item_uid: str
    item_title: str
    item_source: str
    library_uid: str
    library_name: str
    library_type: str
    collection_uid: str
    text: str
    text_preview: str
    chunk_s3_key: str
    chunk_index: int
    page: int | None
    section: str
    reranker_instruction: str
    nearby_images: Sequence[str]


def chunk_records(uids: Sequence[str], timeout: float) -> dict[str, ChunkRecord]:
    """Records by uid; a chunk removed since it was found is missing. Raises as `session.read` does."""
    if not uids:
        return {}
    rows = session.read_listed(HYDRATE_QUERY, {"uids": list(uids)}, timeout)
    return {row[0]: ChunkRecord(*row) for row in rows}


def library_instruction(library_uid: str, timeout: float) -> tuple[str, str] | None:
    """A library's type and its own embedding instruction ('' without one); None where there is no such library."""
    rows = session.read(INSTRUCTION_QUERY, {"uid": library_uid}, timeout)
    return (rows[0]["library_type"], rows[0]["instruction"] or "") if rows else None


def neighbours(uids: Sequence[str], reach: int, timeout: float) -> dict[str, list[dict[str, Any]]]:
    """By chunk, the `chunk_index` and `text` of those up to `reach` before and after it in its item, in order."""
    found: dict[str, list[dict[str, Any]]] = {}
    for row in session.read(NEIGHBOURS_QUERY, {"uids": list(uids), "reach": reach}, timeout):
        found.setdefault(row["uid"], []).append({"chunk_index": row["chunk_index"], "text": row["text"]})
    return found


def facet_counts(uids: Sequence[str], timeout: float) -> Facets:
    """How many of the chunks lie in each library, type and collection."""
    rows = session.read(FACETS_QUERY, {"uids": list(uids)}, timeout) if uids else []
    return Facets(
        libraries=_counted([(row["library_uid"], row["library_name"], row["count"]) for row in rows]),
        library_types=_counted([(row["library_type"], row["library_type"], row["count"]) for row in rows]),
        collections=_counted([(row["collection_uid"], row["collection_name"], row["count"]) for row in rows]),
    )


def _counted(rows: Sequence[tuple[str, str | None, int]]) -> tuple[FacetCount, ...]:
    counts: Counter[str] = Counter()
    labels: dict[str, str] = {}
    for value, label, count in rows:
        counts[value] += count
        labels[value] = label or value
    ordered = sorted(counts.items(), key=lambda pair: (-pair[1], labels[pair[0]], pair[0]))
    return tuple(FacetCount(value, labels[value], count) for value, count in ordered)
