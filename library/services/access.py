"""Which libraries a caller may see: the one place that every way in asks."""

from typing import Any

from library.content_types import CONTENT_TYPES
from library.exceptions import InvalidRequest
from library.services.types import Scope


def allowed_library_uids(user: Any) -> frozenset[str] | None:
    """None means every library. Until libraries can be granted, all are visible to everyone who is signed in."""
    return None if user.is_authenticated else frozenset()


def scope_of(
    allowed: frozenset[str] | None,
    library_uid: str | None = None,
    library_type: str | None = None,
    collection_uid: str | None = None,
) -> Scope:
    """The part of `allowed` that was asked for, for reads that are no search; '' is as good as not asked.

    Raises `InvalidRequest` for a type that does not exist.
    """
    if library_type and library_type not in CONTENT_TYPES:
        raise InvalidRequest("library_type", f"must be one of {', '.join(CONTENT_TYPES)}, not {library_type!r}")
    if library_uid:
        wanted = frozenset({library_uid})
        allowed = wanted if allowed is None else allowed & wanted
    return Scope(allowed, library_type or None, collection_uid or None)
