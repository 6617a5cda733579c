"""The large corpus, made from the data set's documents. Seeded: the same in every run. Pure."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Final
from uuid import NAMESPACE_URL, uuid5

import numpy as np
import numpy.typing as npt

Vectors = npt.NDArray[np.float32]

SEED: Final = 20_260_801
# Standard deviation of what is added to each dimension: about 0.69 in length on 384, so that a copy is no twin.
NOISE: Final = 0.035
SENTENCES: Final = 5
LIBRARIES: Final = 10
# One chunk in a thousand lies in a library of its own.
RARE: Final = 1_000
MENTIONS: Final = 5
NEIGHBOURS: Final = 8
_SENTENCE_END: Final = re.compile(r"(?<=[.!?])\s+")
_WORD: Final = re.compile(r"\w+")


@dataclass(frozen=True, slots=True)
class ChunkRow:
    """One chunk, alone in its item. `library` is 0 to 9, or 10 for the rare one; `concepts` name what it is about."""

    uid: str
    title: str
    text: str
    library: int
    concepts: tuple[str, ...]


def hex_uid(name: str) -> str:
    """A uid that is the same in every run."""
    return uuid5(NAMESPACE_URL, f"benchmarks/{name}").hex


def large(documents: Sequence[Mapping[str, Any]], phrases: frozenset[str], count: int) -> Iterator[ChunkRow]:
    """`count` chunks of five random sentences; the first thousandth of them is the rare library."""
    rng = np.random.default_rng(SEED)
    sentences = [part for document in documents for part in _SENTENCE_END.split(document["text"]) if part]
    about = [mentioned(sentence, phrases) for sentence in sentences]
    origins = origin_of(len(documents), count)
    for number in range(count):
        chosen = rng.integers(len(sentences), size=SENTENCES)
        concepts = dict.fromkeys(name for index in chosen for name in about[index])
        library = LIBRARIES if number < count // RARE else int(rng.integers(LIBRARIES))
        yield ChunkRow(
            hex_uid(f"large {number}"),
            documents[origins[number]].get("title", ""),
            " ".join(sentences[index] for index in chosen),
            library,
            tuple(concepts)[:MENTIONS],
        )


def origin_of(documents: int, count: int) -> npt.NDArray[np.int64]:
    """Which document's title and vector each of `count` chunks starts from."""
    return np.random.default_rng(SEED + 1).integers(documents, size=count)


def noisy(vectors: Vectors, count: int) -> Vectors:
    """`count` vectors of length 1: those given, each with Gaussian noise."""
    rng = np.random.default_rng(SEED + 2)
    made = np.empty((count, vectors.shape[1]), dtype=np.float32)
    origins = origin_of(len(vectors), count)
    for start in range(0, count, 5_000):
        part = vectors[origins[start : start + 5_000]]
        part = part + rng.normal(0.0, NOISE, part.shape).astype(np.float32)
        made[start : start + len(part)] = part / np.linalg.norm(part, axis=1, keepdims=True)
    return made


def mentioned(text: str, phrases: frozenset[str]) -> tuple[str, ...]:
    """The phrases (of one or two words, case-folded) that stand in a text, in order, at most five."""
    words = _WORD.findall(text.casefold())
    pairs = [f"{one} {other}" for one, other in pairwise(words)]
    return tuple(dict.fromkeys(name for name in [*pairs, *words] if name in phrases))[:MENTIONS]


def related(rows: Sequence[ChunkRow]) -> list[tuple[str, str, float]]:
    """Pairs of concepts that stand in the same chunks, with a cosine weight; the eight nearest of each."""
    single = Counter(name for row in rows for name in row.concepts)
    pairs = Counter(
        (one, other) for row in rows for one in row.concepts for other in row.concepts if one < other
    )  # fmt: skip
    taken: Counter[str] = Counter()
    found: list[tuple[str, str, float]] = []
    weighed = sorted(((n / (single[a] * single[b]) ** 0.5, a, b) for (a, b), n in pairs.items() if n > 1), reverse=True)
    for weight, one, other in weighed:
        if taken[one] < NEIGHBOURS and taken[other] < NEIGHBOURS:
            taken.update((one, other))
            found.append((one, other, weight))
    return found
