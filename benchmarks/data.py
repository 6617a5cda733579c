"""Documents and questions of a BEIR folder, and vectors by the model server, made once and kept."""

import hashlib
import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import requests

from benchmarks.services import Bench

Vectors = npt.NDArray[np.float32]

BATCH: Final = 32
# Texts between two movements of the progress bar.
SHOWN: Final = 320
# Titles that every side's query parser takes: nothing but words, commas and full stops.
_PLAIN: Final = re.compile(r"[\w ,.]{20,200}")


class DataError(Exception):
    """The data set cannot be used; the text says why."""


@dataclass(frozen=True, slots=True)
class Dataset:
    """`documents` are records of corpus.jsonl as they stand. `titles` serve as further, distinct questions."""

    folder: Path
    documents: tuple[dict[str, Any], ...]
    questions: tuple[str, ...]
    titles: tuple[str, ...]


def read(folder: Path) -> Dataset:
    """A BEIR folder. Raises `DataError` naming what is missing."""
    corpus, queries = folder / "corpus.jsonl", folder / "queries.jsonl"
    for path in (corpus, queries):
        if not path.is_file():
            raise DataError(f"{path} does not exist; name a BEIR folder with corpus.jsonl and queries.jsonl")
    documents, questions = tuple(_rows(corpus)), [row["text"] for row in _rows(queries)]
    titles = dict.fromkeys(document.get("title", "") for document in documents)
    plain = tuple(title for title in titles if _PLAIN.fullmatch(title))
    if len(documents) < 100 or len(questions) < 20:
        raise DataError(f"{folder} has {len(documents)} documents and {len(questions)} questions: too few to measure")
    return Dataset(folder, documents, tuple(dict.fromkeys(questions)), plain)


def _rows(path: Path) -> Iterator[dict[str, Any]]:
    for number, line in enumerate(path.read_text(encoding="utf-8").split("\n"), start=1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except ValueError as error:
            raise DataError(f"{path}, line {number}: not JSON") from error
        if not isinstance(row, dict) or not isinstance(row.get("text"), str):
            raise DataError(f"{path}, line {number}: no text")
        yield row


def embed(bench: Bench, texts: Sequence[str]) -> Vectors:
    """Vectors of passages as the bare model server gives them, 32 texts a call."""
    found: list[list[float]] = []
    with requests.Session() as http:
        for start in range(0, len(texts), BATCH):
            body = {"model": bench.models.embedding_model, "input": texts[start : start + BATCH]}
            headers = {"Authorization": f"Bearer {bench.models.key}"}
            answer = http.post(f"{bench.models.url}/v1/embeddings", json=body, headers=headers, timeout=300)
            answer.raise_for_status()
            found += [row["embedding"] for row in sorted(answer.json()["data"], key=lambda row: row["index"])]
    return np.array(found, dtype=np.float32)


def query_vectors(bench: Bench, texts: Sequence[str]) -> Vectors:
    """Vectors of questions, made once and kept."""
    return _kept(bench, [bench.models.query_prefix + text for text in texts], "questions")


def document_vectors(bench: Bench, data: Dataset) -> Vectors:
    """Vectors of all documents, made once and kept."""
    return _kept(bench, [f"{d.get('title', '')}\n{d['text']}".strip() for d in data.documents], "documents")


def _kept(bench: Bench, texts: Sequence[str], what: str) -> Vectors:
    """Vectors of texts in the state folder, under a name made of the model and the texts."""
    key = hashlib.sha256("\0".join([bench.models.embedding_model, *texts]).encode()).hexdigest()[:24]
    kept = bench.state / "vectors" / f"{key}.npy"
    if not kept.exists():
        kept.parent.mkdir(parents=True, exist_ok=True)
        parts = []
        with bench.progress.counting(f"Embedding {what}", len(texts), what) as bar:
            for start in range(0, len(texts), SHOWN):
                parts.append(embed(bench, texts[start : start + SHOWN]))
                bar.update(len(parts[-1]))
        temporary = kept.with_suffix(".tmp.npy")
        np.save(temporary, np.concatenate(parts))
        temporary.replace(kept)
    vectors: Vectors = np.load(kept)
    return vectors
