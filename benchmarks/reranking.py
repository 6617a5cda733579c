"""The local model server's re-ranking of 20 passages of about 250 tokens, beside a naive pass of the same model.

The naive pass is what a first version does: all passages in one batch, padded to the longest, by one session with its
defaults, nothing kept.
"""

import os
import statistics
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
import requests

from benchmarks.data import Dataset
from benchmarks.services import Bench
from mnemosyne.local.artifacts import load_lock
from mnemosyne.local.model_files import unpack

PASSAGES: Final = 20
TOKENS: Final = (215, 285)
ROUNDS: Final = 9


def measure(bench: Bench, dataset: Dataset) -> dict[str, Any]:
    """Milliseconds (medians) of a naive pass, of a first call with passages never seen, and of a call with them known.

    The three take turns over the same passages.
    """
    files = unpack(load_lock().model, bench.cache, bench.progress)
    naive = _Naive(files.onnx, files.tokenizer)
    texts = [text for text in _texts(dataset) if TOKENS[0] <= naive.length(text) <= TOKENS[1]]
    rounds = min(ROUNDS, len(texts) // PASSAGES)
    if rounds < 1:
        raise RuntimeError(f"the data set has only {len(texts)} passages of {TOKENS[0]} to {TOKENS[1]} tokens")
    # What an earlier run sent is still known to a server that was kept: other words in front make other passages.
    stamp = f"{os.getpid()} {int(time.time())}"
    times: dict[str, list[float]] = {"naive": [], "first": [], "known": []}
    with bench.progress.counting("Re-ranking", rounds, "rounds") as counter:
        for number in range(rounds):
            question = dataset.questions[number]
            passages = [f"{stamp} {text}" for text in texts[number * PASSAGES : (number + 1) * PASSAGES]]
            times["naive"].append(_timed(lambda p=passages: naive.encode(p)))
            times["first"].append(_timed(lambda q=question, p=passages: _rerank(bench, q, p)))
            times["known"].append(_timed(lambda q=question, p=passages: _rerank(bench, q, p)))
            counter.update()
    ms = {name: statistics.median(values) for name, values in times.items()}
    return {"ms": ms, "passages": PASSAGES, "rounds": rounds, "cores": os.cpu_count()} | {
        "first / naive": ms["first"] / ms["naive"],
        "known / naive": ms["known"] / ms["naive"],
    }


def _texts(dataset: Dataset) -> list[str]:
    return [f"{document.get('title', '')}\n{document['text']}".strip() for document in dataset.documents]


class _Naive:
    """The embedding model without any care."""

    def __init__(self, onnx: Path, tokenizer: Path) -> None:
        import onnxruntime
        from tokenizers import Tokenizer

        self._session = onnxruntime.InferenceSession(str(onnx), providers=["CPUExecutionProvider"])
        self._tokenizer = Tokenizer.from_file(str(tokenizer))
        self._tokenizer.no_padding()
        self._tokenizer.enable_truncation(512)

    def length(self, text: str) -> int:
        """Tokens of a text."""
        return len(self._tokenizer.encode(text).ids)

    def encode(self, texts: Sequence[str]) -> None:
        """All texts in one batch."""
        encoded = [self._tokenizer.encode(text).ids for text in texts]
        longest = max(len(ids) for ids in encoded)
        ids = np.array([row + [0] * (longest - len(row)) for row in encoded], dtype=np.int64)
        self._session.run(
            None,
            {"input_ids": ids, "attention_mask": (ids != 0).astype(np.int64), "token_type_ids": np.zeros_like(ids)},
        )


def _rerank(bench: Bench, question: str, passages: Sequence[str]) -> None:
    body = {"query": {"text": question}, "documents": [{"text": text} for text in passages]}
    answer = requests.post(f"{bench.models.url}/v1/rerank", json=body, timeout=120)
    answer.raise_for_status()
    if len(answer.json()["results"]) != len(passages):
        raise RuntimeError("the model server left passages out")


def _timed(work: Any) -> float:
    started = time.perf_counter()
    work()
    return 1000 * (time.perf_counter() - started)
