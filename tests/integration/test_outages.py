"""Services that are gone, that hang, and that come back, during searches. Processes and signals are real.

The bound of every answer is the contract's: the legs' budget and one second more.
"""

import signal
import socket
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psutil
import pytest
from django.conf import settings as django_settings
from django.test import Client

from library.exceptions import SearchUnavailable
from library.graph import session
from library.models import AIModel, ModelAPI
from library.services.search import SearchService
from library.services.types import SearchCandidate, SearchRequest
from mnemosyne.local import process, stack
from mnemosyne.local.state import read_services
from tests.api_client import post, token_client
from tests.chaos import (
    BUDGET,
    MARGIN,
    QUESTION,
    QUIET,
    RECOVERY,
    ROOT,
    SETUP_CODE,
    Chaos,
    Traffic,
    Victim,
    server_environment,
    until,
    write_manuals,
)
from tests.conftest import make_schema

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
