"""Text to vectors through an OpenAI-compatible /v1/embeddings."""

import base64
import binascii
import math
import struct
import time
from collections.abc import Callable, Sequence
from typing import Any

from library.conf import model_config
from library.exceptions import ModelError, ModelRefused, ModelTimeout
from library.models import AIModel, LLMUsage
from library.services.breaker import BREAKER
from library.services.http import Endpoint, post_json
from library.services.usage import UsageRecord

Recorder = Callable[[UsageRecord], None]
Vector = list[float]
# A text, or a picture in Synesis's shape.
Input = str | dict[str, str]

_TOO_LARGE = 413
# A caller who waited for less than this says nothing about the service: the rest of its budget went elsewhere.
_FAIR_SECONDS = 1.0


class EmbeddingClient:
    """One embedding model of one service. Safe to use from several threads where `record` is."""

    def __init__(self, model: AIModel, record: Recorder, caller_jwt: str = "") -> None:
        if not model.dimensions:
            raise ModelError(f"The record of {model.name} names no dimensions")
        config = model_config()
        self.name = model.name
        self.dimensions = model.dimensions
        self.max_tokens = model.max_tokens
        self.tokenizer_path = model.tokenizer_path
        self.takes_pictures = model.supports_images
        self.max_batch = min(model.max_batch, config.embedding_batch_size)
        self._model_id = model.pk
        self._endpoint = Endpoint.of(model.api, caller_jwt)
        self._timeout = config.embedding_timeout
        self._record = record

    @classmethod
    def from_system(cls, record: Recorder, caller_jwt: str = "") -> "EmbeddingClient":
        """The system's embedding model; raises `NotConfigured` when there is none."""
        return cls(AIModel.system(AIModel.Role.EMBEDDING), record, caller_jwt)

    def embed_query(self, text: str, instruction: str, timeout: float | None = None) -> Vector:
        """The vector of a query behind the instruction its model was trained with; else as `embed_query_picture`."""
        return self._embed_one(instruction + text, timeout)

    def embed_query_picture(self, picture: bytes, timeout: float | None = None) -> Vector:
        """The vector of a picture (PNG) that is searched by.

        `timeout` in seconds replaces the setting. A service that hangs costs one timeout, not one a query: then it is
        left alone for a while. Raises `ModelError`.
        """
        return self._embed_one(_as_input(picture), timeout)

    def _embed_one(self, given: Input, timeout: float | None) -> Vector:
        timeout = self._timeout if timeout is None else timeout
        # A circuit of its own: a reranker that is slow says nothing about embedding.
        circuit = self._endpoint.url("/v1/embeddings")
        BREAKER.check(circuit)
        try:
            vector = self._embed([given], timeout, retries=0)[0]
        except ModelTimeout:
            if timeout >= _FAIR_SECONDS:
                BREAKER.timed_out(circuit)
                # Who does not answer the smallest question will not answer the largest, which waits far longer.
                BREAKER.timed_out(self._endpoint.base_url)
            raise
        except ModelError:
            BREAKER.answered(circuit)
            raise
        BREAKER.answered(circuit)
        return vector

    def embed_passages(self, texts: Sequence[str]) -> list[Vector]:
        """Vectors of passages, one a text, in order, in batches that the service takes.

        A batch refused as too large (413) is halved down to single texts. Raises `ModelError`.
        """
        return self._in_batches(texts)

    def embed_pictures(self, pictures: Sequence[bytes]) -> list[Vector]:
        """Vectors of pictures (PNG), in the space of the texts; else as `embed_passages`."""
        return self._in_batches([_as_input(picture) for picture in pictures])

    def _in_batches(self, given: Sequence[Input]) -> list[Vector]:
        vectors: list[Vector] = []
        for start in range(0, len(given), self.max_batch):
            vectors += self._halving(given[start : start + self.max_batch])
        return vectors

    def _halving(self, texts: Sequence[Input]) -> list[Vector]:
        try:
            return self._embed(texts, self._timeout, retries=2)
        except ModelRefused as error:
            if error.status != _TOO_LARGE or len(texts) == 1:
                raise
        middle = len(texts) // 2
        return self._halving(texts[:middle]) + self._halving(texts[middle:])

    def _embed(self, texts: Sequence[Input], timeout: float, retries: int) -> list[Vector]:
        started = time.perf_counter()
        tokens: int | None = None
        status = LLMUsage.Status.ERROR
        try:
            body = {"model": self.name, "input": list(texts), "encoding_format": "float"}
            answer = post_json(self._endpoint, "/v1/embeddings", body, timeout, retries)
            vectors = vectors_in_order(answer, len(texts), self.dimensions)
            tokens = reported_tokens(answer)
            status = LLMUsage.Status.SUCCESS
            return vectors
        except ModelTimeout:
            status = LLMUsage.Status.TIMEOUT
            raise
        finally:
            elapsed = 1000 * (time.perf_counter() - started)
            purpose = LLMUsage.Purpose.EMBEDDING
            self._record(UsageRecord(self._model_id, self.name, purpose, status, len(texts), tokens, elapsed))


def _as_input(picture: bytes) -> dict[str, str]:
    return {"image": base64.b64encode(picture).decode("ascii")}


def reported_tokens(answer: Any) -> int | None:
    """`usage.total_tokens` of an answer, or None where the service does not say."""
    usage = answer.get("usage") if isinstance(answer, dict) else None
    tokens = usage.get("total_tokens") if isinstance(usage, dict) else None
    return tokens if isinstance(tokens, int) and not isinstance(tokens, bool) and tokens >= 0 else None


def vectors_in_order(answer: Any, count: int, dimensions: int) -> list[Vector]:
    """The answer's vectors in the order of the inputs.

    Items are placed by `index`, or as they come where none has one. Raises `ModelError` unless there is exactly one
    finite, non-zero vector of `dimensions` numbers for each input.
    """
    items = answer.get("data") if isinstance(answer, dict) else None
    if not isinstance(items, list) or not all(isinstance(item, dict) for item in items):
        raise ModelError("The embedding service gave no list of vectors")
    if len(items) != count:
        raise ModelError(f"The embedding service gave {len(items)} vectors for {count} texts")
    if any("index" in item for item in items):
        numbers = [item.get("index") for item in items]
        if not all(isinstance(number, int) for number in numbers) or sorted(numbers) != list(range(count)):
            raise ModelError(f"The embedding service numbered {count} vectors wrongly")
        items = sorted(items, key=lambda item: item["index"])
    return [_checked(item.get("embedding"), dimensions) for item in items]


def _checked(given: Any, dimensions: int) -> Vector:
    numbers = _from_base64(given) if isinstance(given, str) else given
    if not isinstance(numbers, list) or not all(
        isinstance(number, int | float) and math.isfinite(number) for number in numbers
    ):
        raise ModelError("The embedding service gave a vector that is no list of numbers")
    if len(numbers) != dimensions:
        raise ModelError(f"The embedding service gave {len(numbers)} dimensions, the index has {dimensions}")
    if not any(numbers):
        raise ModelError("The embedding service gave a vector of zeros")
    return [float(number) for number in numbers]


def _from_base64(text: str) -> Vector:
    """Little-endian 32-bit floats, as OpenAI's `encoding_format: base64` gives them."""
    try:
        raw = base64.b64decode(text, validate=True)
        return list(struct.unpack(f"<{len(raw) // 4}f", raw))
    except (binascii.Error, struct.error) as error:
        raise ModelError("The embedding service gave a vector that is no base64 of floats") from error
