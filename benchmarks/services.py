"""The benchmark's own services: a Neo4j for each corpus and one model server, kept between runs in one state folder."""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from typing import Final

from mnemosyne.local import stack
from mnemosyne.local.progress import Progress
from mnemosyne.local.state import ModelService, Neo4jService

# The same for every side. The store of 100,000 chunks and both indexes fit into them.
HEAP: Final = "2g"
PAGE_CACHE: Final = "2g"


@dataclass(frozen=True, slots=True)
class Bench:
    """Where everything lies, and the model server that runs."""

    state: Path
    cache: Path
    models: ModelService
    progress: Progress


def prepare(state: Path, fresh: bool, progress: Progress) -> Bench:
    """Start the model server and set Django up over the state folder. With `fresh` everything made before goes."""
    if fresh and state.exists():
        for folder in (state, *(state / name for name in ("small", "large"))):
            stack.stop(folder, progress)
        shutil.rmtree(state)
    # Read by mnemosyne.settings, in this process and in gunicorn's. Debugging would slow one side down.
    os.environ["MNEMOSYNE_STATE_DIR"] = str(state)
    os.environ["DEBUG"] = "false"
    os.environ["SEARCH_CACHE_TTL"] = "0"
    os.environ["API_THROTTLE_USER"] = ""
    os.environ.setdefault("SECRET_KEY", "benchmarks-only-reachable-from-this-machine")
    os.environ["DJANGO_SETTINGS_MODULE"] = "mnemosyne.settings"
    cache = Path(os.environ.get("MNEMOSYNE_CACHE_DIR", str(Path.home() / ".cache" / "mnemosyne")))
    models = stack.start(state, cache, neo4j=False, progress=progress).models
    assert models is not None  # noqa: S101 - asked for just above

    import django

    django.setup()
    from django.core.management import call_command

    call_command("migrate", verbosity=0)
    call_command("setup_models", verbosity=0, stdout=StringIO())
    return Bench(state, cache, models, progress)


@contextmanager
def neo4j(bench: Bench, name: str) -> Iterator[Neo4jService]:
    """The Neo4j of a corpus, with the settings pointing to it; stopped afterwards, its data kept."""
    from django.conf import settings

    from library.graph import session

    folder = bench.state / name
    service = stack.start(
        folder, bench.cache, models=False, heap=HEAP, page_cache=PAGE_CACHE, progress=bench.progress
    ).neo4j
    assert service is not None  # noqa: S101 - asked for just above
    settings.NEO4J_URL, settings.NEO4J_USER, settings.NEO4J_PASSWORD = service.url, service.user, service.password
    try:
        yield service
    finally:
        session.close()
        stack.stop(folder, bench.progress)


def stop(bench: Bench) -> None:
    """Stop the model server."""
    stack.stop(bench.state, bench.progress)
