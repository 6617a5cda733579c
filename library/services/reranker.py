"""Re-ranking through a model service: Synesis, or what speaks Cohere's or TEI's protocol."""

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Final

from library.conf import model_config
from library.exceptions import ModelError, ModelRefused, ModelTimeout
from library.models import AIModel, LLMUsage
from library.services.breaker import BREAKER
from library.services.http import Endpoint, post_json
from library.services.rerank_adapters import RerankCall, adapter_for, reported_tokens, scores_by_index
from library.services.types import SearchCandidate
from library.services.usage import UsageRecord

Recorder = Callable[[UsageRecord], None]

_TOO_LARGE: Final = 413
# English text has about four characters a token; a document is cut well above the model's limit, which the service
# applies itself, and only to keep a huge one from being sent.
_CHARS_PER_TOKEN: Final = 4


class RerankerClient:
    """One reranker of one service. Safe to use from several threads where `record` is."""

    def __init__(self, model: AIModel, record: Recorder, caller_jwt: str = "") -> None:
        config = model_config()
        self.name = model.name
        self._model_id = model.pk
        self._adapter = adapter_for(model.api.api_type)
        self.takes_images = model.supports_images and self._adapter.takes_images
        self._endpoint = Endpoint.of(model.api, caller_jwt)
        self._max_batch = model.max_batch
        self._max_chars = model.max_tokens * _CHARS_PER_TOKEN
        self._timeout = config.reranker_timeout
        self._text = config.reranker_text
        self._record = record

    @classmethod
    def from_system(cls, record: Recorder, caller_jwt: str = "") -> "RerankerClient":
        """The system's reranker; raises `NotConfigured` when there is none."""
        return cls(AIModel.system(AIModel.Role.RERANKER), record, caller_jwt)

    def rerank(
        self,
        query: str,
        candidates: Sequence[SearchCandidate],
        instruction: str = "",
        top_n: int | None = None,
        query_image: bytes | None = None,
    ) -> list[SearchCandidate]:
        """The candidates by falling relevance; those the service says nothing of follow in the given order.

        A candidate that was scored has `score` and `rerank_score`; equal scores keep the given order; `top_n` keeps
        the score of that many only. Without candidates nothing is called. Raises `ModelError` where the service
        fails, its answer cannot be used, or a picture is given that the model does not take.
        """
        if not candidates:
            return []
        if query_image is not None and not self.takes_images:
            raise ModelError(f"The reranker {self.name} takes no images")
        deadline = time.monotonic() + self._timeout
        call = RerankCall(self.name, query, [self._document(c) for c in candidates], instruction, query_image)
        scores = self._scores(call, deadline)
        order = sorted(range(len(candidates)), key=lambda i: (-scores.get(i, -math.inf), i))
        if top_n is not None:
            scores = {i: scores[i] for i in order[:top_n] if i in scores}
            order.sort(key=lambda i: (-scores.get(i, -math.inf), i))
        return [_scored(candidates[i], scores.get(i)) for i in order]

    def _document(self, candidate: SearchCandidate) -> str:
        """Title and text: a passage seldom names what it is about as its title does."""
        text = candidate.text_preview if self._text == "preview" else candidate.text or candidate.text_preview
        whole = f"{candidate.item_title}\n{text}" if candidate.item_title else text
        return whole[: self._max_chars]

    def _scores(self, call: RerankCall, deadline: float) -> dict[int, float]:
        """Scores by position, asked for in batches; positions are those of all documents."""
        scores: dict[int, float] = {}
        for start in range(0, len(call.documents), self._max_batch):
            batch = replace(call, documents=call.documents[start : start + self._max_batch])
            scores |= {start + index: score for index, score in self._halving(batch, deadline).items()}
        return scores

    def _halving(self, call: RerankCall, deadline: float) -> dict[int, float]:
        """Scores of one batch; one that is refused as too large (413) is asked for in halves."""
        try:
            return self._ask(call, deadline)
        except ModelRefused as error:
            if error.status != _TOO_LARGE or len(call.documents) == 1:
                raise
        middle = len(call.documents) // 2
        second = self._halving(replace(call, documents=call.documents[middle:]), deadline)
        first = self._halving(replace(call, documents=call.documents[:middle]), deadline)
        return first | {middle + index: score for index, score in second.items()}

    def _ask(self, call: RerankCall, deadline: float) -> dict[int, float]:
        started = time.perf_counter()
        tokens: int | None = None
        status = LLMUsage.Status.ERROR
        circuit = self._endpoint.base_url
        with BREAKER.guarding(circuit):
            try:
                left = max(0.001, deadline - time.monotonic())
                answer = post_json(self._endpoint, self._adapter.path, self._adapter.body(call), left)
                scores = scores_by_index(answer, len(call.documents))
                tokens = reported_tokens(answer)
                status = LLMUsage.Status.SUCCESS
                return scores
            except ModelTimeout:
                status = LLMUsage.Status.TIMEOUT
                raise
            finally:
                elapsed = 1000 * (time.perf_counter() - started)
                purpose = LLMUsage.Purpose.RERANKING
                sent = len(call.documents)
                self._record(UsageRecord(self._model_id, self.name, purpose, status, sent, tokens, elapsed))


def _scored(candidate: SearchCandidate, score: float | None) -> SearchCandidate:
    if score is None:
        return candidate
    breakdown = {**candidate.score_breakdown, "rerank_score": score}
    return replace(candidate, score=score, score_breakdown=breakdown)
