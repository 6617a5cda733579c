"""The application: routes, the limit on bodies, and every error in one shape."""

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException

from mnemosyne.local.model_server.api import ModelApi
from mnemosyne.local.model_server.body_limit import BodyLimit
from mnemosyne.local.model_server.errors import ApiError

MAX_BODY = 16 * 1024 * 1024  # bytes


def create_app(api: ModelApi) -> FastAPI:
    """The application over one model."""
    app = FastAPI(title="Mnemosyne's local model server", docs_url=None, redoc_url=None)
    app.add_middleware(BodyLimit, limit=MAX_BODY)
    app.add_exception_handler(ApiError, _api_error)
    app.add_exception_handler(RequestValidationError, _validation_error)
    app.add_exception_handler(HTTPException, _http_error)
    app.add_exception_handler(Exception, _unexpected_error)
    app.add_api_route("/health", api.health, methods=["GET"])
    app.add_api_route("/v1/models", api.models, methods=["GET"])
    app.add_api_route("/v1/embeddings", api.embeddings, methods=["POST"])
    app.add_api_route("/v1/rerank", api.rerank, methods=["POST"])
    return app


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
    reasons = {".".join(str(part) for part in found["loc"]) + ": " + found["msg"] for found in error.errors()}
    return _error(400, "; ".join(sorted(reasons)), "invalid_request_error")


def _http_error(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, HTTPException)  # noqa: S101 - registered for this class
    return _error(error.status_code, f"{error.detail}: {request.method} {request.url.path}", "invalid_request_error")


def _unexpected_error(request: Request, error: Exception) -> JSONResponse:
    return _error(500, f"The model failed: {type(error).__name__}.", "server_error")
