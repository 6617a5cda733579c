"""Case 29: one driver for all threads, none shared across a fork, and none that outlives its server.

What a restarted or hanging Neo4j does to searches is in test_outages.py.
"""

import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
import requests
from django.db import connection as orm_connection

from library.exceptions import GraphTimeout
from library.graph import session
from library.services.search import SearchService
from library.services.types import SearchRequest
from mnemosyne.local.state import Neo4jService
from tests.api_client import SEARCH
from tests.builder import Place, settle

pytestmark = pytest.mark.neo4j
ROOT = Path(__file__).resolve().parents[2]
THREADS = 8
SEARCHES = 20
OURS_QUERY = "CALL dbms.listConnections() YIELD connectionId, userAgent RETURN connectionId"


@pytest.fixture
def lathe(graph: None) -> None:
    """Something to find."""
    place = Place("manuals")
    for number in range(5):
        place.item(f"Lathe manual {number}", ["The feed rate of the lathe is set by a lever."])
    place.concept("Lathe")
    settle()


def connections() -> set[str]:
    """The Bolt connections that the server has open; others' too, where the server is shared."""
    return {row["connectionId"] for row in session.read(OURS_QUERY, {})}


def test_threads_that_never_searched_before_share_one_pool_of_connections(lathe: None, db: None, settings: Any) -> None:
    settings.SEARCH_LEG_TIMEOUT = 30.0
    settings.NEO4J_CONNECTION_TIMEOUT = 30.0
    # Less than the 24 legs that eight threads run at once.
    settings.NEO4J_POOL_SIZE = 10
    before = connections()
    found: list[int] = []
    start = threading.Barrier(THREADS)

    def search(times: int) -> None:
        start.wait(10)
        for _ in range(times):
            response = SearchService().search(SearchRequest("feed rate of the lathe", rerank=False))
            assert {response.legs[leg].status for leg in ("fulltext", "graph")} <= {"ok", "empty"}, response.legs
            found.append(len(response.candidates))
        orm_connection.close()

    for times in (SEARCHES, 2):
        with ThreadPoolExecutor(THREADS) as threads:
            for done in [threads.submit(search, times) for _ in range(THREADS)]:
                done.result(120)
        assert 1 <= len(connections() - before) <= settings.NEO4J_POOL_SIZE
    assert found == [5] * THREADS * (SEARCHES + 2)


def test_another_setting_makes_another_driver_and_closes_the_one_before(neo4j: None, settings: Any) -> None:
    first = session.driver()
    assert session.driver() is first
    settings.NEO4J_POOL_SIZE = 7
    second = session.driver()
    assert second is not first
    assert session.read("RETURN 1 AS one", {})[0]["one"] == 1
    session.close()
    assert session.driver() is not second


def test_making_the_driver_asks_the_server_nothing(settings: Any) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        settings.NEO4J_URL = f"bolt://127.0.0.1:{silent.getsockname()[1]}"
        started = time.monotonic()
        session.driver()
        assert time.monotonic() - started < 1
    session.close()


SETUP_CODE = """
import django; django.setup()
from django.contrib.auth.models import User
from django.core.management import call_command
from rest_framework.authtoken.models import Token
call_command("migrate", verbosity=0)
print(Token.objects.create(user=User.objects.create_user("reader")).key)
"""
# The application, and one search before gunicorn forks its workers. Each answer names the worker it came from.
PRELOADED_CODE = """
import os
from mnemosyne.wsgi import application as searching
from django.db import connection
from library.services.search import SearchService
from library.services.types import SearchRequest

response = SearchService().search(SearchRequest("feed rate of the lathe", rerank=False))
assert len(response.candidates) == 5, response
connection.close()
PARENT = os.getpid()

def application(environ, start_response):
    def named(status, headers, *rest):
        return start_response(status, [*headers, ("X-Worker", str(os.getpid())), ("X-Parent", str(PARENT))], *rest)
    return searching(environ, named)
"""


