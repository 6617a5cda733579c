"""Passages and pictures in Django's storage, under names made of their content."""

import hashlib
import logging
from collections.abc import Iterable
from typing import Final

from django.core.files.base import ContentFile
from django.core.files.storage import Storage

log = logging.getLogger(__name__)
_DIGEST_CHARS: Final = 16
_IMAGES: Final = "images/"


def chunk_key(library_uid: str, item_uid: str, index: int, text: str) -> str:
    """Where a passage is stored."""
    return f"chunks/{library_uid}/{item_uid}/{index:05d}-{_digest(text.encode())}.txt"


def image_key(library_uid: str, item_uid: str, index: int, data: bytes, suffix: str) -> str:
    """Where a picture is stored."""
    return f"{_IMAGES}{library_uid}/{item_uid}/{index:05d}-{_digest(data)}.{suffix}"


def thumbnail_key(key: str) -> str:
    """Where the thumbnail of a picture is stored, once someone has asked for it."""
    return f"{key}.small.jpg"


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:_DIGEST_CHARS]


def store(storage: Storage, files: Iterable[tuple[str, bytes]]) -> set[str]:
    """Write what is not there yet; returns the keys written. What a failed write left behind is removed."""
    written: set[str] = set()
    try:
        for key, data in files:
            if not storage.exists(key):
                saved = storage.save(key, ContentFile(data))
                written.add(saved)
                if saved != key:  # another process was quicker with the same content
                    storage.delete(saved)
                    written.discard(saved)
    except BaseException:
        remove(storage, written)
        raise
    return written


def remove(storage: Storage, keys: Iterable[str]) -> None:
    """Remove files; one that cannot be removed costs space and a log line, never the work."""
    for key in keys:
        try:
            storage.delete(key)
            if key.startswith(_IMAGES):
                storage.delete(thumbnail_key(key))
        except OSError:
            log.warning("stored file %s could not be removed", key, exc_info=True)
