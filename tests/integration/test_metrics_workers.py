"""/metrics as Prometheus reads it: over HTTP, from two gunicorn workers; and what callers can do to its labels."""

import os
import random
import re
import signal
import socket
import string
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import requests
from django.contrib.auth.models import User
from django.test import Client
from prometheus_client.parser import text_string_to_metric_families

from mnemosyne.local.state import Services
from tests.builder import Place, settle, unit

ROOT = Path(__file__).resolve().parents[2]
SEARCH = "/api/v1/library/search/"


def samples(text: str) -> dict[tuple[str, tuple[tuple[str, str], ...]], float]:
    """All samples of ours by name and labels."""
    return {
        (sample.name, tuple(sorted(sample.labels.items()))): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
        if sample.name.startswith("mnemosyne_")
    }


def counts(text: str) -> dict[str, float]:
    """The counters and the counts of the histograms, as 'name{label=value}'."""
    return {
        f"{name}{{{','.join(f'{key}={value}' for key, value in labels)}}}": number
        for (name, labels), number in samples(text).items()
        if name.endswith(("_requests_total", "_count"))
    }


# --- who may read, and what a label can be made of -------------------------------------------------------------


def test_metrics_are_for_this_machine_or_for_who_has_the_token(client: Client, settings: Any) -> None:
    assert client.get("/metrics").status_code == 200
    assert client.get("/metrics", REMOTE_ADDR="10.0.0.1").status_code == 403
    assert client.get("/metrics", headers={"X-Forwarded-For": "127.0.0.1"}).status_code == 403
    settings.METRICS_TOKEN = "s3cret"
    refused = client.get("/metrics")
    assert (refused.status_code, refused.headers["WWW-Authenticate"]) == (401, "Bearer")
    shown = client.get("/metrics", headers={"Authorization": "Bearer s3cret"}, REMOTE_ADDR="10.0.0.1")
    assert shown.status_code == 200
    assert shown.headers["Content-Type"].startswith("text/plain; version=")
    assert client.post("/metrics").status_code == 405


@pytest.mark.neo4j
def test_nothing_that_callers_make_up_becomes_a_series(db: None, graph: None, settings: Any) -> None:
    settings.SEARCH_LEG_TIMEOUT = 30.0
    Place("manuals").item("Lathe manual", ["The lathe turns."])
    settle()
    client = Client(raise_request_exception=False)
    client.force_login(User.objects.create_user("reader"))
    letters = random.Random(38)

    def word() -> str:
        return "".join(letters.choices(string.ascii_lowercase, k=12))

    body = {"query": "lathe", "rerank": False}
    client.post(SEARCH, body, content_type="application/json")
    before = samples(client.get("/metrics").content.decode())
    asked = [word() for _ in range(1_000)]
    for path in asked:
        client.get(f"/{path}/")
    for query in asked:
        given = {"query": query, "strategy": "lexical", "rerank": False, "include_images": False}
        client.post(SEARCH, {**given, "collection_uid": query}, content_type="application/json")
    for method in asked[:100]:
        client.generic(method.upper(), SEARCH)
    text = client.get("/metrics").content.decode()
    grown = set(samples(text)) - set(before)
    assert len(grown) < 20, grown
    assert not any(made_up in text for made_up in asked)


# --- two workers ----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Server:
    """`manage.py serve` with two workers, and a token for its API."""

    url: str
    token: str
    process: subprocess.Popen[bytes]

    def metrics(self) -> str:
        """What Prometheus reads."""
        answer = requests.get(f"{self.url}/metrics", timeout=10)
        assert answer.status_code == 200
        return answer.text

    def search(self, **body: Any) -> requests.Response:
        """One search, on a connection of its own, so that either worker may take it."""
        headers = {"Authorization": f"Token {self.token}", "Connection": "close"}
        return requests.post(f"{self.url}{SEARCH}", json=body, headers=headers, timeout=60)


SETUP_CODE = """
import django; django.setup()
from django.contrib.auth.models import User
from django.core.management import call_command
from rest_framework.authtoken.models import Token
call_command("migrate", verbosity=0)
call_command("setup_models", verbosity=0)
print(Token.objects.create(user=User.objects.create_user("reader")).key)
"""


