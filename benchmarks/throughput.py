"""Sixteen callers at once: the product behind gunicorn, by its REST API, beside neo4j-graphrag in sixteen threads."""

import http.client
import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from benchmarks import given, peers
from benchmarks.data import Vectors
from benchmarks.latency import OURS
from benchmarks.services import Bench
from benchmarks.timing import percentile
from mnemosyne.local import process
from mnemosyne.local.state import Neo4jService

CLIENTS: Final = 16
WORKERS: Final = 2
THREADS: Final = 8
ROUNDS: Final = 3
START_SECONDS: Final = 60.0
ROUTE: Final = "/api/v1/library/search/"


@dataclass(slots=True)
class Load:
    """What one side did in all rounds together."""

    seconds: float = 0.0
    ms: list[float] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)

    def as_dict(self) -> dict[str, Any]:
        """Searches a second, answered ones only, with latencies and errors."""
        return {
            "per_second": len(self.ms) / self.seconds,
            "p50_ms": percentile(self.ms, 0.5),
            "p95_ms": percentile(self.ms, 0.95),
            "searches": len(self.ms),
            "errors": len(self.errors),
            "first_error": self.errors[0] if self.errors else "",
        }


def measure(bench: Bench, service: Neo4jService, texts: Sequence[str], vectors: Vectors) -> dict[str, Any]:
    """Distinct questions in rounds that take turns; the first round of each side warms up and does not count."""
    lists = [vector.tolist() for vector in vectors]
    size = len(texts) // (ROUNDS + 1)
    rounds = [range(start, start + size) for start in range(0, size * (ROUNDS + 1), size)]
    ours, theirs = Load(), Load()
    with _gunicorn(bench, service, texts, vectors) as (port, token), peers.connect(service) as driver:
        peers.prepare(driver)
        graphrag = peers.GraphRag(driver)
        with bench.progress.counting("Sixteen callers", 2 * len(rounds), "rounds") as counter:
            for number, questions in enumerate(rounds):
                for load, clients in (
                    (ours, [_Caller(port, token, texts).ask for _ in range(CLIENTS)]),
                    (theirs, [lambda i: graphrag.search(texts[i], lists[i])] * CLIENTS),
                ):
                    done = _round(clients, questions)
                    counter.update()
                    if number:
                        load.seconds += done.seconds
                        load.ms += done.ms
                        load.errors += done.errors
    found = {"gunicorn": ours.as_dict(), "neo4j-graphrag": theirs.as_dict()}
    ratio = found["gunicorn"]["per_second"] / found["neo4j-graphrag"]["per_second"]
    return found | {"clients": CLIENTS, "workers": WORKERS, "threads": THREADS, "ratio": ratio}


def _round(clients: Sequence[Callable[[int], object]], questions: Sequence[int]) -> Load:
    """All clients take questions from one list until it is empty."""
    load = Load()
    lock, waiting = threading.Lock(), iter(questions)

    def work(ask: Callable[[int], object]) -> None:
        while True:
            with lock:
                question = next(waiting, None)
            if question is None:
                return
            started = time.perf_counter()
            try:
                ask(question)
            except Exception as error:
                # Whatever it is, it is this question's outcome: counted and shown.
                load.errors.append(f"{type(error).__name__}: {error}")
            else:
                load.ms.append(1000 * (time.perf_counter() - started))

    started = time.perf_counter()
    with ThreadPoolExecutor(len(clients)) as pool:
        list(pool.map(work, clients))
    load.seconds = time.perf_counter() - started
    return load


class _Caller:
    """One client of the REST API with a connection that is kept."""

    def __init__(self, port: int, token: str, texts: Sequence[str]) -> None:
        self._http = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        self._headers = {"Authorization": f"Token {token}", "Content-Type": "application/json"}
        self._texts = texts

    def ask(self, question: int) -> None:
        """Raises RuntimeError for an answer that is no whole search."""
        body = json.dumps({"query": self._texts[question], "strategy": "hybrid", **OURS})
        self._http.request("POST", ROUTE, body, self._headers)
        answer = self._http.getresponse()
        content = answer.read()
        if answer.status != 200 or b'"degraded":false' not in content:
            raise RuntimeError(f"status {answer.status}: {content[:300]!r}")


@contextmanager
def _gunicorn(bench: Bench, service: Neo4jService, texts: Sequence[str], vectors: Vectors) -> Iterator[tuple[int, str]]:
    """The project served as `manage.py serve` does, over this Neo4j; yields its port and a caller's token."""
    given.write(bench.state, texts, vectors)
    port = process.free_port(8300)
    log = bench.state / "gunicorn.log"
    environment = os.environ | {
        "NEO4J_URL": service.url,
        "NEO4J_USER": service.user,
        "NEO4J_PASSWORD": service.password,
    }
    command = [sys.executable, "-m", "gunicorn", "--config", "python:mnemosyne.gunicorn"]
    command += ["--bind", f"127.0.0.1:{port}", "--workers", str(WORKERS), "--threads", str(THREADS)]
    with log.open("wb") as stream:
        server = subprocess.Popen(  # noqa: S603 - our own interpreter
            [*command, "benchmarks.wsgi:application"],
            cwd=Path(__file__).resolve().parent.parent,
            env=environment,
            stdout=stream,
            stderr=subprocess.STDOUT,
        )
    try:
        _wait(server, port, log)
        yield port, _token()
    finally:
        server.terminate()
        server.wait(timeout=30)


def _wait(server: "subprocess.Popen[bytes]", port: int, log: Path) -> None:
    deadline = time.monotonic() + START_SECONDS
    while not process.listens(server.pid, port):
        if server.poll() is not None or time.monotonic() > deadline:
            raise RuntimeError(f"gunicorn did not start:\n{log.read_text(errors='replace')[-2000:]}")
        time.sleep(0.2)


def _token() -> str:
    from django.contrib.auth import get_user_model
    from rest_framework.authtoken.models import Token

    user, _ = get_user_model().objects.get_or_create(username="benchmark", defaults={"is_superuser": True})
    return str(Token.objects.get_or_create(user=user)[0].key)
