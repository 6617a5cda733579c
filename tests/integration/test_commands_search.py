"""The commands over the real Neo4j: what they print, where errors go, which exit codes they give."""

import json
import os
import subprocess
import sys
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.management import call_command
from django.core.management.base import CommandError
from django.test import Client

from library.graph import session
from library.models import AIModel, LLMUsage, ModelAPI
from mnemosyne.local.state import Neo4jService
from tests.builder import Place, settle, unit, write

ROOT = Path(__file__).resolve().parents[2]
NOT_AT_START = ("onnxruntime", "pandas", "yake", "pypdf", "PIL", "tokenizers", "semantic_text_splitter", "lxml")


@pytest.fixture(autouse=True)
def patience(settings: Any) -> None:
    """A Neo4j that has just started plans its first queries for seconds; how long is not what is tested here."""
    settings.SEARCH_LEG_TIMEOUT = 30.0


@pytest.fixture
def manual(graph: None) -> Place:
    """Two items that a search for 'lathe' finds."""
    place = Place("manuals")
    place.item("Lathe manual", ["The lathe feed rate is set under /opt/feed and written in C++."])
    place.item("Wood turning", ["A lathe turns wood."])
    settle()
    return place


def run(*arguments: str, **options: Any) -> str:
    """What a command prints."""
    out = StringIO()
    call_command(*arguments, stdout=out, no_color=True, **options)
    return out.getvalue()


@pytest.mark.neo4j
def test_search_prints_rank_title_place_score_and_legs(db: None, manual: Place) -> None:
    shown = run("search", "lathe", "--no-rerank", "--fusion", "rrf")
    lines = shown.splitlines()
    assert {lines[0], lines[4]} == {"  1. Lathe manual", "  2. Wood turning"}
    assert "technical · found by fulltext · score 0.0164" in lines[1]
    legs = next(line for line in lines if line.startswith("legs: "))
    assert "fulltext ok 2 in " in legs
    assert "vector skipped (" in legs


@pytest.mark.neo4j
def test_search_as_json_is_what_the_api_answers(db: None, manual: Place) -> None:
    printed = json.loads(run("search", "lathe feed", "--no-rerank", "--json"))
    client = Client()
    client.force_login(User.objects.create_user("reader"))
    body = {"query": "lathe feed", "rerank": False}
    answered = client.post("/api/v1/library/search/", body, content_type="application/json").json()
    assert list(printed) == list(answered)
    for timed in (printed, answered):
        for name in ("search_time_ms", "metrics"):
            del timed[name]
        for leg in timed["legs"].values():
            del leg["time_ms"]
    assert printed == answered
    assert len(printed["candidates"]) == 2


@pytest.mark.neo4j
def test_search_is_held_to_a_library_by_name_or_uid(db: None, manual: Place) -> None:
    tales = Place("tales", "fiction")
    tales.item("The lathe's tale", ["A lathe dreamt of wood."])
    settle()
    for options in (["--library", "tales"], ["--library-uid", tales.library_uid], ["--type", "fiction"]):
        found = json.loads(run("search", "lathe", "--no-rerank", "--json", *options))
        assert [hit["item_title"] for hit in found["candidates"]] == ["The lathe's tale"], options


@pytest.mark.parametrize(
    ("options", "named"),
    [
        *[(["--limit", value], "limit") for value in ("0", "-1", "abc", "1e9", "", "201")],
        (["--offset", "-1"], "offset"),
        (["--offset", "x"], "offset"),
        (["--page", "1"], "--page"),
        (["--limit", "1", "--limit", "2"], "limit"),
        (["--type", "cookery"], "library_type"),
        (["--strategy", "magic"], "strategy"),
        (["--fusion", "cold"], "fusion"),
        (["--library", "a", "--library-uid", "b"], "library"),
    ],
)
def test_bad_arguments_are_named_and_exit_with_2(db: None, options: list[str], named: str) -> None:
    with pytest.raises(CommandError) as raised:
        run("search", "lathe", *options)
    assert named in str(raised.value)
    # Django's own parser raises with 1 when a command is called from Python; from the shell it exits with 2.
    assert raised.value.returncode == 2 or str(raised.value).startswith("Error: ")


def manage(*arguments: str | bytes, **environment: str) -> subprocess.CompletedProcess[str]:
    """A command in a process of its own."""
    return subprocess.run(
        [sys.executable, str(ROOT / "manage.py"), *arguments],
        capture_output=True,
        text=True,
        timeout=60,
        env={**os.environ, **environment},
        check=False,
    )


