"""Constraints and indexes of the graph, made idempotently and checked against the configuration."""

import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final, Literal

from library.conf import IndexConfig
from library.exceptions import GraphError, GraphTimeout, SchemaMismatch
from library.graph import session

CHUNK_VECTOR_INDEX: Final = "chunk_embedding_index"
IMAGE_VECTOR_INDEX: Final = "image_embedding_index"
CHUNK_FULLTEXT_INDEX: Final = "chunk_text_fulltext"
CONCEPT_FULLTEXT_INDEX: Final = "concept_name_fulltext"
ITEM_FULLTEXT_INDEX: Final = "item_title_fulltext"

# Constraint name -> (label, property). Community edition has uniqueness constraints only.
UNIQUE: Final[dict[str, tuple[str, str]]] = {
    "library_uid_unique": ("Library", "uid"),
    "library_name_unique": ("Library", "name"),
    "collection_uid_unique": ("Collection", "uid"),
    "item_uid_unique": ("Item", "uid"),
    "chunk_uid_unique": ("Chunk", "uid"),
    "image_uid_unique": ("Image", "uid"),
    "image_embedding_uid_unique": ("ImageEmbedding", "uid"),
    "concept_uid_unique": ("Concept", "uid"),
    "concept_key_unique": ("Concept", "key"),
}
# Range indexes for look-ups by scope: exact scans, counts, re-ingest.
RANGE: Final[dict[str, tuple[str, str]]] = {
    "chunk_item_uid": ("Chunk", "item_uid"),
    "chunk_library_uid": ("Chunk", "library_uid"),
    "item_library_uid": ("Item", "library_uid"),
}
VECTOR: Final[dict[str, str]] = {CHUNK_VECTOR_INDEX: "Chunk", IMAGE_VECTOR_INDEX: "ImageEmbedding"}
# The scope stands beside the text, so that a scoped query is cut inside the index.
FULLTEXT: Final[dict[str, tuple[str, tuple[str, ...]]]] = {
    CHUNK_FULLTEXT_INDEX: (
        "Chunk",
        ("text", "title", "section", "library_uid", "library_type", "collection_uid"),
    ),
    CONCEPT_FULLTEXT_INDEX: (
        "Concept",
        ("name", "aliases", "library_uids", "library_types", "collection_uids"),
    ),
    ITEM_FULLTEXT_INDEX: ("Item", ("title", "library_uid", "library_type", "collection_uid")),
}

SHOW_INDEXES_QUERY: Final = """
SHOW INDEXES YIELD name, type, state, labelsOrTypes, properties, options, populationPercent, failureMessage
"""
FEATURE_PROBE_QUERY: Final = """
CYPHER 25 EXPLAIN MATCH (c:Chunk)
SEARCH c IN (VECTOR INDEX chunk_embedding_index FOR $vector WHERE c.library_uid IN $library_uids LIMIT 1)
RETURN c.uid
"""

Outcome = Literal["created", "present", "rebuilt"]


@dataclass(frozen=True, slots=True)
class SchemaStep:
    """What was done about one constraint or index."""

    name: str
    kind: str
    outcome: Outcome


def vector_ddl(name: str, label: str, dimensions: int, quantization: str) -> str:
    """The statement that makes a vector index with the scope inside it."""
    return (
        f"CYPHER 25 CREATE VECTOR INDEX {name} IF NOT EXISTS FOR (n:{label}) ON n.embedding "
        "WITH [n.library_uid, n.library_type, n.collection_uid] OPTIONS {indexConfig: {"
        f"`vector.dimensions`: {int(dimensions)}, `vector.similarity_function`: 'cosine', "
        f"`vector.quantization.type`: '{quantization}'}}}}"
    )


def fulltext_ddl(name: str, label: str, properties: tuple[str, ...], analyzer: str) -> str:
    """The statement that makes a full-text index; the analyzer's name is quoted as a string."""
    fields = ", ".join(f"n.{prop}" for prop in properties)
    quoted = analyzer.replace("\\", "\\\\").replace("'", "\\'")
    return (
        f"CREATE FULLTEXT INDEX {name} IF NOT EXISTS FOR (n:{label}) ON EACH [{fields}] "
        f"OPTIONS {{indexConfig: {{`fulltext.analyzer`: '{quoted}'}}}}"
    )


# Relations of concepts as they were made before each belonged to a library, whom they may be shown to is not known, and
# before they had types. The next ingest, which takes everything in anew after such a change, makes them again.
REMOVE_OLD_RELATIONS_QUERY: Final = """
MATCH ()-[r:RELATED_TO]->() WHERE (r.library_uid IS NULL OR r.relation_type IS NULL) AND r.count IS NOT NULL
CALL (r) { DELETE r } IN TRANSACTIONS OF 10000 ROWS
"""


def existing_indexes() -> dict[str, dict[str, Any]]:
    """What Neo4j has, by name."""
    return {row["name"]: dict(row) for row in session.read(SHOW_INDEXES_QUERY, {})}


