"""The routes: what each answers, in the shapes of OpenAI and Synesis."""

import base64
from collections.abc import Sequence
from typing import Any

import numpy as np

from mnemosyne.local.model_server import encoder as embedding
from mnemosyne.local.model_server import rerank
from mnemosyne.local.model_server.checks import embedding_texts, rerank_texts
from mnemosyne.local.model_server.encoder import Encoder, Vectors, Window
from mnemosyne.local.model_server.rerank import LateInteraction
from mnemosyne.local.model_server.schemas import EmbeddingRequest, RerankRequest
from mnemosyne.local.model_server.workers import Urgency, Workers

FEW = 4  # texts or fewer: somebody waits for a search
NO_EFFECT = "The instruction has no effect on this model: it ranks by the vectors of an embedding model."


class ModelApi:
    """One model behind the four routes."""

    def __init__(self, encoder: Encoder, workers: Workers, reranker: LateInteraction) -> None:
        self._encoder = encoder
        self._workers = workers
        self._reranker = reranker

    async def health(self) -> dict[str, Any]:
        """Up, and what it serves."""
        return {
            "status": "ok",
            "embedding_model": embedding.NAME,
            "reranker_model": rerank.NAME,
            "dimensions": embedding.DIMENSIONS,
            "max_tokens": embedding.MAX_TOKENS,
            "query_prefix": embedding.QUERY_PREFIX,
            "inputs": ["text"],
        }

    async def models(self) -> dict[str, Any]:
        """OpenAI's list of models."""
        names = (embedding.NAME, rerank.NAME)
        return {
            "object": "list",
            "data": [{"id": name, "object": "model", "created": 0, "owned_by": "local"} for name in names],
        }

    def embeddings(self, request: EmbeddingRequest) -> dict[str, Any]:
        """One vector of length 1 for every input, cut at 512 tokens. A query's prefix is the client's to add."""
        windows = [self._encoder.truncated(text) for text in embedding_texts(request)]
        vectors = self._embed(windows)
        tokens = sum(len(window.ids) for window in windows)
        return {
            "object": "list",
            "data": [
                {"object": "embedding", "index": index, "embedding": _encoded(vector, request.encoding_format)}
                for index, vector in enumerate(vectors)
            ],
            "model": embedding.NAME,
            "usage": {"prompt_tokens": tokens, "total_tokens": tokens},
        }

    def rerank(self, request: RerankRequest) -> dict[str, Any]:
        """The documents' indexes by falling score. ``instruction`` is echoed and has no effect on this model."""
        query, *documents = rerank_texts(request)
        ranking = self._reranker.rank(query, documents)
        order = sorted(range(len(documents)), key=lambda index: (-ranking.scores[index], index))
        return {
            "model": rerank.NAME,
            "results": [{"index": index, "relevance_score": ranking.scores[index]} for index in order[: request.top_n]],
            "instruction": request.instruction,
            "instruction_note": NO_EFFECT,
            "usage": {"prompt_tokens": ranking.token_count, "total_tokens": ranking.token_count},
        }

    def _embed(self, windows: Sequence[Window]) -> list[Vectors]:
        """Longest first, so that no core ends up alone with the longest text."""
        order = sorted(range(len(windows)), key=lambda index: -len(windows[index].ids))
        urgency = Urgency.QUERY if len(windows) <= FEW else Urgency.BULK
        done = self._workers.map(self._encoder.embedding, [windows[index] for index in order], urgency)
        vectors = dict(zip(order, done, strict=True))
        return [vectors[index] for index in range(len(windows))]


def _encoded(vector: Vectors, encoding_format: str) -> list[float] | str:
    if encoding_format == "base64":
        return base64.b64encode(vector.astype("<f4").tobytes()).decode("ascii")
    return [float(value) for value in vector.astype(np.float32)]
