"""Services that are gone, that hang, and that come back, during searches. Processes and signals are real.

The bound of every answer is the contract's: the legs' budget and one second more.
"""

import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil
import pytest
import requests
from django.conf import settings as django_settings
from django.test import Client

from library.exceptions import SearchUnavailable
from library.graph import session
from library.models import AIModel, ModelAPI
from library.services.search import SearchService
from library.services.types import SearchCandidate, SearchRequest
from mnemosyne.local import process, stack
from mnemosyne.local.progress import Progress
from mnemosyne.local.state import Services, read_services
from tests.api_client import SEARCH, post, token_client
from tests.builder import Place, chunk_uid, settle, unit
from tests.conftest import make_schema

ROOT = Path(__file__).resolve().parents[2]
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


# --- the model service, from within one process -------------------------------------------------------------------


def record_service(url: str) -> None:
    """Records of an embedding model and a reranker at an address."""
    api = ModelAPI.objects.create(name="models", api_type="synesis", base_url=url)
    AIModel.objects.create(api=api, name="embedder", role="embedding", is_system=True, dimensions=384)
    AIModel.objects.create(api=api, name="reranker", role="reranker", is_system=True)


@contextmanager
def hanging_service() -> Iterator[str]:
    """The address of a service that accepts every connection and never answers."""
    with socket.create_server(("127.0.0.1", 0), backlog=64) as server:
        yield f"http://127.0.0.1:{server.getsockname()[1]}"


def timed_post(client: Client, **body: Any) -> tuple[Any, float]:
    """The answer of the API, and the seconds it took."""
    started = time.monotonic()
    answer = post(client, {"query": QUESTION, **body})
    return answer, time.monotonic() - started


def assert_found_without_vectors(found: Any) -> None:
    assert len(found["candidates"]) == 3
    assert (found["legs"]["fulltext"]["status"], found["legs"]["graph"]["status"]) == ("ok", "ok")
    assert found["legs"]["vector"]["status"] == "skipped"
    assert found["legs"]["vector"]["reason"].startswith("no embedding: the model service ")
    assert found["degraded"] is True
    assert found["search_strategy"] == "lexical"
    assert found["reranker_used"] is False


@pytest.mark.neo4j
def test_without_the_model_server_full_text_and_graph_answer(
    graph: None, db: None, settings: Any, unused_port: int
) -> None:
    settings.SEARCH_LEG_TIMEOUT = BUDGET
    write_manuals()
    record_service(f"http://127.0.0.1:{unused_port}")
    client = token_client()
    answer, seconds = timed_post(client)
    assert answer.status_code == 200
    assert_found_without_vectors(answer.json())
    assert "cannot be reached" in answer.json()["legs"]["vector"]["reason"]
    assert "cannot be reached" in answer.json()["legs"]["rerank"]["reason"]
    assert seconds < BUDGET + MARGIN
    vectors_only, _ = timed_post(client, strategy="semantic")
    assert (vectors_only.status_code, vectors_only.json()["error"]["code"]) == (503, "embedding_unavailable")


@pytest.mark.neo4j
def test_a_model_server_that_hangs_costs_one_budget_and_not_one_a_search(graph: None, db: None, settings: Any) -> None:
    settings.SEARCH_LEG_TIMEOUT = 3.0
    write_manuals()
    client = token_client()
    with hanging_service() as url:
        record_service(url)
        answer, seconds = timed_post(client)
        assert answer.status_code == 200
        assert_found_without_vectors(answer.json())
        assert "did not answer in time" in answer.json()["legs"]["vector"]["reason"]
        # Not RERANKER_TIMEOUT, which is ten times as long: who does not embed a query is not asked to re-rank.
        assert "left alone" in answer.json()["legs"]["rerank"]["reason"]
        assert 2.5 < seconds < 3.0 + MARGIN
        again, seconds = timed_post(client)
        assert_found_without_vectors(again.json())
        assert "left alone" in again.json()["legs"]["vector"]["reason"]
        assert seconds < 2.0


# --- a stack of its own, which may be killed ----------------------------------------------------------------------


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


@pytest.fixture(scope="module")
def own_stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Chaos]:
    """A Neo4j and a model server that no other test uses."""
    state_dir = tmp_path_factory.mktemp("chaos")
    stack.start(state_dir, django_settings.MNEMOSYNE_CACHE_DIR, progress=QUIET)
    services = read_services(state_dir)
    assert services is not None
    assert services.neo4j is not None
    neo4j = Victim.of(state_dir / "neo4j.pid.json", f"--home-dir={services.neo4j.home}")
    models = Victim.of(state_dir / "models.pid.json", f"--state={state_dir.resolve()}")
    chaos = Chaos(state_dir, services, neo4j, models)
    yield chaos
    session.close()
    for victim in (neo4j, models):
        if process.is_ours(victim.pid, victim.mark):
            victim.signal(signal.SIGCONT)
    stack.stop(state_dir, QUIET)


