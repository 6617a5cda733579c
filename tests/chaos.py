"""Services that may be killed and stopped, and callers that go on searching meanwhile."""

import os
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil
import requests
from django.conf import settings as django_settings

from mnemosyne.local import process, stack
from mnemosyne.local.progress import Progress
from mnemosyne.local.state import Services
from tests.api_client import SEARCH
from tests.builder import Place, chunk_uid, settle, unit

ROOT = Path(__file__).resolve().parents[1]
QUIET = Progress(quiet=True)
QUESTION = "feed rate of the lathe"
# Seconds. Room for a machine that is busy with something else, where nothing hangs.
BUDGET = 5.0
# "Within seconds" of the moment that a service answers again; three where the machine is idle.
RECOVERY = 30.0
# What a search may take beside its legs (the contract).
MARGIN = 1.0


def write_manuals() -> Place:
    """Three manuals and their concept; all of them answer `QUESTION`."""
    place = Place("manuals")
    items = [
        place.item(f"Lathe manual {number}", ["The feed rate of the lathe is set by a lever."], [unit(1.0, number)])
        for number in range(3)
    ]
    place.concept("Lathe", {chunk_uid(item): 1.0 for item in items})
    settle()
    return place


@dataclass
class Victim:
    """A process of the stack, and how to bring it back with the same port, data and command."""

    record: Path
    mark: str
    pid: int
    port: int
    command: list[str]

    @classmethod
    def of(cls, record: Path, mark: str) -> "Victim":
        found = process.running(record, mark)
        assert found is not None
        return cls(record, mark, *found, psutil.Process(found[0]).cmdline())

    def signal(self, number: signal.Signals) -> None:
        os.kill(self.pid, number)

    def kill(self) -> None:
        """At once, and wait until it is gone."""
        self.signal(signal.SIGKILL)
        while process.is_ours(self.pid, self.mark):
            time.sleep(0.02)

    def start(self) -> None:
        """Again; returns before it answers."""
        log = self.record.parent / "again.log"
        self.pid = process.spawn(self.command, self.mark, self.record, log, self.port)

    @contextmanager
    def stopped(self) -> Iterator[None]:
        """While it exists, accepts connections, and does nothing."""
        self.signal(signal.SIGSTOP)
        try:
            yield
        finally:
            self.signal(signal.SIGCONT)


@dataclass(frozen=True)
class Chaos:
    """The stack and its two victims."""

    state_dir: Path
    services: Services
    neo4j: Victim
    models: Victim

    def up(self) -> None:
        """Whatever a test did to them: both run and answer."""
        for victim in (self.neo4j, self.models):
            if not process.is_ours(victim.pid, victim.mark):
                victim.start()
            victim.signal(signal.SIGCONT)
        stack.start(self.state_dir, django_settings.MNEMOSYNE_CACHE_DIR, progress=QUIET)


def until(true: Callable[[], bool], seconds: float) -> float:
    """Wait until something is true; returns how long it took."""
    started = time.monotonic()
    while not true():
        assert time.monotonic() - started < seconds, f"not within {seconds} s"
        time.sleep(0.1)
    return time.monotonic() - started


def server_environment(chaos: Chaos, folder: Path) -> dict[str, str]:
    """The settings of a process that works on the own stack, with a database of its own."""
    neo4j, models = chaos.services.neo4j, chaos.services.models
    assert neo4j is not None
    assert models is not None
    environment = {
        **os.environ,
        **{"DJANGO_SETTINGS_MODULE": "mnemosyne.settings", "MNEMOSYNE_STATE_DIR": str(folder / "state")},
        **{"DATABASE_URL": f"sqlite:///{folder / 'db.sqlite3'}", "TMPDIR": str(folder)},
        **{"NEO4J_URL": neo4j.url, "NEO4J_USER": neo4j.user, "NEO4J_PASSWORD": neo4j.password},
        **{"EMBEDDING_URL": models.url, "EMBEDDING_MODEL": models.embedding_model},
        **{"EMBEDDING_API_KEY": models.key, "EMBEDDING_DIMENSIONS": str(models.dimensions)},
        **{"RERANKER_URL": models.url, "RERANKER_MODEL": models.reranker_model, "RERANKER_API_KEY": models.key},
        "SEARCH_LEG_TIMEOUT": str(BUDGET),
        # Out of the cache the answers would stay whole, whatever is down.
        "SEARCH_CACHE_TTL": "0",
    }
    environment.pop("PROMETHEUS_MULTIPROC_DIR", None)
    return environment


