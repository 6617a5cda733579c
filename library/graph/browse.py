"""Reads for the concept pages and the filters: libraries, concepts, one concept, one picture.

What a concept is counted and shown with lies in the caller's scope; a concept that only hidden libraries mention
does not exist for the caller. Work is bounded: no read looks at more than `EDGE_CAP` edges of one node.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from library.graph import session
from library.graph.concept_scope import SEPARATOR, seen_as
from library.graph.records import TOGETHER, concept_key
from library.services.types import Scope

# A count is exact up to this many edges of a concept and a lower bound above.
EDGE_CAP: Final = 10_000
READ_TIMEOUT: Final = 5.0
SHOWN_PASSAGES: Final = 20
SHOWN_ITEMS: Final = 20
SHOWN_IMAGES: Final = 12
SHOWN_RELATED: Final = 30

CONCEPT_VISIBLE: Final = (
    "($uids IS NULL OR any(u IN c.library_uids WHERE u IN $uids))"
    " AND ($collection IS NULL OR $collection IN c.collection_uids)"
)
# What a library makes of two concepts; relations of graphs older than this have no library.
EDGE_VISIBLE: Final = "($uids IS NULL OR r.library_uid IS NULL OR r.library_uid IN $uids)"
NODE_VISIBLE: Final = (
    "($uids IS NULL OR n.library_uid IN $uids) AND ($collection IS NULL OR n.collection_uid = $collection)"
)

LIBRARY_NAMES_QUERY: Final = "MATCH (l:Library) RETURN collect([l.uid, l.name]) AS rows"
VISIBLE_LIBRARIES_QUERY: Final = """
MATCH (l:Library)
WHERE ($uids IS NULL OR l.uid IN $uids) AND ($library_type IS NULL OR l.library_type = $library_type)
  AND ($collection IS NULL OR EXISTS { (l)-[:CONTAINS]->(:Collection {uid: $collection}) })
RETURN l.uid AS uid
ORDER BY uid
"""
LIBRARIES_QUERY: Final = """
MATCH (l:Library)
WHERE ($uids IS NULL OR l.uid IN $uids) AND ($library_type IS NULL OR l.library_type = $library_type)
CALL (l) {
  OPTIONAL MATCH (l)-[:CONTAINS]->(k:Collection)
  WITH k ORDER BY k.name, k.uid
  RETURN collect(k {.uid, .name}) AS collections
}
RETURN l.uid AS uid, l.name AS name, l.library_type AS library_type, collections
ORDER BY name, uid
"""
_COUNTS: Final = f"""
COUNT {{ MATCH (c)<-[:MENTIONS]-(n:Chunk) WITH n LIMIT $cap WHERE {NODE_VISIBLE} }} AS chunk_count,
COUNT {{ MATCH (c)<-[:REFERENCES]-(n:Item) WITH n LIMIT $cap WHERE {NODE_VISIBLE} }} AS item_count,
COUNT {{ MATCH (c)<-[:DEPICTS]-(:Image)<-[:HAS_IMAGE]-(n:Item) WITH n LIMIT $cap WHERE {NODE_VISIBLE} }}
  AS image_count
"""
_CONCEPT_MATCH: Final = f"""
MATCH (c:Concept)
WHERE {CONCEPT_VISIBLE} AND (c.key CONTAINS $text OR CASE
  WHEN $uids IS NULL OR c.namings IS NULL THEN any(a IN c.aliases WHERE toLower(a) CONTAINS $text)
  ELSE any(n IN c.namings WHERE split(n, $separator)[0] IN $uids
           AND any(a IN split(n, $separator)[2..] WHERE toLower(a) CONTAINS $text)) END)
"""
CONCEPTS_QUERY: Final = f"""
{_CONCEPT_MATCH}
WITH c ORDER BY c.key, c.uid SKIP $offset LIMIT $limit
RETURN c.key AS key, c.uid AS uid, c.name AS name, c.concept_type AS concept_type, c.aliases AS aliases,
  c.namings AS namings, {_COUNTS}
ORDER BY key, uid
"""
CONCEPT_TOTAL_QUERY: Final = f"{_CONCEPT_MATCH} RETURN count(c) AS total"
CONCEPT_QUERY: Final = f"""
MATCH (c:Concept {{uid: $uid}})
WHERE {CONCEPT_VISIBLE}
RETURN c.uid AS uid, c.name AS name, c.concept_type AS concept_type, c.aliases AS aliases, c.namings AS namings,
  {_COUNTS}
