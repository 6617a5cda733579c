"""The product with the vectors of the questions given beforehand: all of a search but the call to the model service."""

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np

from benchmarks.data import Vectors
from library.services import retrieval
from library.services.query_language import parse

Vector = Sequence[float]
VECTORS_FILE: Final = "given-vectors.npy"
TEXTS_FILE: Final = "given-texts.json"


class GivenVectors:
    """Stands where the search makes its embedding client; knows the vectors by the question's plain text."""

    def __init__(self, vectors: Mapping[str, Vector]) -> None:
        self._vectors = vectors

    name = "given"
    dimensions = 0

    def from_system(self, record: Callable[[Any], None], caller_jwt: str = "") -> "GivenVectors":
        """Itself: there is no service to ask, and nothing to record."""
        return self

    def embed_query(self, text: str, instruction: str, timeout: float | None = None) -> Vector:
        """The vector that was given for this question. Raises KeyError for any other."""
        return self._vectors[text]


def give(questions: Sequence[str], vectors: Vectors) -> None:
    """From now on searches in this process take these vectors."""
    by_text = {parse(text).plain_text: vector.tolist() for text, vector in zip(questions, vectors, strict=True)}
    # Put in the place of the client that the product imports there: mypy rightly finds it no part of the interface.
    retrieval.EmbeddingClient = GivenVectors(by_text)  # type: ignore[attr-defined, assignment]


def write(folder: Path, questions: Sequence[str], vectors: Vectors) -> None:
    """Leave questions and vectors in a folder, for other processes."""
    np.save(folder / VECTORS_FILE, vectors)
    (folder / TEXTS_FILE).write_text(json.dumps(list(questions)), encoding="utf-8")


def give_from(folder: Path) -> None:
    """As `give`, with what was left in a folder."""
    give(json.loads((folder / TEXTS_FILE).read_text(encoding="utf-8")), np.load(folder / VECTORS_FILE))
