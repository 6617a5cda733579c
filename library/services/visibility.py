"""Changing who sees a library: the record of the ORM, which decides, and the copy of it in the graph."""

from collections.abc import Mapping

from library.graph import writer
from library.models import LibraryAccess


def set_visibility(record: LibraryAccess, visibility: str) -> None:
    """Make a library private, for everyone or public, at the next request of anyone. Raises `GraphError`."""
    record.visibility = visibility
    record.save()
    writer.note_visibility(record.uid, visibility)


def record_all(known: Mapping[str, str], visibility: str) -> int:
    """Records for libraries of the graph (uid to name) that have none; how many were made."""
    recorded = set(LibraryAccess.objects.values_list("uid", flat=True))
    missing = [
        LibraryAccess(uid=uid, name=name, visibility=visibility) for uid, name in known.items() if uid not in recorded
    ]
    LibraryAccess.objects.bulk_create(missing, ignore_conflicts=True)
    return len(missing)
