"""Re-ranking through a Synesis-compatible service."""

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from library.conf import model_config
from library.exceptions import ModelError, ModelTimeout
from library.models import AIModel, LLMUsage
from library.services.embeddings import reported_tokens
from library.services.http import Endpoint, post_json
from library.services.types import SearchCandidate
from library.services.usage import UsageRecord

Recorder = Callable[[UsageRecord], None]

# Where services put their results, and the score of one: Synesis and its relatives.
_RESULT_KEYS: Final = ("results", "data")
_SCORE_KEYS: Final = ("relevance_score", "score")


class RerankerClient:
    """One reranker of one service. Safe to use from several threads where `record` is."""

    def __init__(self, model: AIModel, record: Recorder) -> None:
        config = model_config()
        self.name = model.name
        self._model_id = model.pk
        self._endpoint = Endpoint(model.api.base_url, model.api.api_key)
        self._timeout = config.reranker_timeout
        self._text = config.reranker_text
        self._record = record

    @classmethod
    def from_system(cls, record: Recorder) -> "RerankerClient":
        """The system's reranker; raises `NotConfigured` when there is none."""
        return cls(AIModel.system(AIModel.Role.RERANKER), record)

    def rerank(
        self,
        query: str,
        candidates: Sequence[SearchCandidate],
        instruction: str = "",
        top_n: int | None = None,
        query_image: bytes | None = None,
    ) -> list[SearchCandidate]:
        """The candidates by falling relevance; those the service says nothing of follow in the given order.

        A candidate that was scored has `score` and `rerank_score`; equal scores keep the given order. Without
        candidates nothing is called. Raises `ModelError` where the answer cannot be used.
        """
        if not candidates:
            return []
        if query_image is not None:
            raise ModelError(f"The reranker {self.name} takes no images")
        body: dict[str, Any] = {
            "model": self.name,
            "query": {"text": query},
            "documents": [{"text": self._document(candidate)} for candidate in candidates],
            "instruction": instruction,
            "top_n": len(candidates) if top_n is None else top_n,
        }
        scores = self._scores(body, len(candidates))
        order = sorted(range(len(candidates)), key=lambda i: (-scores.get(i, -math.inf), i))
        return [_scored(candidates[i], scores.get(i)) for i in order]

    def _document(self, candidate: SearchCandidate) -> str:
        """Title and text: a passage seldom names what it is about as its title does."""
        text = candidate.text_preview if self._text == "preview" else candidate.text or candidate.text_preview
        return f"{candidate.item_title}\n{text}" if candidate.item_title else text

    def _scores(self, body: Mapping[str, Any], count: int) -> dict[int, float]:
        started = time.perf_counter()
        tokens: int | None = None
        status = LLMUsage.Status.ERROR
        try:
            answer = post_json(self._endpoint, "/v1/rerank", body, self._timeout)
            scores = scores_by_index(answer, count)
            tokens = reported_tokens(answer)
            status = LLMUsage.Status.SUCCESS
            return scores
        except ModelTimeout:
            status = LLMUsage.Status.TIMEOUT
            raise
        finally:
            elapsed = 1000 * (time.perf_counter() - started)
            purpose = LLMUsage.Purpose.RERANKING
            self._record(UsageRecord(self._model_id, self.name, purpose, status, count, tokens, elapsed))


def _scored(candidate: SearchCandidate, score: float | None) -> SearchCandidate:
    if score is None:
        return candidate
    breakdown = {**candidate.score_breakdown, "rerank_score": score}
    return replace(candidate, score=score, score_breakdown=breakdown)


def scores_by_index(answer: Any, count: int) -> dict[int, float]:
    """Score by position of the document sent, from any answer of the Synesis family.

    Results may be unsorted and fewer than asked. Raises `ModelError` where there is none, or one has no finite score,
    an index that is no position of a document sent, or one that was there before: such an answer cannot be trusted.
    """
    scores: dict[int, float] = {}
    for result in _results(answer):
        index = result.get("index")
        score = next((result[key] for key in _SCORE_KEYS if key in result), None)
        if isinstance(index, bool) or not isinstance(index, int) or not 0 <= index < count or index in scores:
            raise ModelError(f"The reranker numbered its results wrongly (index {index!r} of {count} documents)")
        if isinstance(score, bool) or not isinstance(score, int | float) or not math.isfinite(score):
            raise ModelError(f"The reranker gave no score for document {index}")
        scores[index] = float(score)
    return scores


def _results(answer: Any) -> list[Mapping[str, Any]]:
    if isinstance(answer, dict):
        answer = next((answer[key] for key in _RESULT_KEYS if key in answer), None)
    if not isinstance(answer, list) or not answer or not all(isinstance(result, dict) for result in answer):
        raise ModelError("The reranker gave no list of results")
    return answer
