"""The Django app."""

from django.apps import AppConfig


class LibraryConfig(AppConfig):
    """Registers the app, its system checks and its models."""

    name = "library"
    verbose_name = "Mnemosyne library"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        from library import checks, signals  # noqa: F401  (registers the system checks and the signals)
