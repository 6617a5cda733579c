"""What one process changes, the next answer of another already knows, however warm its cache."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from mnemosyne.local.state import ModelService, Neo4jService

pytestmark = [pytest.mark.neo4j, pytest.mark.models, pytest.mark.slow]

ROOT = Path(__file__).resolve().parents[2]
QUESTION = "how is the feed rate of the lathe set"
# Answers a line for each line of standard input, as one worker of a server would.
WORKER = f"""
import json, sys, django
django.setup()
from django.contrib.auth.models import User
from django.test import Client
client = Client(SERVER_NAME="127.0.0.1")
client.force_login(User.objects.get(username="reader"))
for line in sys.stdin:
    answer = client.post("/api/v1/library/search/", {{"query": {QUESTION!r}}}, content_type="application/json")
    body = answer.json()
    titles = sorted(hit["item_title"] for hit in body["candidates"])
    print(json.dumps({{"status": answer.status_code, "cached": body["cached"], "titles": titles}}), flush=True)
"""


class Worker:
    """The process that answers."""

    def __init__(self, environment: dict[str, str]) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-c", WORKER],
            env=environment,
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def ask(self) -> Any:
        """The answer to the question, as titles and whether it was cached."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())


@pytest.fixture
def environment(
    graph: None, neo4j_service: Neo4jService, model_service: ModelService, tmp_path: Path
) -> dict[str, str]:
    """Of processes with a database, a state folder and a Neo4j in common."""
    made = {
        **os.environ,
        "DJANGO_SETTINGS_MODULE": "mnemosyne.settings",
        "MNEMOSYNE_STATE_DIR": str(tmp_path / "state"),
        "DATABASE_URL": f"sqlite:///{tmp_path / 'db.sqlite3'}",
        "MEDIA_ROOT": str(tmp_path / "media"),
        "NEO4J_URL": neo4j_service.url,
        "NEO4J_USER": neo4j_service.user,
        "NEO4J_PASSWORD": neo4j_service.password,
        "EMBEDDING_URL": model_service.url,
        "EMBEDDING_MODEL": model_service.embedding_model,
        "EMBEDDING_DIMENSIONS": str(model_service.dimensions),
        "EMBEDDING_API_KEY": model_service.key,
        "LIBRARY_DEFAULT_VISIBILITY": "private",
    }
    (tmp_path / "state").mkdir()
    manage(made, "migrate", "--verbosity", "0")
    manage(made, "setup_models")
    manage(made, "shell", "-c", "from django.contrib.auth.models import User; User.objects.create_user('reader')")
    return made


@pytest.fixture
def worker(environment: dict[str, str]) -> Iterator[Worker]:
    started = Worker(environment)
    yield started
    started.process.kill()
    started.process.communicate()


def manage(environment: dict[str, str], *arguments: str) -> None:
    """Run a command in a process of its own."""
    done = subprocess.run(
        [sys.executable, "manage.py", *arguments],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr


def test_ingest_and_grants_of_another_process_count_at_once(
    environment: dict[str, str], worker: Worker, tmp_path: Path
) -> None:
    texts = tmp_path / "texts"
    texts.mkdir()
    (texts / "lathe.md").write_text("# Lathe manual\n\nThe feed rate of the lathe is set at the gearbox.\n")

    def take_in() -> None:
        manage(environment, "ingest", str(texts), "--library", "Manuals", "--type", "technical", "--quiet")

    take_in()
    assert worker.ask()["titles"] == []
    assert worker.ask()["cached"] is True
    manage(environment, "library", "Manuals", "--grant", "user:reader")
    assert worker.ask()["titles"] == ["Lathe manual"]
    assert worker.ask() == {"status": 200, "cached": True, "titles": ["Lathe manual"]}

    (texts / "song.md").write_text("# Lathe song\n\nSing of the lathe and of its feed rate, all day.\n")
    take_in()
    assert worker.ask() == {"status": 200, "cached": False, "titles": ["Lathe manual", "Lathe song"]}
    assert worker.ask()["cached"] is True

    (texts / "song.md").write_text("# Turbine song\n\nSing of the turbine, and of its blades, all day.\n")
    take_in()
    changed = worker.ask()
    assert (changed["cached"], "Lathe song" in changed["titles"]) == (False, False)

    manage(environment, "library", "Manuals", "--revoke", "user:reader")
    assert worker.ask()["titles"] == []