@pytest.fixture
def chaos(own_stack: Chaos, settings: Any) -> Chaos:
    """The own stack, up, and the settings pointing to it."""
    own_stack.up()
    assert own_stack.services.neo4j is not None
    settings.NEO4J_URL = own_stack.services.neo4j.url
    settings.NEO4J_USER = own_stack.services.neo4j.user
    settings.NEO4J_PASSWORD = own_stack.services.neo4j.password
    return own_stack


@pytest.fixture(scope="module")
def written() -> list[str]:
    """Names the stacks that hold the manuals already."""
    return []


@pytest.fixture
def manuals(chaos: Chaos, written: list[str]) -> Chaos:
    """The own stack with the manuals in it, written once."""
    if not written:
        make_schema(384)
        write_manuals()
        written.append(str(chaos.state_dir))
    return chaos


# --- Neo4j, from within one process -------------------------------------------------------------------------------


class SlowAndGone:
    """A full-text leg that finds a chunk at the end of its budget, and freezes Neo4j as it leaves."""

    def __init__(self, neo4j: Victim) -> None:
        self._neo4j = neo4j

    def retrieve(self, query: Any, scope: Any, timeout: float) -> list[SearchCandidate]:
        time.sleep(timeout - 0.2)
        self._neo4j.signal(signal.SIGSTOP)
        return [SearchCandidate(chunk_uid="c1", score=1.0, source="fulltext")]


@pytest.mark.neo4j
def test_what_is_read_after_the_legs_keeps_to_the_same_budget(manuals: Chaos, db: None, settings: Any) -> None:
    settings.SEARCH_LEG_TIMEOUT = 2.0
    assert session.read("RETURN 1 AS one", {}, 30.0)[0]["one"] == 1
    service = SearchService({"fulltext": SlowAndGone(manuals.neo4j)})
    request = SearchRequest(QUESTION, search_types=["fulltext"], strategy="lexical", include_images=False)
    started = time.monotonic()
    try:
        with pytest.raises(SearchUnavailable, match="cannot be read at the moment"):
            service.search(request)
        assert time.monotonic() - started < 2.0 + MARGIN
    finally:
        manuals.neo4j.signal(signal.SIGCONT)
    assert session.read("RETURN 1 AS one", {}, 30.0)[0]["one"] == 1


@pytest.mark.neo4j
def test_a_neo4j_that_hangs_is_no_answer_within_the_budget_and_no_pile_of_threads(
    manuals: Chaos, db: None, settings: Any
) -> None:
    settings.SEARCH_LEG_TIMEOUT = 1.0
    settings.NEO4J_POOL_SIZE = 10
    request = SearchRequest(QUESTION, rerank=False)
    seconds: list[float] = []

    def search() -> None:
        started = time.monotonic()
        with pytest.raises(SearchUnavailable):
            SearchService().search(request)
        seconds.append(time.monotonic() - started)

    with manuals.neo4j.stopped():
        for _ in range(2):
            callers = [threading.Thread(target=search) for _ in range(30)]
            for caller in callers:
                caller.start()
            for caller in callers:
                caller.join()
        # Two times thirty searches of three legs: more than there are threads and connections.
        assert len(seconds) == 60
        assert max(seconds) < 1.0 + MARGIN
        ours = Counter(thread.name.rpartition("-")[0] for thread in threading.enumerate())
        assert ours["search-leg"] <= 64
        assert ours["graph-read"] <= 32
    settings.SEARCH_LEG_TIMEOUT = 30.0
    until(lambda: answers_again(request), RECOVERY)


def answers_again(request: SearchRequest) -> bool:
    """Whether a search has full-text hits."""
    try:
        return len(SearchService().search(request).candidates) == 3
    except SearchUnavailable:
        return False


def until(true: Callable[[], bool], seconds: float) -> float:
    """Wait until something is true; returns how long it took."""
    started = time.monotonic()
    while not true():
        assert time.monotonic() - started < seconds, f"not within {seconds} s"
        time.sleep(0.1)
    return time.monotonic() - started


@pytest.mark.neo4j
@pytest.mark.slow
def test_a_command_ends_although_neo4j_hangs(manuals: Chaos, tmp_path: Path) -> None:
    environment = {**server_environment(manuals, tmp_path), "SEARCH_LEG_TIMEOUT": "1"}
    subprocess.run([sys.executable, "manage.py", "migrate", "-v0"], env=environment, cwd=ROOT, check=True)
    command = [sys.executable, "manage.py", "search", QUESTION, "--no-rerank"]
    with manuals.neo4j.stopped():
        ended = subprocess.run(command, env=environment, cwd=ROOT, capture_output=True, text=True, timeout=30)
    assert ended.returncode not in (0, None)
    assert "Check that Neo4j runs" in ended.stderr


