"""The HTTP side: checks what came in, has it encoded, answers in the shapes of OpenAI and Synesis."""

import base64
from collections.abc import Sequence
from typing import Any

import numpy as np
from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException

from mnemosyne.local.model_server import encoder as embedding
from mnemosyne.local.model_server import rerank
from mnemosyne.local.model_server.body_limit import BodyLimit
from mnemosyne.local.model_server.encoder import Encoder, Vectors, Window
from mnemosyne.local.model_server.errors import ApiError
from mnemosyne.local.model_server.rerank import LateInteraction
from mnemosyne.local.model_server.schemas import Content, EmbeddingRequest, RerankRequest
from mnemosyne.local.model_server.workers import Urgency, Workers

MAX_TEXTS = 256  # inputs or documents a request
MAX_BODY = 16 * 1024 * 1024  # bytes
MAX_DOCUMENT = 200_000  # characters: every window of a document is read
FEW = 4  # texts or fewer: somebody waits for a search
TEXT_ONLY = (
    "This model reads text only: bge-small-en-v1.5 has no image encoder. Send the image's description or the text "
    "in it, or use a multimodal model server such as Synesis."
)
NO_EFFECT = "The instruction has no effect on this model: it ranks by the vectors of an embedding model."


def create_app(encoder: Encoder, workers: Workers, reranker: LateInteraction) -> FastAPI:
    """The application over one model."""
    app = FastAPI(title="Mnemosyne's local model server", docs_url=None, redoc_url=None)
    app.add_middleware(BodyLimit, limit=MAX_BODY)
    app.add_exception_handler(ApiError, _api_error)
    app.add_exception_handler(RequestValidationError, _validation_error)
    app.add_exception_handler(HTTPException, _http_error)
    app.add_exception_handler(Exception, _unexpected_error)

    @app.get("/health")
    async def health() -> dict[str, Any]:
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

    @app.get("/v1/models")
    async def models() -> dict[str, Any]:
        """OpenAI's list of models."""
        names = (embedding.NAME, rerank.NAME)
        return {
            "object": "list",
            "data": [{"id": name, "object": "model", "created": 0, "owned_by": "local"} for name in names],
        }

    @app.post("/v1/embeddings")
    def embeddings(request: EmbeddingRequest) -> dict[str, Any]:
        """One vector of length 1 for every input, cut at 512 tokens. A query's prefix is the client's to add."""
        texts = _embedding_texts(request)
        windows = [encoder.truncated(text) for text in texts]
        vectors = _embed(encoder, workers, windows)
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

    @app.post("/v1/rerank")
    def rank(request: RerankRequest) -> dict[str, Any]:
        """The documents' indexes by falling score. ``instruction`` is echoed and has no effect on this model."""
        _check_model(request.model, rerank.NAME)
        query, *documents = _rerank_texts(request)
        ranking = reranker.rank(query, documents)
        order = sorted(range(len(documents)), key=lambda index: (-ranking.scores[index], index))
        return {
            "model": rerank.NAME,
            "results": [{"index": index, "relevance_score": ranking.scores[index]} for index in order[: request.top_n]],
            "instruction": request.instruction,
            "instruction_note": NO_EFFECT,
            "usage": {"prompt_tokens": ranking.token_count, "total_tokens": ranking.token_count},
        }

    return app


def _embed(encoder: Encoder, workers: Workers, windows: Sequence[Window]) -> list[Vectors]:
    """Longest first, so that no core ends up alone with the longest text."""
    order = sorted(range(len(windows)), key=lambda index: -len(windows[index].ids))
    urgency = Urgency.QUERY if len(windows) <= FEW else Urgency.BULK
    done = workers.map(encoder.embedding, [windows[index] for index in order], urgency)
    vectors = dict(zip(order, done, strict=True))
    return [vectors[index] for index in range(len(windows))]


def _encoded(vector: Vectors, encoding_format: str) -> list[float] | str:
    if encoding_format == "base64":
        return base64.b64encode(vector.astype("<f4").tobytes()).decode("ascii")
    return [float(value) for value in vector.astype(np.float32)]


def _embedding_texts(request: EmbeddingRequest) -> list[str]:
    _check_model(request.model, embedding.NAME)
    if request.dimensions not in (None, embedding.DIMENSIONS):
        raise ApiError(
            400, f"{embedding.NAME} has {embedding.DIMENSIONS} dimensions, not the {request.dimensions} asked for."
        )
    texts = [request.input] if isinstance(request.input, str) else request.input
    _check_count(len(texts), "input")
    for index, text in enumerate(texts):
        if text.lstrip()[:11].lower() == "data:image/":
            raise ApiError(400, f"input[{index}] is an image. {TEXT_ONLY}", "unsupported_input")
        _check_text(text, f"input[{index}]")
    return texts


def _rerank_texts(request: RerankRequest) -> list[str]:
    """The query's text, then every document's."""
    _check_count(len(request.documents), "documents")
    texts = [_text(request.query, "query")]
    texts += [_text(document, f"documents[{index}]") for index, document in enumerate(request.documents)]
    return texts


def _text(content: str | Content, where: str) -> str:
    if isinstance(content, Content):
        if content.image:
            raise ApiError(400, f"{where} has an image. {TEXT_ONLY}", "unsupported_input")
        content = content.text or ""
    _check_text(content, where)
    return content


def _check_text(text: str, where: str) -> None:
    if not text.strip():
        raise ApiError(400, f"{where} is empty: there is nothing to make a vector from.")
    if len(text) > MAX_DOCUMENT:
        raise ApiError(413, f"{where} has {len(text)} characters, more than the {MAX_DOCUMENT} allowed.")


def _check_count(count: int, what: str) -> None:
    if count == 0:
        raise ApiError(400, f"{what} is empty: send at least one text.")
    if count > MAX_TEXTS:
        raise ApiError(413, f"{what} has {count} texts, more than the {MAX_TEXTS} allowed in one request.")


def _check_model(asked: str | None, served: str) -> None:
    if asked not in (None, "", served):
        raise ApiError(404, f"There is no model {asked!r} for this route: it serves {served!r}.", "model_not_found")


def _error(status: int, message: str, kind: str) -> JSONResponse:
    return JSONResponse({"error": {"message": message, "type": kind}}, status_code=status)


def _api_error(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, ApiError)  # noqa: S101 - registered for this class
    response = _error(error.status, error.message, error.kind)
    if error.status == 503:
        response.headers["Retry-After"] = "2"
    return response


def _validation_error(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, RequestValidationError)  # noqa: S101 - registered for this class
    reasons = {".".join(str(part) for part in found["loc"][1:]) + ": " + found["msg"] for found in error.errors()}
    return _error(400, "; ".join(sorted(reasons)), "invalid_request_error")


def _http_error(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, HTTPException)  # noqa: S101 - registered for this class
    return _error(error.status_code, f"{error.detail}: {request.method} {request.url.path}", "invalid_request_error")


def _unexpected_error(request: Request, error: Exception) -> JSONResponse:
    return _error(500, f"The model failed: {type(error).__name__}.", "server_error")
