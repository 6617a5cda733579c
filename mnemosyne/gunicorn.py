"""Gunicorn's hooks: `gunicorn -c python:mnemosyne.gunicorn mnemosyne.wsgi`, as `manage.py serve` does.

This file is read before the application is loaded, and so before prometheus_client, which decides at import by
PROMETHEUS_MULTIPROC_DIR whether the workers share their metrics.
"""

import os
import shutil
import tempfile
from pathlib import Path
from typing import Any

VARIABLE = "PROMETHEUS_MULTIPROC_DIR"

workers = 2
# Threads share one driver and its pool of Bolt connections; a search spends its time waiting for answers.
threads = 4
timeout = 120
preload_app = False
worker_tmp_dir = "/dev/shm" if os.path.isdir("/dev/shm") else None  # noqa: S108  (gunicorn's own advice)


def shared_folder() -> Path:
    """The folder that the workers share, made fresh: metrics of an earlier run are not ours to report."""
    given = os.environ.get(VARIABLE)
    if given is None:
        folder = Path(tempfile.mkdtemp(prefix="mnemosyne-metrics-"))
        os.environ[VARIABLE] = str(folder)
        return folder
    folder = Path(given)
    folder.mkdir(parents=True, exist_ok=True)
    return folder


_made = VARIABLE not in os.environ
_folder = shared_folder()


def _forget() -> None:
    for left in _folder.glob("*.db"):
        left.unlink(missing_ok=True)


def on_starting(server: Any) -> None:
    """Before any worker: forget what an earlier run left in a folder that was named to us."""
    _forget()


def child_exit(server: Any, worker: Any) -> None:
    """A worker ended: its gauges end with it, its counters stay."""
    from prometheus_client import multiprocess

    multiprocess.mark_process_dead(worker.pid)  # type: ignore[no-untyped-call]


def on_exit(server: Any) -> None:
    """The last one out tidies up: a folder of our own goes, one that was named to us is emptied."""
    if _made:
        shutil.rmtree(_folder, ignore_errors=True)
    else:
        _forget()
