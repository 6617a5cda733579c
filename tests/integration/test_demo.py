"""`manage.py demo` on a fresh state: the real Neo4j, the real models, the sample library, as a newcomer runs it."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from library.ingest.sample import sample_libraries
from mnemosyne.local.state import Services, write_services

ROOT = Path(__file__).resolve().parents[2]
# The passage "Generator functions" is a part of the type hierarchy; the near miss is a story about a power generator.
QUESTIONS = {
    "how do generators give control back to the caller": "The standard type hierarchy",
    "who kept the lamp burning when the power failed": "The Keeper of Skerrow Point",
    "why does salt make stoneware look like orange peel": "What the salt kiln leaves",
}

pytestmark = [pytest.mark.neo4j, pytest.mark.models, pytest.mark.slow]


@pytest.fixture
def fresh_state(empty_neo4j: None, stack: Services, tmp_path: Path) -> Path:
    """A state folder in which nothing was ever done, beside an empty Neo4j and running models."""
    write_services(tmp_path, stack)
    return tmp_path


def manage(state: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run manage.py with that state; nothing of a developer's .env counts."""
    settings = {
        "NEO4J_URL": "",
        "EMBEDDING_URL": "",
        "RERANKER_URL": "",
        "DATABASE_URL": f"sqlite:///{state}/db.sqlite3",
        "MNEMOSYNE_STATE_DIR": str(state),
        "MEDIA_ROOT": str(state / "media"),
        # What is asked is the order, not the speed of a machine that may be busy.
        "SEARCH_LEG_TIMEOUT": "60",
        "RERANKER_TIMEOUT": "120",
    }
    environment = {**os.environ, **settings}
    command = [sys.executable, "manage.py", *arguments]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done


def first_titles(response: dict[str, Any]) -> list[str]:
    """The titles of the first three hits."""
    return [candidate["item_title"] for candidate in response["candidates"][:3]]


def password_and_token(output: str) -> tuple[str, str]:
    found = re.search(r"password +(\S+)\n +API token +(\S+)\n", output)
    assert found is not None, output
    return found[1], found[2]


def test_a_fresh_demo_answers_and_a_second_one_changes_nothing(fresh_state: Path) -> None:
    first, *others = QUESTIONS
    answered = {first: json.loads(manage(fresh_state, "demo", "--json", "--", first).stdout)}
    for question in others:
        answered[question] = json.loads(manage(fresh_state, "search", "--json", "--", question).stdout)
    missed = {
        question: first_titles(answered[question])
        for question, title in QUESTIONS.items()
        if title not in first_titles(answered[question])
    }
    assert missed == {}
    assert all(answer["reranker_used"] and not answer["degraded"] for answer in answered.values())

    second = manage(fresh_state, "demo")
    assert second.stderr.count("0 passages and 0 pictures written") == len(sample_libraries())
    assert f"Searching for: {first}" in second.stderr
    assert QUESTIONS[first] in second.stdout
    again = json.loads(manage(fresh_state, "search", "--json", "--", first).stdout)
    assert [hit["chunk_uid"] for hit in again["candidates"]] == [
        hit["chunk_uid"] for hit in answered[first]["candidates"]
    ]

    sign_in = password_and_token(second.stdout)
    assert password_and_token(manage(fresh_state, "demo").stdout) == sign_in
    note = fresh_state / "demo-sign-in.json"
    assert note.stat().st_mode & 0o777 == 0o600
    assert json.loads(note.read_text(encoding="utf-8"))["password"] == sign_in[0]


@pytest.mark.django_db
def test_a_changed_password_is_not_touched_and_not_shown(tmp_path: Path) -> None:
    from django.contrib.auth import get_user_model

    from library.management.commands.demo import demo_sign_in

    made = demo_sign_in(tmp_path)
    user = get_user_model().objects.get(username="demo")
    assert user.check_password(made.password)
    assert not user.is_staff
    assert demo_sign_in(tmp_path) == made

    user.set_password("my own, thank you")
    user.save()
    shown = demo_sign_in(tmp_path)
    assert (shown.password, shown.token) == ("", made.token)
    assert "changed" in shown.note
    user.refresh_from_db()
    assert user.check_password("my own, thank you")