@pytest.fixture(scope="module")
def elsewhere(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The environment of a process with a database of its own and no Neo4j (nothing listens on port 1)."""
    folder = tmp_path_factory.mktemp("elsewhere")
    environment = {"MNEMOSYNE_STATE_DIR": str(folder), "NEO4J_URL": "bolt://127.0.0.1:1"}
    environment["DATABASE_URL"] = f"sqlite:///{folder / 'db.sqlite3'}"
    made = manage("migrate", "-v0", **environment)
    assert made.returncode == 0, made.stderr
    return environment


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["search", "lathe"], 1, "Neo4j"),
        (["search", "lathe", "--limit", "0"], 2, "limit: must be from 1 to 200, not 0"),
        (["search", "lathe", "--limit", "abc"], 2, "--limit: invalid int value: 'abc'"),
        (["search", "lathe", "--limit", "1", "--limit", "2"], 2, "--limit: given more than once"),
        (["search", "   "], 2, "query: must not be empty"),
        (["search"], 2, "query"),
        (["search", b"\xff"], 2, "query: "),
        (["search_stats"], 1, "Neo4j cannot be reached"),
        (["setup_models"], 1, "No embedding model is configured"),
    ],
)
def test_exit_codes_and_errors_without_a_traceback(
    elsewhere: dict[str, str], arguments: list[str | bytes], code: int, said: str
) -> None:
    ended = manage(*arguments, **elsewhere)
    assert ended.returncode == code, ended.stderr
    assert said in ended.stderr
    assert "Traceback" not in ended.stderr
    assert ended.stdout == ""


def test_a_search_loads_nothing_of_ingest(elsewhere: dict[str, str]) -> None:
    code = (
        "import sys; from django.core.management import execute_from_command_line as run\n"
        "try: run(['manage.py', 'search', 'lathe'])\n"
        f"except SystemExit: print([name for name in {NOT_AT_START!r} if name in sys.modules])"
    )
    ended = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        timeout=60,
        cwd=ROOT,
        env={**os.environ, **elsewhere, "DJANGO_SETTINGS_MODULE": "mnemosyne.settings"},
        check=False,
    )
    assert ended.stdout.strip() == "[]", ended.stderr


@pytest.mark.neo4j
def test_the_command_finds_in_a_process_of_its_own(
    elsewhere: dict[str, str], manual: Place, neo4j_service: Neo4jService
) -> None:
    named = {"NEO4J_URL": neo4j_service.url, "NEO4J_USER": neo4j_service.user}
    named |= {"NEO4J_PASSWORD": neo4j_service.password, "SEARCH_LEG_TIMEOUT": "30"}
    ended = manage("search", "feed", "--json", **{**elsewhere, **named})
    assert ended.returncode == 0, ended.stderr
    assert [hit["item_title"] for hit in json.loads(ended.stdout)["candidates"]] == ["Lathe manual"]


# --- search_stats ---------------------------------------------------------------------------------------------


@pytest.mark.neo4j
def test_stats_count_what_there_is(db: None, graph: None) -> None:
    api = ModelAPI.objects.create(name="a", base_url="http://a.test")
    model = AIModel.objects.create(api=api, name="new-model", role="embedding", dimensions=384, is_system=True)
    manuals = Place("manuals")
    item = manuals.item("Lathe", ["one", "two", "three"], [unit(1.0), unit(0.5, 0.5), None])
    manuals.concept("Gear")
    manuals.image(item, "a gear", unit(1.0))
    Place("empty", "film")
    write("MATCH (i:Item {uid: $uid}) SET i.status = 'failed'", uid=manuals.item("Broken"))
    write("MATCH (c:Chunk {chunk_index: 0}) SET c.embedding_model = 'new-model'")
    for status, tokens in (("success", 10), ("success", None), ("error", None)):
        LLMUsage.objects.create(
            **{"model": model, "model_name": "new-model", "purpose": "embedding", "status": status},
            **{"inputs": 2, "tokens": tokens, "duration_ms": 10.0},
        )
    found = json.loads(run("search_stats", "--json"))
    empty, full = found["libraries"]
    assert empty == {
        **{"uid": Place("empty", "film").library_uid, "name": "empty", "library_type": "film", "items": {}},
        **{"chunks": 0, "images": 0, "concepts": 0, "chunks_without_vector": 0, "stale_vectors": 0},
    }
    assert full == {
        **{"uid": manuals.library_uid, "name": "manuals", "library_type": "technical"},
        **{"items": {"failed": 1, "ready": 1}, "chunks": 3, "images": 1, "concepts": 1},
        # One chunk and one picture were embedded by 'test'; one chunk has no vector at all.
        **{"chunks_without_vector": 1, "stale_vectors": 2},
    }
    assert {index["name"]: index["state"] for index in found["indexes"]} == {
        **{"chunk_embedding_index": "online", "image_embedding_index": "online"},
        **{"chunk_text_fulltext": "online", "concept_name_fulltext": "online", "item_title_fulltext": "online"},
    }
    assert found["usage"] == [
        {"model_name": "new-model", "purpose": "embedding", "calls": 3, "failed": 1, "inputs": 6, "tokens": 10}
        | {"mean_ms": 10.0}
    ]


@pytest.mark.neo4j
def test_stats_warn_of_stale_vectors_and_missing_indexes(db: None, empty_neo4j: None) -> None:
    api = ModelAPI.objects.create(name="a", base_url="http://a.test")
    AIModel.objects.create(api=api, name="new-model", role="embedding", dimensions=384, is_system=True)
    place = Place("manuals")
    place.item("Lathe", ["one"])
    write("MATCH (c:Chunk) SET c.embedding = [1.0], c.embedding_model = 'old-model'")
    shown = run("search_stats")
    assert "1 stale vectors: made by another model than new-model" in shown
    assert "chunk_text_fulltext: missing, 0 %; run 'manage.py setup_neo4j_indexes'" in shown
    session.run_schema("MATCH (n) DETACH DELETE n")


# --- setup_models ---------------------------------------------------------------------------------------------

EMBEDDING = {"base_url": "http://synesis:8400/v1/", "api_key": "k3y", "model": "bge", "dimensions": 384}
RERANKER = {"base_url": "http://synesis:8400", "model": "qwen", "api_type": "synesis"}


def test_setup_models_makes_the_records_and_a_second_run_changes_nothing(db: None, settings: Any) -> None:
    settings.LIBRARY_SYSTEM_MODELS = {"embedding": {**EMBEDDING, "max_tokens": 256}, "reranker": RERANKER}
    first = run("setup_models")
    assert first.count(": created") == 4
    assert "k3y" not in first
    embedding, reranker = AIModel.system("embedding"), AIModel.system("reranker")
    assert (embedding.name, embedding.dimensions, embedding.max_tokens) == ("bge", 384, 256)
    assert (embedding.api.base_url, embedding.api.api_key) == ("http://synesis:8400", "k3y")
    assert (embedding.api.api_type, reranker.api.api_type) == ("openai", "synesis")
    second = run("setup_models")
    assert second.count(": unchanged") == 4
    assert (ModelAPI.objects.count(), AIModel.objects.count()) == (2, 2)


def test_setup_models_moves_the_system_mark_and_keeps_the_old_record(db: None, settings: Any) -> None:
    settings.LIBRARY_SYSTEM_MODELS = {"embedding": EMBEDDING}
    run("setup_models")
    settings.LIBRARY_SYSTEM_MODELS = {"embedding": {**EMBEDDING, "model": "larger", "dimensions": 1024}}
    shown = run("setup_models")
    assert AIModel.system("embedding").name == "larger"
    assert AIModel.objects.filter(name="bge", is_system=False).exists()
    assert "Vectors had 384 numbers" in shown
    assert "setup_neo4j_indexes --rebuild" in shown
    assert "No reranker is configured" in shown
    settings.LIBRARY_SYSTEM_MODELS = {"embedding": EMBEDDING}
    run("setup_models")
    assert AIModel.system("embedding").name == "bge"
    assert AIModel.objects.count() == 2


def test_setup_models_takes_over_from_a_model_made_by_hand(db: None, settings: Any) -> None:
    api = ModelAPI.objects.create(name="by hand", base_url="http://a.test")
    AIModel.objects.create(api=api, name="mine", role="embedding", dimensions=8, is_system=True)
    settings.LIBRARY_SYSTEM_MODELS = {"embedding": EMBEDDING}
    run("setup_models")
    assert AIModel.system("embedding").name == "bge"


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"base_url": "synesis:8400"}, "EMBEDDING_URL"),
        ({"base_url": "ftp://synesis"}, "EMBEDDING_URL"),
        ({"model": ""}, "EMBEDDING_MODEL"),
        ({"dimensions": 0}, "EMBEDDING_DIMENSIONS"),
        ({"api_type": "magic"}, "EMBEDDING_API_TYPE"),
    ],
)
def test_setup_models_names_a_setting_that_makes_no_sense_and_changes_nothing(
    db: None, settings: Any, change: dict[str, Any], named: str
) -> None:
    settings.LIBRARY_SYSTEM_MODELS = {"reranker": RERANKER, "embedding": {**EMBEDDING, **change}}
    with pytest.raises(CommandError, match=named) as raised:
        run("setup_models")
    assert raised.value.returncode == 2
    assert not ModelAPI.objects.exists()


def test_setup_models_without_any_is_an_error_that_says_what_to_do(db: None, settings: Any) -> None:
    settings.LIBRARY_SYSTEM_MODELS = {}
    with pytest.raises(CommandError, match=r"mnemosyne\.local up.*EMBEDDING_URL") as raised:
        run("setup_models")
    assert raised.value.returncode == 1
