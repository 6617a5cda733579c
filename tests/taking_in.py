"""Ingest with a model that needs no service, and what the graph and the storage hold afterwards."""

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from django.core.files.storage import default_storage

from library.exceptions import ModelError, ModelRefused
from library.graph import session
from library.ingest.report import IngestReport
from library.ingest.run import IngestRequest, ingest

COUNTS_QUERY = """
RETURN COUNT { (:Item) } AS items, COUNT { (:Chunk) } AS chunks, COUNT { (:Image) } AS images,
  COUNT { (:ImageEmbedding) } AS image_embeddings, COUNT { (:Concept) } AS concepts,
  COUNT { ()-[:MENTIONS]->() } AS mentions, COUNT { ()-[:RELATED_TO]->() } AS related,
  COUNT { ()-[:REFERENCES]->() } AS references, COUNT { ()-[:DEPICTS]->() } AS depicts
"""


class FakeEmbedder:
    """Vectors made of the text's digest; refuses texts with a word, or everything."""

    name = "fake"
    dimensions = 384
    max_tokens = 512
    tokenizer_path = ""
    max_batch = 32
    takes_pictures = False

    def __init__(self, refuse: str = "", error: ModelError | None = None) -> None:
        self.refuse = refuse
        self.error = error
        self.texts: list[str] = []

    def embed_pictures(self, pictures: Sequence[bytes]) -> list[list[float]]:
        raise AssertionError("this model takes no pictures")

    def embed_passages(self, texts: Sequence[str]) -> list[list[float]]:
        if self.error is not None:
            raise self.error
        if self.refuse and any(self.refuse in text for text in texts):
            raise ModelRefused("the embedding service refused the input (413)", 413)
        self.texts.extend(texts)
        return [[1.0 + byte for byte in hashlib.shake_128(text.encode()).digest(384)] for text in texts]


def take_in(*paths: Path, embedder: FakeEmbedder | None = None, **options: Any) -> IngestReport:
    request = IngestRequest(tuple(paths), **{"library": "Manuals", "library_type": "technical", **options})
    return ingest(request, embedder=embedder or FakeEmbedder())


def counts() -> dict[str, int]:
    return dict(session.read(COUNTS_QUERY, {})[0])


def one(query: str, **parameters: Any) -> Any:
    (row,) = session.read(query, parameters)
    return row[0] if len(row) == 1 else dict(row)


def stored_files() -> list[str]:
    root = Path(default_storage.path(""))
    return sorted(path.relative_to(root).as_posix() for path in root.rglob("*") if path.is_file())


def stored(key: str) -> bytes:
    with default_storage.open(key) as content:
        return bytes(content.read())
