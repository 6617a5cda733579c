"""System checks: settings that cannot work are said at start-up, not at the first search."""

from collections.abc import Callable, Sequence
from typing import Any

from django.apps import AppConfig
from django.core.checks import CheckMessage, Error, register
from django.core.exceptions import ImproperlyConfigured

from library import conf


@register()
def check_settings(app_configs: Sequence[AppConfig] | None, **kwargs: Any) -> list[CheckMessage]:
    """Every group of settings can be read."""
    readers: tuple[Callable[[], object], ...] = (
        conf.graph_config,
        conf.index_config,
        conf.search_config,
        conf.access_config,
        conf.model_config,
        conf.ingest_config,
    )
    found: list[CheckMessage] = []
    for reader in readers:
        try:
            reader()
        except (ImproperlyConfigured, ValueError) as error:
            found.append(Error(str(error), id="library.E001"))
    return found
