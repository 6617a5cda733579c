"""Which libraries a caller may see: the one place that every way in asks.

The records of the ORM say who sees a library. One that has no record, because it came into the graph by another way
than the ingest, has the visibility that LIBRARY_DEFAULT_VISIBILITY names.
"""

from typing import Any

from django.db.models import Q

from library.conf import access_config
from library.content_types import CONTENT_TYPES
from library.exceptions import InvalidRequest
from library.graph import browse
from library.models import LibraryAccess, LibraryGrant
from library.services.types import Scope


def may_ask(user: Any) -> bool:
    """Whether a caller may ask at all: signed in, or anyone where public access is allowed."""
    return bool(user.is_authenticated and user.is_active) or access_config().public_access


def allowed_library_uids(user: Any) -> frozenset[str] | None:
    """The libraries that a caller sees; None means every one, now and later: for staff, and where nothing is hidden.

    Raises `GraphError` where the graph has to be asked for libraries without a record and cannot answer.
    """
    if not may_ask(user):
        return frozenset()
    if user.is_authenticated and user.is_active and (user.is_staff or user.is_superuser):
        return None
    visibilities = _visibilities(user)
    records = dict(LibraryAccess.objects.values_list("uid", "visibility"))
    seen = {uid for uid, visibility in records.items() if visibility in visibilities}
    if len(seen) < len(records):
        seen |= _granted(user) & records.keys()
    unrecorded_are_seen = access_config().default_visibility in visibilities
    if unrecorded_are_seen and len(seen) == len(records):
        return None
    if unrecorded_are_seen:
        seen |= browse.library_names().keys() - records.keys()
    return frozenset(seen)


def _visibilities(user: Any) -> frozenset[str]:
    public = LibraryAccess.Visibility.PUBLIC.value
    if user.is_authenticated and user.is_active:
        return frozenset({public, LibraryAccess.Visibility.EVERYONE.value})
    return frozenset({public})


def _granted(user: Any) -> frozenset[str]:
    """Libraries that the user, or a group of theirs, has a grant for."""
    if not (user.is_authenticated and user.is_active):
        return frozenset()
    grants = LibraryGrant.objects.filter(Q(user=user) | Q(group__in=user.groups.all()))
    return frozenset(grants.values_list("library_id", flat=True))


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