ORDER BY uid
"""
CONCEPT_PASSAGES_QUERY: Final = f"""
MATCH (:Concept {{uid: $uid}})<-[r:MENTIONS]-(n:Chunk)
WITH r, n LIMIT $cap WHERE {NODE_VISIBLE}
WITH n, max(coalesce(r.weight, 1.0)) AS weight ORDER BY weight DESC, n.uid LIMIT $limit
MATCH (n)<-[:HAS_CHUNK]-(i:Item)
RETURN n.uid AS uid, i.uid AS item_uid, i.title AS item_title, n.section AS section, n.page AS page,
       n.text_preview AS text_preview, weight
ORDER BY weight DESC, uid
"""
CONCEPT_ITEMS_QUERY: Final = f"""
MATCH (:Concept {{uid: $uid}})<-[r:REFERENCES]-(n:Item)
WITH r, n LIMIT $cap WHERE {NODE_VISIBLE}
WITH n, max(coalesce(r.weight, 1.0)) AS weight
RETURN n.uid AS uid, n.title AS title, n.library_type AS library_type, weight
ORDER BY weight DESC, uid LIMIT $limit
"""
CONCEPT_IMAGES_QUERY: Final = f"""
MATCH (:Concept {{uid: $uid}})<-[:DEPICTS]-(m:Image)<-[:HAS_IMAGE]-(n:Item)
WITH m, n LIMIT $cap WHERE {NODE_VISIBLE}
RETURN DISTINCT m.uid AS uid, m.description AS description, n.title AS item_title
ORDER BY uid LIMIT $limit
"""
CONCEPT_RELATED_QUERY: Final = f"""
MATCH (:Concept {{uid: $uid}})-[r:RELATED_TO]-(c:Concept)
WITH r, c LIMIT $cap WHERE c.uid <> $uid AND {EDGE_VISIBLE} AND {CONCEPT_VISIBLE}
WITH c, max(coalesce(r.weight, 1.0)) AS weight,
     collect(DISTINCT CASE WHEN r.relation_type <> $together
       THEN [r.relation_type, startNode(r).uid = $uid] END) AS relations
RETURN c.uid AS uid, c.name AS name, c.concept_type AS concept_type, c.aliases AS aliases, c.namings AS namings, weight,
       relations
ORDER BY weight DESC, uid LIMIT $limit
"""
IMAGE_KEY_QUERY: Final = f"""
MATCH (m:Image {{uid: $uid}})<-[:HAS_IMAGE]-(n:Item)
WHERE {NODE_VISIBLE}
RETURN m.uid AS uid, m.s3_key AS s3_key
ORDER BY uid
"""


@dataclass(frozen=True, slots=True)
class CollectionEntry:
    """A collection, for a filter."""

    uid: str
    name: str


@dataclass(frozen=True, slots=True)
class LibraryEntry:
    """A library and its collections, for a filter."""

    uid: str
    name: str
    library_type: str
    collections: tuple[CollectionEntry, ...] = ()


@dataclass(frozen=True, slots=True)
class ConceptEntry:
    """A concept with what in the caller's scope is about it; counts are lower bounds above `EDGE_CAP`."""

    uid: str
    name: str
    concept_type: str
    aliases: tuple[str, ...]
    chunk_count: int
    item_count: int
    image_count: int


@dataclass(frozen=True, slots=True)
class ConceptList:
    """One page of concepts, in the order of their names, and how many there are in all."""

    entries: tuple[ConceptEntry, ...]
    total: int


@dataclass(frozen=True, slots=True)
class Passage:
    """A chunk that mentions a concept."""

    uid: str
    item_uid: str
    item_title: str
    section: str | None
    page: int | None
    text_preview: str
    weight: float


@dataclass(frozen=True, slots=True)
class ItemEntry:
    """An item that refers to a concept."""

    uid: str
    title: str
    library_type: str
    weight: float


@dataclass(frozen=True, slots=True)
class ImageEntry:
    """A picture that shows a concept."""

    uid: str
    description: str
    item_title: str


@dataclass(frozen=True, slots=True)
class RelatedConcept:
    """A concept that occurs together with another. `relations` say how, in words, where a text says so."""

    uid: str
    name: str
    weight: float
    relations: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ConceptDetail:
    """A concept and the best of what is about it."""

    concept: ConceptEntry
    passages: tuple[Passage, ...]
    items: tuple[ItemEntry, ...]
    images: tuple[ImageEntry, ...]
    related: tuple[RelatedConcept, ...]


def visible_parameters(scope: Scope) -> dict[str, Any] | None:
    """The parameters of a scoped read; None when nothing can be seen, and no query is to be run.

    A type or a collection is turned into the libraries it means: the lists on a concept cannot be paired, so "in
    library A" and "of type T" may each be true of it through different libraries.
    """
    if scope.is_empty:
        return None
    uids = None if scope.library_uids is None else sorted(scope.library_uids)
    parameters = {"uids": uids, "collection": scope.collection_uid}
    if scope.library_type is None and scope.collection_uid is None:
        return parameters
    asked = {**parameters, "library_type": scope.library_type}
    rows = session.read(VISIBLE_LIBRARIES_QUERY, asked, READ_TIMEOUT)
    return {**parameters, "uids": [row["uid"] for row in rows]} if rows else None


