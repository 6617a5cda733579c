"""Encoded passages by content, the least recently used given up first when the memory allowed is full."""

import hashlib
import threading
from collections import OrderedDict
from typing import Generic, Protocol, TypeVar


class Sized(Protocol):
    """Something that knows its size in bytes."""

    @property
    def nbytes(self) -> int:
        """Bytes held."""


Entry = TypeVar("Entry", bound=Sized)


class VectorCache(Generic[Entry]):
    """At most ``capacity`` bytes of entries. Safe to use from several threads."""

    def __init__(self, capacity: int) -> None:
        self._capacity = capacity
        self._entries: OrderedDict[bytes, Entry] = OrderedDict()
        self._held = 0
        self._lock = threading.Lock()

    @property
    def held(self) -> int:
        """Bytes held now."""
        return self._held

    def get(self, text: str) -> Entry | None:
        """The entry of this very text."""
        key = _key(text)
        with self._lock:
            entry = self._entries.get(key)
            if entry is not None:
                self._entries.move_to_end(key)
            return entry

    def put(self, text: str, entry: Entry) -> None:
        """Keep ``entry``, unless it alone is larger than the cache."""
        if entry.nbytes > self._capacity:
            return
        key = _key(text)
        with self._lock:
            replaced = self._entries.pop(key, None)
            self._held += entry.nbytes - (0 if replaced is None else replaced.nbytes)
            self._entries[key] = entry
            while self._held > self._capacity:
                _, oldest = self._entries.popitem(last=False)
                self._held -= oldest.nbytes


def _key(text: str) -> bytes:
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()
