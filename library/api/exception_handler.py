"""Every error of the API in one shape, and the one place where the library's errors get an HTTP status.

{"error": {"code": "invalid", "message": "limit: must be from 1 to 200, not 0", "fields": {"limit": ["..."]}}}
"""

import logging
from collections.abc import Mapping, Sequence
from typing import Any, Final

from rest_framework import exceptions
from rest_framework.response import Response
from rest_framework.views import exception_handler as drf_exception_handler

from library.exceptions import (
    GraphError,
    InvalidRequest,
    MnemosyneError,
    ModelError,
    NotConfigured,
    SchemaMismatch,
    SearchUnavailable,
)

log = logging.getLogger(__name__)

# What the caller got wrong is 400; what is missing or down behind us is 503, so that a client tries again.
_STATUS: Final[tuple[tuple[type[MnemosyneError], int], ...]] = (
    (InvalidRequest, 400),
    (SearchUnavailable, 503),
    (NotConfigured, 503),
    (GraphError, 503),
    (ModelError, 503),
    (SchemaMismatch, 503),
)


def http_status(error: MnemosyneError) -> int:
    """The HTTP status of an error of ours; 500 for one that no caller should ever see."""
    return next((status for kind, status in _STATUS if isinstance(error, kind)), 500)


def exception_handler(error: Exception, context: Mapping[str, Any]) -> Response | None:
    """Answer an error; None hands it to Django, which logs it and answers 500."""
    if isinstance(error, MnemosyneError):
        return _answer_ours(error)
    answer = drf_exception_handler(error, dict(context))
    if answer is None:
        return None
    fields = _fields(answer.data) if isinstance(error, exceptions.ValidationError) else {}
    answer.data = {"error": {"code": _code(error), "message": _message(answer.data, fields), "fields": fields}}
    return answer


def _answer_ours(error: MnemosyneError) -> Response:
    status = http_status(error)
    if status >= 500:
        log.warning("%s: %s", error.code, error, exc_info=error.__cause__)
    fields = {error.field: [error.message]} if isinstance(error, InvalidRequest) else {}
    return Response({"error": {"code": error.code, "message": str(error), "fields": fields}}, status=status)


def _code(error: Exception) -> str:
    if isinstance(error, exceptions.ValidationError):
        return "invalid"
    return str(getattr(error, "default_code", "not_found"))


def _fields(data: Any) -> dict[str, list[str]]:
    """Messages by field; those of an element of a list belong to the list."""
    if not isinstance(data, Mapping):
        return {"body": _messages(data)}
    return {("body" if name == "non_field_errors" else str(name)): _messages(value) for name, value in data.items()}


def _messages(value: Any) -> list[str]:
    if isinstance(value, Mapping):
        return [message for inner in value.values() for message in _messages(inner)]
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [message for inner in value for message in _messages(inner)]
    return [str(value)]


def _message(data: Any, fields: Mapping[str, list[str]]) -> str:
    if fields:
        return "; ".join(f"{name}: {' '.join(messages)}" for name, messages in fields.items())
    return str(data.get("detail", "The request failed.")) if isinstance(data, Mapping) else str(data)
