"""Late interaction: score a passage against a query by all of their token vectors.

Three cosines are blended: MaxSim (each query token's best cosine among the passage's tokens, averaged; Khattab and
Zaharia, https://arxiv.org/abs/2004.12832), the cosine of the two texts, and that of the best sentence.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from mnemosyne.local.model_server.encoder import QUERY_PREFIX, Encoder, Vectors, Window, normalised
from mnemosyne.local.model_server.sentences import sentence_spans
from mnemosyne.local.model_server.vector_cache import VectorCache
from mnemosyne.local.model_server.workers import Urgency, Workers

NAME = "bge-small-en-v1.5-late-interaction"

MAXSIM_WEIGHT = 0.4
PASSAGE_WEIGHT = 0.3
SENTENCE_WEIGHT = 0.3

Stored = npt.NDArray[np.float16]  # half the memory; the cosines differ by less than 0.001


@dataclass(frozen=True, slots=True)
class Passage:
    """An encoded passage: vectors of length 1 of its tokens, its windows of 512 tokens and its sentences."""

    tokens: Stored
    windows: Stored
    sentences: Stored
    token_count: int

    @property
    def nbytes(self) -> int:
        """Bytes held."""
        return self.tokens.nbytes + self.windows.nbytes + self.sentences.nbytes


@dataclass(frozen=True, slots=True)
class Ranking:
    """A score from 0 to 1 for every passage, in the order asked, and the tokens read."""

    scores: list[float]
    token_count: int


class LateInteraction:
    """Encodes passages once, keeps them, and scores them against queries."""

    def __init__(self, encoder: Encoder, workers: Workers, cache_bytes: int) -> None:
        self._encoder = encoder
        self._workers = workers
        self._cache: VectorCache[Passage] = VectorCache(cache_bytes)

    def rank(self, query: str, passages: Sequence[str]) -> Ranking:
        """Score every passage, whole, however long it is."""
        known = {text: self._cache.get(text) for text in dict.fromkeys(passages)}
        missing = sorted((text for text, passage in known.items() if passage is None), key=len, reverse=True)
        encoded = dict(zip(missing, self._workers.map(self._passage, missing, Urgency.RERANK), strict=True))
        asked = self._workers.map(self._query, [query], Urgency.QUERY)[0]
        found = [known[text] or encoded[text] for text in passages]
        return Ranking(
            scores=[score(asked, passage) for passage in found],
            token_count=asked.token_count + sum(passage.token_count for passage in found),
        )

    def _query(self, text: str) -> "Query":
        plain = self._encoder.truncated(text)
        prefixed = self._encoder.truncated(QUERY_PREFIX + text)
        return Query(
            tokens=_token_vectors(self._encoder.states(plain)),
            whole=self._encoder.embedding(prefixed),
            token_count=len(plain.ids),
        )

    def _passage(self, text: str) -> Passage:
        windows = self._encoder.windows(text)
        states = [self._encoder.states(window) for window in windows]
        tokens = np.concatenate([_token_vectors(rows) for rows in states])
        passage = Passage(
            tokens=tokens.astype(np.float16),
            windows=normalised(np.stack([rows[0] for rows in states])).astype(np.float16),
            sentences=_sentence_vectors(text, windows, tokens).astype(np.float16),
            token_count=sum(len(window.ids) for window in windows),
        )
        self._cache.put(text, passage)
        return passage


@dataclass(frozen=True, slots=True)
class Query:
    """An encoded query: vectors of length 1 of its tokens, and of the whole."""

    tokens: Vectors
    whole: Vectors
    token_count: int


def score(query: Query, passage: Passage) -> float:
    """The blend, from 0 to 1."""
    maxsim = float((query.tokens @ passage.tokens.astype(np.float32).T).max(axis=1).mean())
    whole = float((passage.windows.astype(np.float32) @ query.whole).max())
    sentence = float((passage.sentences.astype(np.float32) @ query.whole).max())
    blended = MAXSIM_WEIGHT * maxsim + PASSAGE_WEIGHT * whole + SENTENCE_WEIGHT * sentence
    return min(1.0, max(0.0, blended))


def _token_vectors(states: Vectors) -> Vectors:
    """Without the marks at both ends, unless there is nothing else."""
    return normalised(states[1:-1] if len(states) > 2 else states)


def _sentence_vectors(text: str, windows: Sequence[Window], tokens: Vectors) -> Vectors:
    """The mean of each sentence's token vectors, read in the whole passage's context."""
    starts = [start for window in windows for start, _ in window.offsets]
    if not starts:
        return normalised(tokens.mean(axis=0, keepdims=True))
    ends = np.array([end for _, end in sentence_spans(text)])
    of_sentence = np.minimum(np.searchsorted(ends, starts, side="right"), len(ends) - 1)
    means = [tokens[of_sentence == number].mean(axis=0) for number in np.unique(of_sentence)]
    return normalised(np.stack(means))