# --- both, under a run of searches on two workers -----------------------------------------------------------------


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


@pytest.fixture(scope="module")
def served(own_stack: Chaos, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Traffic]:
    """`manage.py serve` with two workers, the same ones for all tests of this file."""
    folder = tmp_path_factory.mktemp("served")
    environment = server_environment(own_stack, folder)
    made = subprocess.run([sys.executable, "-c", SETUP_CODE], capture_output=True, text=True, env=environment, cwd=ROOT)
    assert made.returncode == 0, made.stderr
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{probe.getsockname()[1]}"
    log = folder / "serve.log"
    command = [sys.executable, str(ROOT / "manage.py"), "serve", "--bind", address, "--workers", "2"]
    with log.open("wb") as output:
        server = subprocess.Popen(command, env=environment, stdout=output, stderr=output)
    until(lambda: "Listening at" in log.read_text() and len(psutil.Process(server.pid).children()) == 2, 60)
    workers = psutil.Process(server.pid).children()
    try:
        yield Traffic(f"http://{address}", made.stdout.split()[-1], server)
        assert psutil.Process(server.pid).children() == workers, "a worker was replaced"
        # The leg threads, the reading threads, gunicorn's four, and a few of the libraries.
        assert max(worker.num_threads() for worker in workers) < 64 + 32 + 64 + 10
    finally:
        started = time.monotonic()
        server.send_signal(signal.SIGTERM)
        server.wait(timeout=60)
    assert time.monotonic() - started < 30
    said = log.read_text()
    assert "Internal Server Error" not in said
    assert "WORKER TIMEOUT" not in said


def open_connections(count: int) -> None:
    """Read on so many connections of this process at once."""
    together = threading.Barrier(count)

    def read() -> int:
        together.wait(10)
        return int(session.read("UNWIND range(1, 20000) AS n RETURN count(n) AS found", {}, 60.0)[0]["found"])

    with ThreadPoolExecutor(count) as readers:
        assert [done.result() for done in [readers.submit(read) for _ in range(count)]] == [20000] * count


@pytest.fixture
def traffic(manuals: Chaos, served: Traffic) -> Traffic:
    """The two workers, both of them warm: a Neo4j that has just started plans its first queries slowly."""
    served.rerank = False
    until(lambda: all(served.ask().is_whole for _ in range(6)), 60)
    return served


@pytest.mark.neo4j
@pytest.mark.models
@pytest.mark.slow
def test_a_model_server_killed_and_restarted_during_searches(manuals: Chaos, traffic: Traffic) -> None:
    traffic.rerank = True
    with traffic.running():
        traffic.wait_for(lambda answer: answer.is_whole and answer.body["reranker_used"], 4, 30)
        manuals.models.kill()
        killed = time.monotonic()
        traffic.wait_for(lambda answer: answer.status == 200 and answer.body["degraded"], 8, 30)
        for answer in traffic.since(killed):
            assert_found_without_vectors(answer.body)
        manuals.models.start()
        stack.start(manuals.state_dir, django_settings.MNEMOSYNE_CACHE_DIR, progress=QUIET)
        traffic.wait_for(lambda answer: answer.is_whole and answer.body["reranker_used"], 8, RECOVERY)


@pytest.mark.neo4j
@pytest.mark.models
@pytest.mark.slow
def test_a_neo4j_killed_and_restarted_during_searches(manuals: Chaos, traffic: Traffic) -> None:
    open_connections(3)
    with traffic.running():
        traffic.wait_for(lambda answer: answer.is_whole, 4, 30)
        manuals.neo4j.kill()
        killed = time.monotonic()
        traffic.wait_for(lambda answer: answer.status == 503, 12, 30)
        assert {answer.status for answer in traffic.since(killed)} == {503}
        message = traffic.since(killed)[-1].body["error"]["message"]
        assert message == "No part of the search could answer. Check that Neo4j runs, then try again."
        manuals.neo4j.start()
        stack.start(manuals.state_dir, django_settings.MNEMOSYNE_CACHE_DIR, progress=QUIET)
        # Here nobody has read since: the pooled connections are dead, and not one read fails for it.
        open_connections(3)
        traffic.wait_for(lambda answer: answer.status == 200, 12, RECOVERY)
    until(lambda: traffic.ask().is_whole, RECOVERY)


@pytest.mark.neo4j
@pytest.mark.models
@pytest.mark.slow
def test_a_neo4j_that_hangs_and_wakes_up_during_searches(manuals: Chaos, traffic: Traffic) -> None:
    with traffic.running():
        traffic.wait_for(lambda answer: answer.is_whole, 4, 30)
        with manuals.neo4j.stopped():
            # More than one round: later searches meet threads and connections that still hang.
            traffic.wait_for(lambda answer: answer.status == 503, 8, 6 * BUDGET)
        traffic.wait_for(lambda answer: answer.is_whole, 8, RECOVERY)