@pytest.fixture
def server(tmp_path: Path, stack: Services, unused_port: int) -> Iterator[Server]:
    """A server on a database of its own, over the test stack."""
    assert stack.neo4j is not None
    assert stack.models is not None
    environment = {
        **os.environ,
        **{"DJANGO_SETTINGS_MODULE": "mnemosyne.settings", "MNEMOSYNE_STATE_DIR": str(tmp_path / "state")},
        **{"DATABASE_URL": f"sqlite:///{tmp_path / 'db.sqlite3'}", "NEO4J_URL": stack.neo4j.url},
        **{"NEO4J_USER": stack.neo4j.user, "NEO4J_PASSWORD": stack.neo4j.password},
        **{"EMBEDDING_URL": stack.models.url, "EMBEDDING_MODEL": stack.models.embedding_model},
        **{"EMBEDDING_API_KEY": stack.models.key, "EMBEDDING_DIMENSIONS": str(stack.models.dimensions)},
        **{"RERANKER_URL": stack.models.url, "RERANKER_MODEL": stack.models.reranker_model},
        **{"RERANKER_API_KEY": stack.models.key, "SEARCH_LEG_TIMEOUT": "30", "TMPDIR": str(tmp_path)},
    }
    environment.pop("PROMETHEUS_MULTIPROC_DIR", None)
    made = subprocess.run(
        [sys.executable, "-c", SETUP_CODE], capture_output=True, text=True, env=environment, cwd=ROOT, check=True
    )
    log = (tmp_path / "serve.log").open("wb")
    arguments = ["serve", "--bind", f"127.0.0.1:{unused_port}", "--workers", "2"]
    process = subprocess.Popen(
        [sys.executable, str(ROOT / "manage.py"), *arguments], env=environment, stdout=log, stderr=log
    )
    try:
        _wait_for(unused_port, process, tmp_path / "serve.log")
        yield Server(f"http://127.0.0.1:{unused_port}", made.stdout.split()[-1], process)
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(timeout=30)
        log.close()
    assert list(tmp_path.glob("mnemosyne-metrics-*")) == [], "the shared folder was left behind"


def _wait_for(port: int, process: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        assert process.poll() is None, log.read_text()
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
        except OSError:
            time.sleep(0.2)
        else:
            return
    pytest.fail(log.read_text())


def _children(pid: int) -> list[int]:
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


@pytest.mark.neo4j
@pytest.mark.models
@pytest.mark.slow
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads the workers' numbers from /proc")
def test_one_search_moves_each_family_by_one_whichever_worker_answers(graph: None, server: Server) -> None:
    place = Place("manuals")
    item = place.item("Lathe manual", ["The lathe feed rate is set by a lever."], [unit(1.0)])
    place.concept("Lathe")
    place.image(item, "a lathe", unit(1.0))
    settle()
    workers = _children(server.process.pid)
    assert len(workers) == 2
    before = counts(server.metrics())
    answer = server.search(query="lathe", library_uid=place.library_uid, library_type="technical")
    assert answer.status_code == 200, answer.text
    assert answer.json()["reranker_used"] is True, answer.text
    model = answer.json()["reranker_model"]
    # Each worker tells the sum of all: ask often enough to meet both.
    for _ in range(10):
        after = counts(server.metrics())
        moved = {name: after[name] - before.get(name, 0.0) for name in after}
        assert {name: change for name, change in moved.items() if change} == {
            **{f"mnemosyne_search_requests_total{{library_type=technical,search_type={leg}}}": 1 for leg in LEGS},
            **{f"mnemosyne_search_duration_seconds_count{{search_type={leg}}}": 1 for leg in LEGS},
            **{f"mnemosyne_search_candidates_total_count{{search_type={leg}}}": 1 for leg in LEGS},
            "mnemosyne_fusion_duration_seconds_count{}": 1,
            f"mnemosyne_rerank_requests_total{{model_name={model},status=success}}": 1,
            f"mnemosyne_rerank_duration_seconds_count{{model_name={model}}}": 1,
            "mnemosyne_rerank_candidates_count{}": 1,
            "mnemosyne_search_total_duration_seconds_count{}": 1,
        }
    for _ in range(8):
        assert server.search(query="lathe", rerank=False, include_images=False).status_code == 200
    # A worker that dies takes nothing with it: its counts stay, and another takes its place.
    os.kill(workers[0], signal.SIGKILL)
    deadline = time.monotonic() + 30
    while workers[0] in _children(server.process.pid) or len(_children(server.process.pid)) < 2:
        assert time.monotonic() < deadline
        time.sleep(0.1)
    total = counts(server.metrics())["mnemosyne_search_total_duration_seconds_count{}"]
    assert total - before.get("mnemosyne_search_total_duration_seconds_count{}", 0.0) == 9
    assert re.search(r'pid="\d+"', server.metrics()) is None


LEGS = ("vector", "fulltext", "graph", "image")
