"""Small graphs for tests, written straight into Neo4j: what is searched is real, how it got there is not the point."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from uuid import NAMESPACE_URL, uuid5

from library.graph import session

LIBRARY_QUERY = """
MERGE (l:Library {uid: $uid}) SET l.name = $name, l.library_type = $library_type, l.visibility = 'everyone'
MERGE (k:Collection {uid: $collection_uid}) SET k.name = $collection
MERGE (l)-[:CONTAINS]->(k)
"""
ITEM_QUERY = """
MATCH (k:Collection {uid: $collection_uid})
CREATE (k)-[:CONTAINS]->(i:Item {uid: $uid, title: $title, item_type: 'text', source: $source, status: 'ready',
    library_uid: $library_uid, library_type: $library_type, collection_uid: $collection_uid})
WITH i UNWIND $chunks AS row
CREATE (i)-[:HAS_CHUNK]->(c:Chunk {uid: row.uid, chunk_index: row.index, text: row.text, text_preview: row.text,
    title: $title, section: '', chunk_s3_key: '', item_uid: $uid, embedding_model: 'test', page: row.page,
    library_uid: $library_uid, library_type: $library_type, collection_uid: $collection_uid})
WITH c, row WHERE row.vector IS NOT NULL
CALL db.create.setNodeVectorProperty(c, 'embedding', row.vector)
"""
CONCEPT_QUERY = """
MERGE (k:Concept {key: toLower($name)})
  ON CREATE SET k.uid = $uid, k.name = $name, k.aliases = $aliases, k.library_uids = [], k.library_types = [],
                k.collection_uids = []
SET k.library_uids = [x IN k.library_uids WHERE x <> $library_uid] + $library_uid,
    k.library_types = [x IN k.library_types WHERE x <> $library_type] + $library_type,
    k.collection_uids = [x IN k.collection_uids WHERE x <> $collection_uid] + $collection_uid
"""
MENTION_QUERY = """
MATCH (c:Chunk {uid: $uid}) MATCH (k:Concept {key: toLower($name)}) MERGE (c)-[m:MENTIONS]->(k) SET m.weight = $weight
"""
RELATE_QUERY = """
MATCH (a:Concept {key: toLower($one)}) MATCH (b:Concept {key: toLower($other)})
MERGE (a)-[r:RELATED_TO]->(b) SET r.weight = $weight
"""
IMAGE_QUERY = """
MATCH (i:Item {uid: $item_uid})
CREATE (i)-[:HAS_IMAGE]->(p:Image {uid: $uid, image_type: 'picture', description: $description, ocr_text: '',
    s3_key: $uid + '.png', page: null})
WITH p, i WHERE $vector IS NOT NULL
CREATE (p)-[:HAS_EMBEDDING]->(e:ImageEmbedding {uid: $uid + 'e', embedding_model: 'test',
    library_uid: i.library_uid, library_type: i.library_type, collection_uid: i.collection_uid})
WITH e CALL db.create.setNodeVectorProperty(e, 'embedding', $vector)
"""
DEPICT_QUERY = """
MATCH (p:Image {uid: $uid}) MATCH (k:Concept {key: toLower($name)}) MERGE (p)-[d:DEPICTS]->(k) SET d.weight = $weight
"""


def hex_uid(name: str) -> str:
    """A uid that is the same in every run."""
    return uuid5(NAMESPACE_URL, name).hex


def unit(*numbers: float, dimensions: int = 384) -> list[float]:
    """A vector of length 1 that starts with `numbers`."""
    length = sum(number * number for number in numbers) ** 0.5
    return [number / length for number in numbers] + [0.0] * (dimensions - len(numbers))


def write(query: str, **parameters: Any) -> None:
    """Run one statement in a write transaction."""
    session.write(lambda tx: tx.run(query, parameters).consume())


@dataclass(frozen=True)
class Place:
    """A collection of a library, made at construction."""

    library: str
    library_type: str = "technical"
    collection: str = "general"
    scope: Mapping[str, str] = field(init=False)

    def __post_init__(self) -> None:
        scope = {
            "library_uid": hex_uid(self.library),
            "library_type": self.library_type,
            "collection_uid": hex_uid(f"{self.library}/{self.collection}"),
        }
        object.__setattr__(self, "scope", scope)
        write(
            LIBRARY_QUERY,
            uid=scope["library_uid"],
            name=self.library,
            library_type=self.library_type,
            collection_uid=scope["collection_uid"],
            collection=self.collection,
        )

    @property
    def library_uid(self) -> str:
        """The uid of the library."""
        return self.scope["library_uid"]

    @property
    def collection_uid(self) -> str:
        """The uid of the collection."""
        return self.scope["collection_uid"]

    def item(self, title: str, texts: Sequence[str] = (), vectors: Sequence[Sequence[float] | None] = ()) -> str:
        """An item with one chunk a text; returns its uid. A chunk's uid is `chunk_uid(item uid, index)`."""
        uid = hex_uid(f"{self.library}/{self.collection}/{title}")
        vectors = vectors or [None] * len(texts)
        chunks = [
            {"uid": chunk_uid(uid, index), "index": index, "text": text, "vector": vector, "page": None}
            for index, (text, vector) in enumerate(zip(texts, vectors, strict=True))
        ]
        write(ITEM_QUERY, uid=uid, title=title, source=title, chunks=chunks, **self.scope)
        return uid

    def concept(self, name: str, chunks: Mapping[str, float] | None = None, aliases: Sequence[str] = ()) -> None:
        """A concept of this place, mentioned by chunks with weights."""
        write(CONCEPT_QUERY, uid=hex_uid(f"concept {name}"), name=name, aliases=list(aliases), **self.scope)
        for uid, weight in (chunks or {}).items():
            write(MENTION_QUERY, uid=uid, name=name, weight=weight)

    def image(
        self, item_uid: str, name: str, vector: Sequence[float] | None = None, depicts: Sequence[str] = ()
    ) -> str:
        """A picture of an item; returns its uid."""
        uid = hex_uid(f"image {name}")
        write(IMAGE_QUERY, uid=uid, item_uid=item_uid, description=name, vector=vector)
        for concept in depicts:
            write(DEPICT_QUERY, uid=uid, name=concept, weight=1.0)
        return uid


def chunk_uid(item_uid: str, index: int = 0) -> str:
    """The uid of a chunk that `Place.item` made."""
    return hex_uid(f"{item_uid}#{index}")


def relate(one: str, other: str, weight: float = 1.0) -> None:
    """Connect two concepts by RELATED_TO."""
    write(RELATE_QUERY, one=one, other=other, weight=weight)


def settle() -> None:
    """Wait until the full-text indexes have taken in what was written."""
    session.run_schema("CALL db.index.fulltext.awaitEventuallyConsistentIndexRefresh()")
