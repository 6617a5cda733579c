"""Which libraries a caller may see: the one place that every way in asks."""

from typing import Any


def allowed_library_uids(user: Any) -> frozenset[str] | None:
    """None means every library. Until libraries can be granted, all are visible to everyone who is signed in."""
    return None if user.is_authenticated else frozenset()
