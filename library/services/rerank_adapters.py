"""What re-ranking services are sent and how they answer: one adapter for each protocol, by `api_type`. Pure.

Synesis: the project's own service (text and images, an instruction). Cohere: the shape that Cohere, Jina, vLLM and
Infinity share. TEI: Hugging Face's Text Embeddings Inference.
"""

import base64
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from library.exceptions import ModelError, NotConfigured

# Where services put their results, and the score of one.
_RESULT_KEYS: Final = ("results", "data")
_SCORE_KEYS: Final = ("relevance_score", "score")


@dataclass(frozen=True, slots=True)
class RerankCall:
    """One question to a reranker: the query, the documents, and what is said beside them."""

    model: str
    query: str
    documents: Sequence[str]
    instruction: str = ""
    query_image: bytes | None = None


@dataclass(frozen=True, slots=True)
class RerankAdapter:
    """A protocol. `takes_images` says whether it can carry a picture beside the query."""

    path: str
    body: Callable[[RerankCall], dict[str, Any]]
    takes_images: bool = False


def _synesis(call: RerankCall) -> dict[str, Any]:
    query: dict[str, str] = {"text": call.query}
    if call.query_image is not None:
        query["image"] = base64.b64encode(call.query_image).decode("ascii")
    return {
        "model": call.model,
        "query": query,
        "documents": [{"text": text} for text in call.documents],
        "instruction": call.instruction,
        "top_n": len(call.documents),
    }


def _cohere(call: RerankCall) -> dict[str, Any]:
    return {
        "model": call.model,
        "query": call.query,
        "documents": list(call.documents),
        "top_n": len(call.documents),
        "return_documents": False,
    }


def _tei(call: RerankCall) -> dict[str, Any]:
    return {"query": call.query, "texts": list(call.documents), "raw_scores": False, "truncate": True}


ADAPTERS: Final[Mapping[str, RerankAdapter]] = {
    "synesis": RerankAdapter("/v1/rerank", _synesis, takes_images=True),
    "cohere": RerankAdapter("/v1/rerank", _cohere),
    "tei": RerankAdapter("/rerank", _tei),
}
# A service that is OpenAI-compatible for embeddings re-ranks, where it does, in Synesis's shape.
ALIASES: Final[Mapping[str, str]] = {"openai": "synesis"}


def adapter_for(api_type: str) -> RerankAdapter:
    """The adapter of an API record; raises `NotConfigured` naming those that there are."""
    adapter = ADAPTERS.get(ALIASES.get(api_type, api_type))
    if adapter is None:
        raise NotConfigured(f"No reranker speaks {api_type!r}; the API record must say one of {', '.join(ADAPTERS)}")
    return adapter


def scores_by_index(answer: Any, count: int) -> dict[int, float]:
    """Score by position of the document sent, from an answer of any of the protocols.

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


def reported_tokens(answer: Any) -> int | None:
    """Tokens as the service reports them: `usage.total_tokens`, or Cohere's billed units; None where it does not."""
    if not isinstance(answer, dict):
        return None
    for path in (("usage", "total_tokens"), ("meta", "tokens", "input_tokens")):
        value: Any = answer
        for key in path:
            value = value.get(key) if isinstance(value, dict) else None
        if isinstance(value, int) and not isinstance(value, bool) and value >= 0:
            return value
    return None
