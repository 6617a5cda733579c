"""Taking in the data set by the product, beside embedding the same passages by the bare model server.

The two take turns, a part of the collection at a time. What is taken in is the small corpus that the other
measurements search.
"""

import json
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Final

from benchmarks.data import Dataset, embed
from benchmarks.services import Bench
from library.ingest.run import IngestRequest, ingest
from library.services.embeddings import EmbeddingClient

PARTS: Final = 4
LIBRARY: Final = "Benchmark"
TYPE: Final = "nonfiction"


class Recording:
    """The product's embedding client, with the passages that went through it noted."""

    def __init__(self, client: EmbeddingClient) -> None:
        self._client = client
        self.name = client.name
        self.dimensions = client.dimensions
        self.max_tokens = client.max_tokens
        self.tokenizer_path = client.tokenizer_path
        self.max_batch = client.max_batch
        self.takes_pictures = client.takes_pictures
        self.texts: list[str] = []

    def embed_passages(self, texts: Sequence[str]) -> list[list[float]]:
        """As the client does."""
        self.texts += texts
        return self._client.embed_passages(texts)

    def embed_pictures(self, pictures: Sequence[bytes]) -> list[list[float]]:
        """As the client does."""
        return self._client.embed_pictures(pictures)


def take_in(bench: Bench, dataset: Dataset, beside_bare: bool) -> dict[str, Any]:
    """Take the whole data set into an empty graph; with `beside_bare` both sides' seconds are measured.

    Raises RuntimeError naming the documents that failed.
    """
    ingest_seconds = bare_seconds = 0.0
    chunks = 0
    size = -(-len(dataset.documents) // PARTS)
    with bench.progress.counting("Taking in the collection", len(dataset.documents), "documents") as counter:
        for part in range(PARTS):
            documents = dataset.documents[part * size : (part + 1) * size]
            path = _write_part(bench.state / "parts" / str(part) / "corpus.jsonl", documents)
            client = Recording(EmbeddingClient.from_system(lambda _: None))
            ingest_seconds += _timed(partial(_ingest, path, client))
            if beside_bare:
                bare_seconds += _timed(partial(embed, bench, client.texts))
            chunks += len(client.texts)
            counter.update(len(documents))
    ratio = ingest_seconds / bare_seconds if beside_bare else None
    return {"ingest_s": ingest_seconds, "bare_s": bare_seconds, "chunks": chunks, "ratio": ratio}


def _write_part(path: Path, documents: Sequence[dict[str, Any]]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(document) + "\n" for document in documents), encoding="utf-8")
    return path


def _ingest(path: Path, client: Recording) -> None:
    report = ingest(IngestRequest((path,), LIBRARY, TYPE), embedder=client)
    if report.failed:
        raise RuntimeError(f"{len(report.failed)} documents could not be taken in: {report.failed[0].reason}")


def _timed(work: Callable[[], object]) -> float:
    started = time.perf_counter()
    work()
    return time.perf_counter() - started
