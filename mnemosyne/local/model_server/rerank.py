"""Late interaction: score a passage against a query by all of their token vectors.

MaxSim is each query token's best cosine among a run of text's tokens, averaged (Khattab and Zaharia, 2020,
https://arxiv.org/abs/2004.12832). Function words and punctuation of the query are left out: they match everywhere.
Three numbers are blended: MaxSim within the best sentence, MaxSim within the best three adjacent sentences, and the
cosine of the two texts read as wholes. A passage that says it all in one place answers better than one that has the
words scattered, which is what MaxSim over the whole passage would reward.

Measured as nDCG@10 of the first 32 of a fused list (vector 50, full text 30, k 60):

                                         SciFact   HotpotQA-100   Cranfield
    fused                                .726      .872           .403
    cosine alone                         .711      .884           .386
    MaxSim of the whole passage alone    .744      .884           .409
    MaxSim of the best sentence alone    .759      .882           .418
    MaxSim of the best three alone       .757      .885           .422
    half cosine, half MaxSim             .736      .891           .409
    the blend                            .759      .895           .422

The weights were chosen on two collections and held on the third, whichever of SciFact and Cranfield that was. The
query's prefix does not help here, nor does the mean of a sentence's token vectors.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from mnemosyne.local.model_server.encoder import Encoder, Vectors, Window, normalised
from mnemosyne.local.model_server.sentences import sentence_spans
from mnemosyne.local.model_server.vector_cache import VectorCache
from mnemosyne.local.model_server.workers import Urgency, Workers

NAME = "bge-small-en-v1.5-late-interaction"

SENTENCE_WEIGHT = 0.45
NEAR_WEIGHT = 0.3
PASSAGE_WEIGHT = 0.25
NEAR = 3  # adjacent sentences

_WORDS = (
    "a an and are as at be been by can did do does for from had has have how if in into is it its of on or s t that "
    "the their then there these they this to was were what when where which who whom whose why will with"
)
FUNCTION_WORDS = frozenset(_WORDS.split())

Stored = npt.NDArray[np.float16]  # half the memory; the cosines differ by less than 0.001


@dataclass(frozen=True, slots=True)
class Passage:
    """An encoded passage: vectors of length 1 of its tokens and of its windows of 512 tokens.

    ``sentences`` holds the index of each sentence's first token, rising from 0.
    """

    tokens: Stored
    windows: Stored
    sentences: npt.NDArray[np.int32]
    token_count: int

    @property
    def nbytes(self) -> int:
        """Bytes held."""
        return self.tokens.nbytes + self.windows.nbytes + self.sentences.nbytes


@dataclass(frozen=True, slots=True)
class Query:
    """An encoded query: vectors of length 1 of its telling tokens, and of the whole."""

    tokens: Vectors
    whole: Vectors
    token_count: int


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

    def _query(self, text: str) -> Query:
        window = self._encoder.truncated(text)
        states = self._encoder.states(window)
        vectors = _token_vectors(states)
        telling = telling_tokens(text, window.offsets)
        return Query(
            tokens=vectors[telling] if telling else vectors,
            whole=normalised(states[0]),
            token_count=len(window.ids),
        )

    def _passage(self, text: str) -> Passage:
        windows = self._encoder.windows(text)
        states = [self._encoder.states(window) for window in windows]
        passage = Passage(
            tokens=np.concatenate([_token_vectors(rows) for rows in states]).astype(np.float16),
            windows=normalised(np.stack([rows[0] for rows in states])).astype(np.float16),
            sentences=_first_tokens(text, windows),
            token_count=sum(len(window.ids) for window in windows),
        )
        self._cache.put(text, passage)
        return passage


def score(query: Query, passage: Passage) -> float:
    """The blend, from 0 to 1."""
    cosines = query.tokens @ passage.tokens.astype(np.float32).T  # query tokens x passage tokens
    by_sentence = np.maximum.reduceat(cosines, passage.sentences, axis=1)
    sentence = float(by_sentence.mean(axis=0).max())
    near = max(
        float(by_sentence[:, start : start + NEAR].max(axis=1).mean())
        for start in range(max(1, by_sentence.shape[1] - NEAR + 1))
    )
    whole = float((passage.windows.astype(np.float32) @ query.whole).max())
    blended = SENTENCE_WEIGHT * sentence + NEAR_WEIGHT * near + PASSAGE_WEIGHT * whole
    return min(1.0, max(0.0, blended))


def telling_tokens(text: str, offsets: Sequence[tuple[int, int]]) -> list[int]:
    """The indexes of the tokens that are neither function words nor punctuation.

    A word may be several tokens: one that goes on where a part of a word ended is no function word ("the" of "lathe").
    """
    telling = []
    previous_end = -1
    for index, (start, end) in enumerate(offsets):
        token = text[start:end]
        goes_on = start == previous_end and text[start - 1].isalnum()
        if token.isalnum() and (goes_on or token.lower() not in FUNCTION_WORDS):
            telling.append(index)
        previous_end = end
    return telling


def _token_vectors(states: Vectors) -> Vectors:
    """Without the marks at both ends, unless there is nothing else."""
    return normalised(states[1:-1] if len(states) > 2 else states)


def _first_tokens(text: str, windows: Sequence[Window]) -> npt.NDArray[np.int32]:
    """Where each sentence begins among the passage's tokens."""
    starts = [start for window in windows for start, _ in window.offsets]
    ends = np.array([end for _, end in sentence_spans(text)])
    sentence_of_token = np.minimum(np.searchsorted(ends, starts, side="right"), len(ends) - 1)
    _, first = np.unique(sentence_of_token, return_index=True)
    return first.astype(np.int32) if len(first) else np.zeros(1, dtype=np.int32)
