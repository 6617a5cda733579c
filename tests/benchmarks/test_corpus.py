"""The large corpus: the same in every run, and as its description says."""

from typing import Final

import numpy as np

from benchmarks import corpus

DOCUMENTS: Final = [
    {"title": f"Title {n}", "text": f"Cells divide in case {n}. Gene expression falls. A protein binds {n} times."}
    for n in range(40)
]
PHRASES: Final = frozenset({"gene expression", "protein", "cells"})


def test_it_is_the_same_in_every_run() -> None:
    assert list(corpus.large(DOCUMENTS, PHRASES, 2_000)) == list(corpus.large(DOCUMENTS, PHRASES, 2_000))


def test_one_chunk_in_a_thousand_lies_in_the_rare_library() -> None:
    libraries = [row.library for row in corpus.large(DOCUMENTS, PHRASES, 2_000)]

    assert libraries.count(corpus.LIBRARIES) == 2
    assert set(libraries) == set(range(corpus.LIBRARIES + 1))


def test_a_chunk_mentions_the_phrases_of_its_own_text() -> None:
    for row in corpus.large(DOCUMENTS, PHRASES, 50):
        assert set(row.concepts) == set(corpus.mentioned(row.text, PHRASES))


def test_noise_moves_vectors_and_keeps_them_of_length_1() -> None:
    given = np.eye(40, 384, dtype=np.float32)

    made = corpus.noisy(given, 500)

    assert np.allclose(np.linalg.norm(made, axis=1), 1.0, atol=1e-5)
    assert np.array_equal(made, corpus.noisy(given, 500))
    # A cosine of 1 / sqrt(1 + 384 * .035 ** 2), about .82, to the vector that each was made from.
    near = (made * given[corpus.origin_of(40, 500)]).sum(axis=1)
    assert 0.80 < float(near.mean()) < 0.85
