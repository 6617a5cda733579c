"""The far end of a model service, faked, to provoke what a real one seldom does. Everything on our side is real."""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import responses
from requests import PreparedRequest

from library.models import AIModel, ModelAPI

EMBEDDINGS_URL = "http://models.test/v1/embeddings"
RERANK_URL = "http://models.test/v1/rerank"


def record_models(dimensions: int = 384, reranker: bool = False) -> None:
    """ORM records of the fake service."""
    api = ModelAPI.objects.create(name="fake models", api_type="synesis", base_url="http://models.test")
    AIModel.objects.create(api=api, name="fake-embedder", role="embedding", is_system=True, dimensions=dimensions)
    if reranker:
        AIModel.objects.create(api=api, name="fake-reranker", role="reranker", is_system=True)


def embedding_answer(vector: list[float]) -> Callable[[PreparedRequest], tuple[int, dict[str, str], str]]:
    """The same vector for every input."""

    def answer(request: PreparedRequest) -> tuple[int, dict[str, str], str]:
        count = len(json.loads(request.body or "")["input"])
        data = [{"index": n, "embedding": vector} for n in range(count)]
        return 200, {}, json.dumps({"data": data, "usage": {"total_tokens": 7 * count}})

    return answer


@contextmanager
def fake_models(vector: list[float], rerank: Any = None) -> Iterator[responses.RequestsMock]:
    """Embeddings that are all `vector`; re-ranking answered by `rerank` (keyword arguments of `responses.add`)."""
    with responses.RequestsMock(assert_all_requests_are_fired=False) as mock:
        mock.add_callback("POST", EMBEDDINGS_URL, embedding_answer(vector))
        if rerank is not None:
            mock.add("POST", RERANK_URL, **rerank)
        yield mock