def library_names() -> dict[str, str]:
    """The names of all libraries of the graph, by uid: for the operator, and for working out what may be seen."""
    return {uid: name or "" for uid, name in session.read_listed(LIBRARY_NAMES_QUERY, {}, READ_TIMEOUT)}


def libraries(scope: Scope) -> tuple[LibraryEntry, ...]:
    """The libraries of a scope by name, with their collections."""
    if scope.is_empty:
        return ()
    uids = None if scope.library_uids is None else sorted(scope.library_uids)
    rows = session.read(LIBRARIES_QUERY, {"uids": uids, "library_type": scope.library_type}, READ_TIMEOUT)
    return tuple(
        LibraryEntry(
            row["uid"],
            row["name"],
            row["library_type"],
            tuple(CollectionEntry(found["uid"], found["name"]) for found in row["collections"]),
        )
        for row in rows
    )


def concepts(scope: Scope, text: str, offset: int, limit: int) -> ConceptList:
    """The concepts of a scope whose name or alias contains `text`, by name."""
    visible = visible_parameters(scope)
    if visible is None:
        return ConceptList((), 0)
    parameters = {**visible, "text": concept_key(text), "offset": offset, "limit": limit, "cap": EDGE_CAP}
    parameters["separator"] = SEPARATOR
    rows = session.read(CONCEPTS_QUERY, parameters, READ_TIMEOUT)
    total = session.read(CONCEPT_TOTAL_QUERY, parameters, READ_TIMEOUT)[0]["total"]
    return ConceptList(tuple(_concept_entry(row, visible["uids"]) for row in rows), int(total))


def concept(scope: Scope, uid: str) -> ConceptEntry | None:
    """One concept with its counts, or None where the caller's scope has none of that uid."""
    visible = visible_parameters(scope)
    if visible is None:
        return None
    rows = session.read(CONCEPT_QUERY, {**visible, "uid": uid, "cap": EDGE_CAP}, READ_TIMEOUT)
    return _concept_entry(rows[0], visible["uids"]) if rows else None


def concept_detail(scope: Scope, uid: str) -> ConceptDetail | None:
    """One concept with passages, items, pictures and related concepts, or None as `concept` does."""
    visible = visible_parameters(scope)
    entry = concept(scope, uid)
    if visible is None or entry is None:
        return None

    def rows(query: str, limit: int) -> list[dict[str, Any]]:
        parameters = {**visible, "uid": uid, "limit": limit, "cap": EDGE_CAP, "together": TOGETHER}
        return [dict(row) for row in session.read(query, parameters, READ_TIMEOUT)]

    return ConceptDetail(
        entry,
        tuple(_passage(row) for row in rows(CONCEPT_PASSAGES_QUERY, SHOWN_PASSAGES)),
        tuple(ItemEntry(**row) for row in rows(CONCEPT_ITEMS_QUERY, SHOWN_ITEMS)),
        tuple(_image(row) for row in rows(CONCEPT_IMAGES_QUERY, SHOWN_IMAGES)),
        tuple(
            RelatedConcept(row["uid"], seen_as(row, visible["uids"])[0], row["weight"], _relations(row["relations"]))
            for row in rows(CONCEPT_RELATED_QUERY, SHOWN_RELATED)
        ),
    )


def image_key(scope: Scope, uid: str) -> str | None:
    """Where the bytes of a picture are stored, or None where the caller's scope has no such picture."""
    visible = visible_parameters(scope)
    if visible is None:
        return None
    rows = session.read(IMAGE_KEY_QUERY, {**visible, "uid": uid}, READ_TIMEOUT)
    return rows[0]["s3_key"] if rows else None


def _concept_entry(row: Mapping[str, Any], uids: list[str] | None) -> ConceptEntry:
    name, kind, aliases = seen_as(row, uids)
    return ConceptEntry(
        uid=row["uid"],
        name=name,
        concept_type=kind,
        aliases=aliases,
        chunk_count=row["chunk_count"],
        item_count=row["item_count"],
        image_count=row["image_count"],
    )


def _relations(found: list[tuple[str, bool]]) -> tuple[str, ...]:
    """'part of' where the concept shown is part of the other, 'part of this' where it is the other way round."""
    words = (f"{kind.replace('_', ' ')}{'' if outwards else ' this'}" for kind, outwards in found)
    return tuple(sorted(words))


def _passage(row: dict[str, Any]) -> Passage:
    return Passage(**{**row, "text_preview": row["text_preview"] or ""})


def _image(row: dict[str, Any]) -> ImageEntry:
    return ImageEntry(row["uid"], row["description"] or "", row["item_title"])