def index_dimensions() -> dict[str, int]:
    """Dimensions of each vector index of ours that exists."""
    found = existing_indexes()
    return {name: _dimensions(found[name]) for name in VECTOR if name in found}


def _dimensions(row: dict[str, Any]) -> int:
    return int(row["options"]["indexConfig"].get("vector.dimensions", 0))


def _mismatch(name: str, row: dict[str, Any], dimensions: int, config: IndexConfig) -> str | None:
    """In words, how an existing index differs from what is wanted; None when it does not."""
    options = row["options"]["indexConfig"]
    if name in VECTOR:
        if _dimensions(row) != dimensions:
            return f"has {_dimensions(row)} dimensions, the embedding model gives {dimensions}"
        kind = str(options.get("vector.quantization.type", "NONE")).upper()
        if kind != config.quantization:
            return f"has quantization {kind}, the setting says {config.quantization}"
        return None
    if options.get("fulltext.analyzer") != config.analyzer:
        return f"has analyzer {options.get('fulltext.analyzer')}, the setting says {config.analyzer}"
    if tuple(row["properties"]) != FULLTEXT[name][1]:
        return "covers other properties than this version needs"
    return None


def setup(dimensions: int, config: IndexConfig, rebuild: bool = False) -> Iterator[SchemaStep]:
    """Create what is missing and yield a step for each constraint and index.

    Raises `SchemaMismatch` before anything is changed when an index has other dimensions (both numbers are named),
    another analyzer or other properties, unless `rebuild` is set: then it is dropped and made anew.
    """
    before = existing_indexes()
    differing = {
        name: reason
        for name in (*VECTOR, *FULLTEXT)
        if name in before and (reason := _mismatch(name, before[name], dimensions, config)) is not None
    }
    if differing and not rebuild:
        listed = "; ".join(f"{name} {reason}" for name, reason in differing.items())
        raise SchemaMismatch(f"{listed}. Run 'manage.py setup_neo4j_indexes --rebuild' to make them anew.")
    for name in differing:
        session.run_schema(f"DROP INDEX {name} IF EXISTS")
    yield from _constraints(before)
    session.run_schema(REMOVE_OLD_RELATIONS_QUERY)
    statements = {name: vector_ddl(name, label, dimensions, config.quantization) for name, label in VECTOR.items()} | {
        name: fulltext_ddl(name, *shape, config.analyzer) for name, shape in FULLTEXT.items()
    }
    for name, statement in statements.items():
        session.run_schema(statement)
        outcome: Outcome = "rebuilt" if name in differing else "present" if name in before else "created"
        yield SchemaStep(name, "vector index" if name in VECTOR else "full-text index", outcome)


def ensure(dimensions: int, config: IndexConfig) -> None:
    """Make what is missing and wait until it is online; costs one query where everything is there and fits.

    Raises `SchemaMismatch` as `setup` does, `GraphError`, `GraphTimeout`.
    """
    found = existing_indexes()
    differs = any(name in found and _mismatch(name, found[name], dimensions, config) for name in (*VECTOR, *FULLTEXT))
    missing = {*VECTOR, *FULLTEXT, *UNIQUE, *RANGE} - {name for name, row in found.items() if row["state"] == "ONLINE"}
    if differs or missing:
        for _ in setup(dimensions, config):
            pass
        for _ in wait_online():
            pass


def _constraints(before: dict[str, dict[str, Any]]) -> Iterator[SchemaStep]:
    for name, (label, prop) in UNIQUE.items():
        session.run_schema(f"CREATE CONSTRAINT {name} IF NOT EXISTS FOR (n:{label}) REQUIRE n.{prop} IS UNIQUE")
        yield SchemaStep(name, "constraint", "present" if name in before else "created")
    for name, (label, prop) in RANGE.items():
        session.run_schema(f"CREATE INDEX {name} IF NOT EXISTS FOR (n:{label}) ON (n.{prop})")
        yield SchemaStep(name, "index", "present" if name in before else "created")


def wait_online(timeout: float = 300.0) -> Iterator[float]:
    """Yield the percentage built, about twice a second, until every index of ours is online.

    Raises `GraphError` when an index failed, `GraphTimeout` after `timeout` seconds.
    """
    ours = {*VECTOR, *FULLTEXT, *UNIQUE, *RANGE}
    deadline = time.monotonic() + timeout
    while True:
        rows = [row for row in existing_indexes().values() if row["name"] in ours]
        failed = [row["name"] for row in rows if row["state"] == "FAILED"]
        if failed:
            raise GraphError(f"Neo4j could not build {', '.join(failed)}")
        if all(row["state"] == "ONLINE" for row in rows):
            yield 100.0
            return
        yield sum(row["populationPercent"] or 0.0 for row in rows) / max(1, len(rows))
        if time.monotonic() > deadline:
            raise GraphTimeout(f"The indexes were not online after {timeout:.0f} seconds")
        time.sleep(0.5)
