"""Taking things out of libraries again, and moving them; the libraries' revisions move with every step."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from django.core.files.storage import default_storage

from library.exceptions import InvalidRequest
from library.graph import writer
from library.ingest import storage as files
from library.models import LibraryAccess


@contextmanager
def changing(*library_uids: str) -> Iterator[None]:
    """Move revisions before and after a change: an answer that is made in between must not outlive it."""
    LibraryAccess.touch(library_uids)
    try:
        yield
    finally:
        LibraryAccess.touch(library_uids)


def items_named(library_uid: str, sources: Sequence[str]) -> list[str]:
    """The uids of a library's items by their source, as `ingest` reports it; all of them where none is named.

    Raises `InvalidRequest` naming the first that is not there.
    """
    known = writer.item_sources(library_uid)
    for source in sources:
        if source not in known:
            raise InvalidRequest("source", f"the library holds no {source!r}")
    return [known[source] for source in sources] if sources else list(known.values())


def remove_items(library_uid: str, uids: Sequence[str], progress: Callable[[int], None] = lambda _: None) -> None:
    """Remove items with all that hangs on them, each whole or not at all. Raises `GraphError`."""
    for uid in uids:
        with changing(library_uid):
            stale = writer.delete_item(uid)
        files.remove(default_storage, stale)
        progress(1)


def remove_library(library_uid: str, progress: Callable[[int], None] = lambda _: None) -> int:
    """Remove a library and all its items; how many there were. Its record, with its grants, goes last."""
    uids = items_named(library_uid, ())
    remove_items(library_uid, uids, progress)
    writer.delete_library(library_uid)
    LibraryAccess.objects.filter(pk=library_uid).delete()
    return len(uids)


def move_item(uid: str, collection_uid: str) -> None:
    """Move an item to a collection of its library or another. Raises `NotConfigured` where either does not exist."""
    libraries = writer.libraries_of(uid, collection_uid)
    with changing(*libraries):
        writer.move_item(uid, collection_uid)
