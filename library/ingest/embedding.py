"""Vectors for many items at once, and which single items the model refuses."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from library.exceptions import ModelError, ModelUnavailable
from library.ingest.concepts import ChatConcepts
from library.ingest.prepare import Prepared, Vector


class Embedder(Protocol):
    """What ingest needs of an embedding client. `max_batch` texts go out in one call."""

    name: str
    dimensions: int
    max_tokens: int
    tokenizer_path: str
    max_batch: int
    takes_pictures: bool

    def embed_pictures(self, pictures: Sequence[bytes]) -> list[list[float]]:
        """One vector a picture (PNG), in order; raises `ModelError`."""
        ...

    def embed_passages(self, texts: Sequence[str]) -> list[list[float]]:
        """One vector a text, in order; raises `ModelError`."""
        ...


@dataclass(frozen=True, slots=True)
class Embedded:
    """Vectors by text or picture, and the reason for each item (by uid) that has none. `down` when the service is."""

    vectors: dict[str | bytes, Vector]
    failed: dict[str, str]
    down: bool = False
    # By uid, where a chat model was asked.
    concepts: Mapping[str, ChatConcepts] = field(default_factory=dict)


def embed_items(embedder: Embedder, items: Sequence[Prepared]) -> Embedded:
    """Embed the texts of all items together; when the model refuses, item by item, so that one costs itself only."""
    try:
        return Embedded(_embed(embedder, items), {})
    except ModelUnavailable as error:
        return Embedded({}, dict.fromkeys((item.uid for item in items), str(error)), down=True)
    except ModelError as error:
        if len(items) == 1:
            return Embedded({}, {items[0].uid: str(error)})
    vectors: dict[str | bytes, Vector] = {}
    failed: dict[str, str] = {}
    for item in items:
        alone = embed_items(embedder, [item])
        vectors |= alone.vectors
        failed |= alone.failed
    return Embedded(vectors, failed)


def _embed(embedder: Embedder, items: Sequence[Prepared]) -> dict[str | bytes, Vector]:
    """Texts of like length go out together: a batch is as slow as its longest."""
    texts = sorted(dict.fromkeys(text for item in items for text in item.texts), key=len)
    pictures = list(dict.fromkeys(picture for item in items for picture in item.pictures))
    vectors: dict[str | bytes, Vector] = {}
    if texts:
        vectors.update(zip(texts, embedder.embed_passages(texts), strict=True))
    if pictures:
        vectors.update(zip(pictures, embedder.embed_pictures(pictures), strict=True))
    return vectors
