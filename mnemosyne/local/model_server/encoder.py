"""Text to token vectors, by the ONNX model.

One text a run, and as many runs side by side as there are cores. Measured on two cores, padded batches in one session
of two threads are no faster for passages of 128 tokens and more (128: 12 against 11 ms each; 256: 30 against 26 ms),
and the model's dynamic quantisation takes its scale from the whole batch, so that a text's vector would depend on its
neighbours (cosine 0.997 to itself). Alone, the same text always has the same vector.
"""

import itertools
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import onnxruntime
from tokenizers import Tokenizer

Vectors = npt.NDArray[np.float32]  # one row a token or a text

NAME = "bge-small-en-v1.5"
DIMENSIONS = 384
MAX_TOKENS = 512
ROOM = MAX_TOKENS - 2  # the marks at both ends take two
CHARACTERS_READ = 100_000  # of a text to embed: far more than 510 tokens need
# Put before queries, not before passages, by the client (from the model's card).
QUERY_PREFIX = "Represent this sentence for searching relevant passages: "


@dataclass(frozen=True, slots=True)
class Window:
    """A run of at most MAX_TOKENS tokens: ids with the marks at both ends, and each inner token's place in the text."""

    ids: tuple[int, ...]
    offsets: tuple[tuple[int, int], ...]


class Encoder:
    """The model and its tokenizer. Safe to call from several threads."""

    def __init__(self, onnx: Path, tokenizer: Path) -> None:
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        options.inter_op_num_threads = 1
        self._session = onnxruntime.InferenceSession(str(onnx), options, providers=["CPUExecutionProvider"])
        self._tokenizer: Any = Tokenizer.from_file(str(tokenizer))
        self._tokenizer.no_padding()
        self._tokenizer.no_truncation()
        self._first, self._last = self._tokenizer.encode("").ids  # [CLS] and [SEP]

    def truncated(self, text: str) -> Window:
        """The first MAX_TOKENS tokens: what an embedding sees."""
        encoding = self._tokenizer.encode(text[:CHARACTERS_READ], add_special_tokens=False)
        return self._window(encoding.ids[:ROOM], encoding.offsets[:ROOM])

    def windows(self, text: str) -> list[Window]:
        """The whole text in as few windows as possible, of about equal length."""
        encoding = self._tokenizer.encode(text, add_special_tokens=False)
        ids, offsets = encoding.ids, encoding.offsets
        count = max(1, -(-len(ids) // ROOM))
        bounds = [round(i * len(ids) / count) for i in range(count + 1)]
        return [self._window(ids[start:end], offsets[start:end]) for start, end in itertools.pairwise(bounds)]

    def states(self, window: Window) -> Vectors:
        """The last hidden states, one row a token, the marks at both ends included; not normalised."""
        ids = np.array([window.ids], dtype=np.int64)
        feed = {"input_ids": ids, "attention_mask": np.ones_like(ids), "token_type_ids": np.zeros_like(ids)}
        states: Vectors = self._session.run(None, feed)[0][0]
        return states

    def embedding(self, window: Window) -> Vectors:
        """The text's vector: the state of the first mark (CLS pooling), of length 1."""
        return normalised(self.states(window)[0])

    def _window(self, ids: list[int], offsets: list[tuple[int, int]]) -> Window:
        return Window((self._first, *ids, self._last), tuple(offsets))


def normalised(vectors: Vectors) -> Vectors:
    """Every row divided by its length."""
    lengths = np.linalg.norm(vectors, axis=-1, keepdims=True)
    scaled: Vectors = vectors / np.maximum(lengths, 1e-12)
    return scaled
