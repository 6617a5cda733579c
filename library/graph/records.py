"""What the ingest hands to the graph: whole items with their chunks, pictures and concepts. Pure."""

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final
from uuid import UUID, uuid5

# Namespace of every deterministic uid of the graph; changing it orphans all that was ever written.
NAMESPACE: Final = UUID("5c1f6a52-0d0e-4f55-9d61-6d6e656d6f73")
# How one concept stands to another, where a text says so; `together` is all that is known where two are merely
# mentioned side by side.
TOGETHER: Final = "together"
RELATION_TYPES: Final = ("part_of", "kind_of", "created_by", "located_in", "causes", "uses", "member_of", "related_to")
# Neo4j refuses index entries of about 8 kB; a concept is a name, not a sentence.
MAX_KEY_CHARS: Final = 200


def stable_uid(*parts: str) -> str:
    """A uid that depends on its parts only: plain hex, so that full-text analyzers keep it whole."""
    return uuid5(NAMESPACE, "\x1f".join(parts)).hex


def concept_key(name: str) -> str:
    """The identity of a concept: its name NFKC, case-folded, white space made single, at most 200 characters."""
    folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", name).casefold())
    return " ".join(folded.split())[:MAX_KEY_CHARS].rstrip()


@dataclass(frozen=True, slots=True)
class Place:
    """The scope of an item: its library, the library's type and its collection."""

    library_uid: str
    library_type: str
    collection_uid: str


@dataclass(frozen=True, slots=True)
class Relation:
    """From one concept's key to another's, of one of `RELATION_TYPES`."""

    start: str
    to: str
    type: str


@dataclass(frozen=True, slots=True)
class ConceptRecord:
    """A concept as one item knows it. `kind` is title, name or phrase, or a type that a chat model gave it."""

    key: str
    name: str
    kind: str
    aliases: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Mention:
    """A weighted link (0 to 1) to the concept of `key`. `rank` counts from 0, the strongest first."""

    key: str
    weight: float
    rank: int = 0


@dataclass(frozen=True, slots=True)
class ChunkRecord:
    """One passage. `text` is what is stored, `embedding` comes from title, section and text."""

    uid: str
    index: int
    text: str
    title: str
    section: str
    page: int | None
    storage_key: str
    embedding: Sequence[float]
    mentions: tuple[Mention, ...]


@dataclass(frozen=True, slots=True)
class ImageRecord:
    """One picture; `embedding` is None when nothing describes it. `look` is for comparing pictures without a model."""

    uid: str
    image_type: str
    description: str
    ocr_text: str
    storage_key: str
    page: int | None
    embedding: Sequence[float] | None
    depicts: tuple[Mention, ...]
    look: Sequence[float] = ()


@dataclass(frozen=True, slots=True)
class ItemRecord:
    """A whole item, written by one transaction."""

    uid: str
    title: str
    item_type: str
    source: str
    content_hash: str
    chunks: tuple[ChunkRecord, ...]
    images: tuple[ImageRecord, ...]
    references: tuple[Mention, ...]
    concepts: tuple[ConceptRecord, ...]
    status: str = "ready"
    error: str = ""
    relations: tuple[Relation, ...] = ()