@dataclass(frozen=True)
class Answer:
    """What one caller got. `at` is when it asked."""

    at: float
    seconds: float
    status: int
    body: Any
    text: str

    @property
    def is_whole(self) -> bool:
        """Everything that was asked for could be done."""
        return self.status == 200 and self.body["degraded"] is False and len(self.body["candidates"]) == 3


@dataclass
class Traffic:
    """Callers that search one after the other, until they are told to stop; all that they were answered."""

    url: str
    token: str
    process: subprocess.Popen[bytes]
    rerank: bool = False
    answers: list[Answer] = field(default_factory=list)
    _stop: threading.Event = field(default_factory=threading.Event)

    def ask(self) -> Answer:
        """One search, on a connection of its own, so that either worker may take it."""
        headers = {"Authorization": f"Token {self.token}", "Connection": "close"}
        body = {"query": QUESTION, "rerank": self.rerank}
        at = time.monotonic()
        answer = requests.post(f"{self.url}{SEARCH}", json=body, headers=headers, timeout=60)
        return Answer(at, time.monotonic() - at, answer.status_code, answer.json(), answer.text)

    @contextmanager
    def running(self, callers: int = 4) -> Iterator[None]:
        """While searches go on. What they were answered is judged at the end.

        A worker has four threads: a fifth caller might wait for the search of another, which is not what is measured.
        """
        self.answers.clear()
        self._stop.clear()
        threads = [threading.Thread(target=self._go_on) for _ in range(callers)]
        for thread in threads:
            thread.start()
        try:
            yield
        finally:
            self._stop.set()
            for thread in threads:
                thread.join(60)
        for answer in self.answers:
            assert_allowed(answer)

    def _go_on(self) -> None:
        while not self._stop.is_set():
            self.answers.append(self.ask())
            self._stop.wait(0.25)

    def since(self, moment: float) -> list[Answer]:
        """Answers to what was asked after a moment."""
        return [answer for answer in list(self.answers) if answer.at > moment]

    def wait_for(self, wanted: Callable[[Answer], bool], count: int, seconds: float) -> None:
        """Until `count` answers to what is asked from now on are as wanted, one after the other."""
        start = time.monotonic()

        def there() -> bool:
            latest = self.since(start)[-count:]
            return len(latest) == count and all(wanted(answer) for answer in latest)

        until(there, seconds)


def assert_allowed(answer: Answer) -> None:
    """What the contract allows, whatever has failed."""
    if answer.status == 200:
        legs = answer.body["legs"]
        failed = [name for name, leg in legs.items() if leg["status"] in ("error", "timeout")]
        skipped = legs["vector"]["status"] == "skipped"
        assert answer.body["degraded"] is bool(failed or skipped), answer.text
        assert all(legs[name]["reason"] for name in failed), answer.text
    else:
        assert answer.status == 503, answer.text
        assert answer.body["error"]["code"] == "search_unavailable", answer.text
    for internal in ("Traceback", "Neo.", "ServiceUnavailable", "Bolt", "bolt://", "Errno", "defunct"):
        assert internal not in answer.text
    # The reranker has a time of its own.
    reranking = answer.body["legs"]["rerank"]["time_ms"] / 1000 if answer.status == 200 else 0.0
    assert answer.seconds - reranking < BUDGET + MARGIN, (answer.seconds, answer.text)


SETUP_CODE = """
import django; django.setup()
from django.contrib.auth.models import User
from django.core.management import call_command
from rest_framework.authtoken.models import Token
call_command("migrate", verbosity=0)
call_command("setup_models", verbosity=0)
print(Token.objects.create(user=User.objects.create_user("reader")).key)
"""
