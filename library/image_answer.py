"""A picture as an HTTP answer: whole or small, to those who may see it."""

import hashlib
from typing import Any

from django.core.files.base import ContentFile
from django.core.files.storage import default_storage
from django.http import Http404, HttpResponse, HttpResponseBase
from django.utils.cache import get_conditional_response

from library.conf import ingest_config
from library.exceptions import ExtractionError
from library.graph import browse
from library.ingest.storage import thumbnail_key
from library.pictures import media_type
from library.services.types import Scope


def image_answer(request: Any, scope: Scope, uid: str, small: bool) -> HttpResponseBase:
    """The bytes of a picture of the scope. Raises `Http404` for any other, `GraphError`.

    Private: what one caller may see, a shared cache must not show to another. A browser keeps it for five minutes, and
    asks whether it has changed after that.
    """
    key = browse.image_key(scope, uid)
    if not key:
        raise Http404
    # Stored under a name made of its content: what has another content has another name.
    etag = f'"{hashlib.sha256(f"{key} {small}".encode()).hexdigest()[:32]}"'
    headers = {"Cache-Control": "private, max-age=300", "X-Content-Type-Options": "nosniff", "ETag": etag}
    unchanged = get_conditional_response(request, etag, response=None)
    if unchanged is not None and unchanged.status_code == 304:
        for name, value in headers.items():
            unchanged.headers[name] = value
        return unchanged
    content = _small(key) if small else _stored(key)
    kind = media_type(content)
    if kind is None:
        raise Http404
    return HttpResponse(content, content_type=kind, headers=headers)


def _stored(key: str) -> bytes:
    try:
        with default_storage.open(key) as stored:
            return bytes(stored.read())
    except FileNotFoundError:
        raise Http404 from None


def _small(key: str) -> bytes:
    """The thumbnail, made at its first use and kept beside the picture."""
    kept = thumbnail_key(key)
    if default_storage.exists(kept):
        return _stored(kept)
    from library.ingest.images import decode_image

    try:
        content = decode_image(_stored(key), "the picture", ingest_config().max_image_pixels).thumbnail()
    except ExtractionError:
        raise Http404 from None
    saved = default_storage.save(kept, ContentFile(content))
    if saved != kept:  # another request was quicker
        default_storage.delete(saved)
    return content
