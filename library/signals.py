"""What moves a library's revision beside its content: grants that are given and withdrawn, in whatever way."""

from typing import Any

from django.db.models.signals import post_delete, post_save
from django.dispatch import receiver

from library.models import LibraryAccess, LibraryGrant


@receiver([post_save, post_delete], sender=LibraryGrant)
def grant_changed(instance: LibraryGrant, **kwargs: Any) -> None:
    """Also for grants that go with their user or group, and for those deleted in bulk."""
    LibraryAccess.touch([instance.library_id])
