"""Whole answers and the vectors of questions, kept in Django's cache.

The key of an answer holds all that it follows from: the request, what the caller may see, the settings, the models, and
the revision of every library that was looked at. What has changed has another key, so nothing is ever taken out by
hand, and no process need tell another. A cache that fails costs a log line and the time that it would have saved.
"""

import hashlib
import logging
import unicodedata
from collections.abc import Callable, Iterator
from dataclasses import fields
from importlib.metadata import version
from typing import Any, Final

from django.core.cache import cache

from library.conf import index_config, model_config, search_config
from library.models import AIModel, LibraryAccess
from library.services.types import SearchRequest, SearchResponse

log = logging.getLogger(__name__)

_PREFIX: Final = f"mnemosyne:{version('mnemosyne-library')}"
# Above so many libraries all revisions are read, those of others too: a list of names would be the longer way.
_LISTED: Final = 500


def answer_key(request: SearchRequest) -> str:
    """The key of a request's answer as things stand now; it changes with anything that may change the answer."""
    parts = (
        *_asked(request),
        repr(search_config()),
        repr(model_config()),
        repr(index_config()),
        *_models(),
        *_revisions(request),
    )
    return _key("answer", *parts)


def cached_answer(key: str) -> SearchResponse | None:
    """The answer kept under a key, if there is one."""
    found = _get(key)
    return found if isinstance(found, SearchResponse) else None


def keep_answer(key: str, request: SearchRequest, response: SearchResponse) -> None:
    """Keep an answer that lacks nothing, unless a change has overtaken it on its way."""
    if answer_key(request) == key:
        _set(key, response, search_config().cache_ttl)


def query_vector(name: str, dimensions: int, text: str, make: Callable[[], list[float]]) -> list[float]:
    """The vector of a question (instruction and words), from the cache or made; raises as `make` does."""
    ttl = search_config().cache_ttl
    if not ttl:
        return make()
    key = _key("vector", name, str(dimensions), text)
    found = _get(key)
    if isinstance(found, list):
        return found
    vector = make()
    _set(key, vector, ttl)
    return vector


def _asked(request: SearchRequest) -> Iterator[str]:
    """Name and value of every field that takes part in comparing requests, in one form for what means the same."""
    for field in fields(request):
        value = getattr(request, field.name)
        if field.compare:
            yield f"{field.name}={_normal(value)}"


def _normal(value: Any) -> str:
    if isinstance(value, str):
        return repr(" ".join(unicodedata.normalize("NFC", value).split()))
    if isinstance(value, bytes):
        return hashlib.sha256(value).hexdigest()
    if isinstance(value, frozenset | list):
        return ",".join(sorted(value))
    return repr(value)


def _models() -> Iterator[str]:
    """The system's models as they are recorded."""
    rows = AIModel.objects.filter(is_system=True, api__is_active=True).order_by("role")
    for row in rows.values_list("role", "name", "dimensions", "supports_images", "api__api_type", "api__base_url"):
        yield repr(row)


def _revisions(request: SearchRequest) -> Iterator[str]:
    """uid and revision of each library of the scope that has a record."""
    allowed = request.scope.library_uids
    rows = LibraryAccess.objects.order_by("uid")
    if allowed is not None and len(allowed) <= _LISTED:
        rows = rows.filter(uid__in=allowed)
    for uid, revision in rows.values_list("uid", "revision"):
        if allowed is None or uid in allowed:
            yield f"{uid}:{revision}"


def _key(kind: str, *parts: str) -> str:
    digest = hashlib.sha256()
    for part in parts:
        # Lengths between the parts: what one ends with can never be taken for the next one's beginning.
        digest.update(f"{len(part)}:{part}".encode("utf-8", "surrogatepass"))
    return f"{_PREFIX}:{kind}:{digest.hexdigest()}"


def _get(key: str) -> Any:
    # Backends raise errors of their own libraries, which need not be installed here: all of them mean "not cached".
    try:
        return cache.get(key)
    except Exception:
        log.exception("The cache could not be read")
        return None


def _set(key: str, value: Any, ttl: int) -> None:
    try:
        cache.set(key, value, ttl)
    except Exception:
        log.exception("The cache could not be written")
