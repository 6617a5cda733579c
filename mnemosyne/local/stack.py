"""Start, stop and describe the local services of a state folder: what the command line and the tests call."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from filelock import FileLock, Timeout

from mnemosyne.local.artifacts import fetch, load_lock
from mnemosyne.local.errors import LocalStackError
from mnemosyne.local.model_files import unpack
from mnemosyne.local.model_process import ModelServer
from mnemosyne.local.neo4j_server import Neo4jServer
from mnemosyne.local.progress import Progress
from mnemosyne.local.state import SERVICES_FILE, Services, make_private_dir, read_services, write_services

LOCK_SECONDS = 300.0


@dataclass(frozen=True, slots=True)
class Status:
    """What was started in a state folder, and which of it still runs."""

    services: Services | None
    neo4j_running: bool
    models_running: bool


def start(
    state_dir: Path,
    cache_dir: Path,
    neo4j: bool = True,
    models: bool = True,
    heap: str = "1g",
    progress: Progress | None = None,
    page_cache: str = "512m",
) -> Services:
    """Bring up what is asked for and is not up yet; returns where it all is. Safe to call again, and side by side.

    Raises LocalStackError with what failed and what to do.
    """
    progress = Progress() if progress is None else progress
    with _locked(state_dir, progress):
        before = read_services(state_dir) or Services()
        services = Services(
            neo4j=before.neo4j if Neo4jServer(state_dir).pid() is not None else None,
            models=before.models if ModelServer(state_dir).pid() is not None else None,
        )
        lock = load_lock()
        if neo4j:
            jars = fetch(lock.neo4j, cache_dir, progress)
            started = Neo4jServer(state_dir, heap, page_cache).start(jars, progress)
            services = Services(neo4j=started, models=services.models)
            write_services(state_dir, services)
        if models:
            files = unpack(lock.model, cache_dir, progress)
            services = Services(neo4j=services.neo4j, models=ModelServer(state_dir).start(files, progress))
        write_services(state_dir, services)
        return services


def stop(state_dir: Path, progress: Progress | None = None) -> list[str]:
    """Stop what runs and wait until it is gone; returns the names of what was stopped."""
    progress = Progress() if progress is None else progress
    if not state_dir.exists():
        return []
    with _locked(state_dir, progress):
        return _stop(state_dir, progress)


def reset(state_dir: Path, progress: Progress | None = None) -> list[str]:
    """Stop everything and delete the local Neo4j with its data and password; the cache of downloads stays."""
    progress = Progress() if progress is None else progress
    if not state_dir.exists():
        return []
    with _locked(state_dir, progress):
        _stop(state_dir, progress)
        removed = []
        for name in ("neo4j", "logs"):
            if (state_dir / name).exists():
                shutil.rmtree(state_dir / name)
                removed.append(str(state_dir / name))
        (state_dir / "neo4j.password").unlink(missing_ok=True)
        return removed


def status(state_dir: Path) -> Status:
    """What is known of a state folder, without changing it."""
    return Status(
        services=read_services(state_dir),
        neo4j_running=Neo4jServer(state_dir).pid() is not None,
        models_running=ModelServer(state_dir).pid() is not None,
    )


def _stop(state_dir: Path, progress: Progress) -> list[str]:
    stopped = []
    if ModelServer(state_dir).stop(progress):
        stopped.append("model server")
    if Neo4jServer(state_dir).stop(progress):
        stopped.append("Neo4j")
    (state_dir / SERVICES_FILE).unlink(missing_ok=True)
    return stopped


@contextmanager
def _locked(state_dir: Path, progress: Progress) -> Iterator[None]:
    """Only one command at a time changes a state folder; a second one waits and then finds the work done."""
    try:
        make_private_dir(state_dir)
        lock = FileLock(state_dir / "lock")
        try:
            lock.acquire(timeout=0)
        except Timeout:
            progress.say(f"Waiting for another command that works on {state_dir}")
            lock.acquire(timeout=LOCK_SECONDS)
    except Timeout:
        raise LocalStackError(
            f"Another command has been working on {state_dir} for {LOCK_SECONDS:.0f} s.",
            "Wait for it or end it, then run this one again.",
        ) from None
    except OSError as error:
        raise LocalStackError(
            f"The state folder {state_dir} cannot be used: {error}", "Name another by --state."
        ) from error
    try:
        yield
    finally:
        lock.release()
