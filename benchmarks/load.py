"""Writes a corpus into Neo4j with the product's own schema, and reads what is there.

The product is imported inside the functions: Django is set up by `services.prepare`, after this module is read.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from functools import partial
from itertools import islice
from typing import Any, Final

import numpy as np
from neo4j import ManagedTransaction

from benchmarks import corpus
from benchmarks.corpus import ChunkRow, Vectors, hex_uid
from benchmarks.data import Dataset
from benchmarks.services import Bench

BATCH: Final = 1_000
KEYPHRASE_DOCUMENTS: Final = 600

WIPE_QUERY: Final = "MATCH (n) CALL (n) { DETACH DELETE n } IN TRANSACTIONS OF 5000 ROWS"
LIBRARY_QUERY: Final = """
UNWIND $rows AS row
MERGE (l:Library {uid: row.uid}) SET l.name = row.name, l.library_type = 'technical', l.visibility = 'everyone'
MERGE (k:Collection {uid: row.collection}) SET k.name = 'general'
MERGE (l)-[:CONTAINS]->(k)
"""
CONCEPT_QUERY: Final = """
UNWIND $rows AS row
MERGE (k:Concept {key: row.name})
SET k.uid = row.uid, k.name = row.name, k.aliases = [], k.library_uids = $libraries, k.library_types = ['technical'],
    k.collection_uids = $collections
"""
CHUNK_QUERY: Final = """
UNWIND $rows AS row
MATCH (k:Collection {uid: row.collection})
CREATE (k)-[:CONTAINS]->(i:Item {uid: row.item, title: row.title, item_type: 'text', source: row.item, status: 'ready',
    library_uid: row.library, library_type: 'technical', collection_uid: row.collection})
CREATE (i)-[:HAS_CHUNK]->(c:Chunk {uid: row.uid, chunk_index: 0, text: row.text, text_preview: left(row.text, 500),
    title: row.title, section: '', chunk_s3_key: '', item_uid: row.item, embedding_model: $model,
    library_uid: row.library, library_type: 'technical', collection_uid: row.collection})
WITH c, row CALL db.create.setNodeVectorProperty(c, 'embedding', row.vector)
WITH c, row UNWIND row.mentions AS mention
MATCH (k:Concept {key: mention.name}) CREATE (c)-[:MENTIONS {weight: mention.weight}]->(k)
"""
RELATED_QUERY: Final = """
UNWIND $rows AS row
MATCH (a:Concept {key: row.one}) MATCH (b:Concept {key: row.other})
MERGE (a)-[r:RELATED_TO]->(b) SET r.weight = row.weight
"""


def phrases_of(bench: Bench, data: Dataset) -> frozenset[str]:
    """Key phrases of the first documents: the names of the concepts. Made once and kept."""
    from library.ingest.keyphrases import keyphrases

    kept = bench.state / f"phrases-{data.folder.name}.json"
    if not kept.exists():
        bench.progress.say("Finding the concepts' names")
        texts = [document["text"] for document in data.documents[:KEYPHRASE_DOCUMENTS]]
        found = sorted({name.casefold() for text in texts for name, _ in keyphrases(text, "en")})
        kept.write_text(json.dumps(found), encoding="utf-8")
    return frozenset(json.loads(kept.read_text(encoding="utf-8")))


def chunk_count() -> int:
    """Chunks in the graph."""
    from library.graph import session

    return int(session.read("MATCH (c:Chunk) RETURN count(c) AS n", {})[0]["n"])


def prepare(bench: Bench) -> None:
    """An empty graph with the product's indexes."""
    from library.conf import index_config
    from library.graph import schema, session

    session.run_schema(WIPE_QUERY)
    list(schema.setup(bench.models.dimensions, index_config(), rebuild=True))
    for _ in schema.wait_online(600.0):
        pass


def stored() -> tuple[list[str], Vectors, list[str]]:
    """Uids, vectors of length 1 and libraries of all chunks of the graph."""
    from library.graph import session

    rows = session.read(
        "MATCH (c:Chunk) RETURN c.uid AS uid, c.embedding AS vector, c.library_uid AS library ORDER BY uid", {}
    )
    vectors = np.array([row["vector"] for row in rows], dtype=np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    return [row["uid"] for row in rows], vectors, [row["library"] for row in rows]


def load(bench: Bench, rows: Sequence[ChunkRow], vectors: Vectors) -> None:
    """Write a corpus and wait for its indexes; nothing to do where it is there already."""
    from library.graph import schema

    done = bench.state / f"loaded-{_digest(rows, vectors)}"
    if done.exists() and chunk_count() == len(rows):
        return
    done.unlink(missing_ok=True)
    prepare(bench)
    _write_all(bench, rows, vectors)
    for _ in schema.wait_online(1_800.0):
        pass
    done.touch()


def library_uid(number: int) -> str:
    """The uid of a library, 0 to 10."""
    return hex_uid(f"library {number}")


def _collection_uid(number: int) -> str:
    return hex_uid(f"collection {number}")


def _digest(rows: Sequence[ChunkRow], vectors: Vectors) -> str:
    said = f"{rows[0].uid} {len(rows)} {rows[-1].text} {vectors.sum():.6f} {corpus.MENTIONS}"
    return hashlib.sha256(said.encode()).hexdigest()[:24]


def _write_all(bench: Bench, rows: Sequence[ChunkRow], vectors: Vectors) -> None:
    numbers = range(corpus.LIBRARIES + 1)
    libraries, collections = [library_uid(n) for n in numbers], [_collection_uid(n) for n in numbers]
    named = [{"uid": library_uid(n), "name": f"library {n}", "collection": _collection_uid(n)} for n in numbers]
    _write(LIBRARY_QUERY, named)
    names = sorted({name for row in rows for name in row.concepts})
    concepts = [{"uid": hex_uid(f"concept {name}"), "name": name} for name in names]
    _write(CONCEPT_QUERY, concepts, libraries=libraries, collections=collections)
    _write(RELATED_QUERY, [{"one": a, "other": b, "weight": weight} for a, b, weight in corpus.related(rows)])
    numbered = iter(range(len(rows)))
    with bench.progress.counting("Writing chunks", len(rows), "chunk") as bar:
        while part := list(islice(numbered, BATCH)):
            _write(CHUNK_QUERY, [_as_row(rows[n], vectors[n]) for n in part], model=bench.models.embedding_model)
            bar.update(len(part))


def _as_row(row: ChunkRow, vector: Vectors) -> dict[str, Any]:
    mentions = [{"name": name, "weight": 1.0 / (1 + place)} for place, name in enumerate(row.concepts)]
    return {
        "uid": row.uid,
        "item": hex_uid(f"item of {row.uid}"),
        "title": row.title,
        "text": row.text,
        "library": library_uid(row.library),
        "collection": _collection_uid(row.library),
        "vector": vector.tolist(),
        "mentions": mentions,
    }


def _write(query: str, rows: Sequence[Mapping[str, Any]], **parameters: Any) -> None:
    from library.graph import session

    for start in range(0, len(rows), BATCH):
        part = {"rows": rows[start : start + BATCH], **parameters}
        session.write(partial(_consume, query, part))


def _consume(query: str, parameters: Mapping[str, Any], tx: ManagedTransaction) -> None:
    tx.run(query, dict(parameters)).consume()
