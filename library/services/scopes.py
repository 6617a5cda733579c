"""From what a caller asked for and may see to a `Scope`, for reads that are no search. Pure."""

from library.content_types import CONTENT_TYPES
from library.exceptions import InvalidRequest
from library.services.types import Scope


def scope_of(
    allowed: frozenset[str] | None,
    library_uid: str | None = None,
    library_type: str | None = None,
    collection_uid: str | None = None,
) -> Scope:
    """The part of `allowed` (None: every library) that was asked for; '' is as good as not asked.

    Raises `InvalidRequest` for a type that does not exist.
    """
    if library_type and library_type not in CONTENT_TYPES:
        raise InvalidRequest("library_type", f"must be one of {', '.join(CONTENT_TYPES)}, not {library_type!r}")
    if library_uid:
        wanted = frozenset({library_uid})
        allowed = wanted if allowed is None else allowed & wanted
    return Scope(allowed, library_type or None, collection_uid or None)