@pytest.fixture
def preloaded(tmp_path: Path, neo4j_service: Neo4jService, lathe: None, unused_port: int) -> Iterator[tuple[str, str]]:
    """Address and token of `gunicorn --preload` with three workers, whose parent has searched before the fork."""
    (tmp_path / "preloaded.py").write_text(PRELOADED_CODE)
    environment = {
        **os.environ,
        **{"DJANGO_SETTINGS_MODULE": "mnemosyne.settings", "MNEMOSYNE_STATE_DIR": str(tmp_path / "state")},
        **{"DATABASE_URL": f"sqlite:///{tmp_path / 'db.sqlite3'}", "NEO4J_URL": neo4j_service.url},
        **{"NEO4J_USER": neo4j_service.user, "NEO4J_PASSWORD": neo4j_service.password},
        **{"SEARCH_LEG_TIMEOUT": "30", "TMPDIR": str(tmp_path)},
        **{"PYTHONPATH": f"{ROOT}{os.pathsep}{tmp_path}"},
    }
    environment.pop("PROMETHEUS_MULTIPROC_DIR", None)
    made = subprocess.run([sys.executable, "-c", SETUP_CODE], capture_output=True, text=True, env=environment)
    assert made.returncode == 0, made.stderr
    command = [sys.executable, "-m", "gunicorn", "--config", "python:mnemosyne.gunicorn", "--preload"]
    command += ["--bind", f"127.0.0.1:{unused_port}", "--workers", "3", "--threads", "1", "preloaded:application"]
    log = tmp_path / "serve.log"
    with log.open("wb") as output:
        process = subprocess.Popen(command, env=environment, stdout=output, stderr=output, cwd=ROOT)
    try:
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline and "Listening at" not in log.read_text():
            assert process.poll() is None, log.read_text()
            time.sleep(0.1)
        yield f"http://127.0.0.1:{unused_port}", made.stdout.split()[-1]
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(timeout=30)
    assert "Traceback" not in log.read_text()


@pytest.mark.slow
def test_all_workers_answer_where_their_parent_has_searched_before_the_fork(preloaded: tuple[str, str]) -> None:
    url, token = preloaded
    headers = {"Authorization": f"Token {token}", "Connection": "close"}
    body = {"query": "feed rate of the lathe", "rerank": False}

    def ask(_: int) -> requests.Response:
        return requests.post(f"{url}{SEARCH}", json=body, headers=headers, timeout=60)

    workers: set[str] = set()
    deadline = time.monotonic() + 60
    with ThreadPoolExecutor(6) as callers:
        while len(workers) < 3 and time.monotonic() < deadline:
            for answer in callers.map(ask, range(12)):
                assert answer.status_code == 200, answer.text
                assert len(answer.json()["candidates"]) == 5
                workers.add(answer.headers["X-Worker"])
                parent = answer.headers["X-Parent"]
    assert len(workers) == 3
    assert parent not in workers


def long_query(steps: int) -> str:
    """A query that no server has seen before, and that takes the longer to plan the more steps it has."""
    parts = [
        f"MATCH (a{n}:Absent)-[:TO*1..2]-(b{n}:Absent)-[:TO]-(c{n}:Absent) WHERE a{n}.x = b{n}.y AND b{n}.z < c{n}.x"
        for n in range(steps)
    ]
    return f"{' '.join(parts)} RETURN count(*) AS found // {time.time()}"


def is_in_time(query: str) -> bool:
    """Whether a read has its rows within a short time."""
    try:
        session.read(query, {}, 0.3)
    except GraphTimeout:
        return False
    return True


@pytest.mark.slow
def test_a_query_that_compiles_for_longer_than_it_may_take_has_a_plan_in_the_end(neo4j: None) -> None:
    # Cancelled while it is compiled, it would begin anew each time.
    steps = 20
    while is_in_time(query := long_query(steps)):
        steps += steps // 2
    deadline = time.monotonic() + 90
    while not is_in_time(query):
        assert time.monotonic() < deadline
        time.sleep(1)
