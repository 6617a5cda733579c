"""Request bodies, read strictly: bounded, and every name given once."""

import json
from collections.abc import Mapping
from typing import IO, Any, Final, cast

from rest_framework import status
from rest_framework.exceptions import APIException, ParseError, ValidationError
from rest_framework.parsers import JSONParser
from rest_framework.request import Request

MAX_BODY_BYTES: Final = 1024 * 1024


class BodyTooLarge(APIException):
    """More was sent than a search can need."""

    status_code = status.HTTP_413_REQUEST_ENTITY_TOO_LARGE
    default_detail = f"The body must be at most {MAX_BODY_BYTES} bytes."
    default_code = "too_large"


class StrictJSONParser(JSONParser):
    """JSON whose objects name nothing twice. NaN and Infinity are refused, as is nesting without end."""

    def parse(
        self,
        stream: IO[Any],
        media_type: str | None = None,
        parser_context: Mapping[str, Any] | None = None,
    ) -> dict[str, Any]:
        """The decoded body. Raises `ParseError` (400) where it is no JSON."""
        try:
            text = stream.read().decode("utf-8")
            return cast(
                dict[str, Any],
                json.loads(text, object_pairs_hook=_unrepeated, parse_constant=_refused),
            )
        except RecursionError as error:
            raise ParseError("JSON parse error - nested too deeply") from error
        except ValueError as error:
            raise ParseError(f"JSON parse error - {error}") from error


def _unrepeated(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, value in pairs:
        if name in found:
            raise ValidationError({name: ["given more than once"]})
        found[name] = value
    return found


def _refused(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")


def check_size(request: Request, most: int = MAX_BODY_BYTES) -> None:
    """Refuse a body by its announced length, before it is read. Raises `BodyTooLarge`."""
    try:
        length = int(request.META.get("CONTENT_LENGTH") or 0)
    except ValueError:
        length = 0
    if length > most:
        raise BodyTooLarge(f"The body must be at most {most} bytes.")
