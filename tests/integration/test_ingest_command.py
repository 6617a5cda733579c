"""`manage.py ingest`: what it prints, how it ends, and the real model server (cases 10a and 12 at ingest)."""

import json
from io import StringIO
from pathlib import Path

import pytest
import responses
from django.core.management import CommandError, call_command
from pytest_django.fixtures import Settings
from requests import PreparedRequest

from library.graph import session
from library.models import AIModel, LLMUsage
from tests.conftest import make_schema
from tests.fakes import EMBEDDINGS_URL, embedding_answer, record_models
from tests.shared import case_file, shared_path

pytestmark = [pytest.mark.neo4j, pytest.mark.django_db]


def run(*arguments: str) -> str:
    output = StringIO()
    call_command("ingest", *arguments, "--quiet", stdout=output)
    return output.getvalue()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "in"
    made.mkdir()
    return made


@pytest.mark.models
@pytest.mark.usefixtures("graph", "system_models")
def test_a_folder_through_the_real_models(folder: Path) -> None:
    (folder / "valve.md").write_text("# Relief valve\n\nOpens at five bar.\n")
    (folder / "cat.txt").write_text("The cat sleeps in the sun.")
    (folder / "data.bin").write_text("x")
    answer = json.loads(run(str(folder), "--library", "Notes", "--type", "technical", "--json"))
    assert (answer["ready"], answer["failed"], answer["skipped"], answer["chunks"]) == (2, 0, 1, 2)
    usage = LLMUsage.objects.get()
    assert (usage.purpose, usage.status, usage.inputs) == ("embedding", "success", 2)
    near = session.read(
        "MATCH (c:Chunk) RETURN c.title AS title, size(c.embedding) AS size, "
        "round(reduce(s = 0.0, x IN c.embedding | s + x * x), 3) AS length ORDER BY title",
        {},
    )
    assert [tuple(row.values()) for row in near] == [("Relief valve", 384, 1.0), ("cat", 384, 1.0)]
    assert run(str(folder), "--library", "Notes", "--type", "technical").splitlines()[-1] == (
        "0 ready, 2 unchanged, 1 skipped; 0 passages and 0 pictures written"
    )


@pytest.mark.models
@pytest.mark.usefixtures("graph", "system_models")
def test_a_beir_corpus_keeps_ids_and_abstracts_whole(folder: Path) -> None:
    lines = shared_path("data", "scifact", "corpus.jsonl").read_text().splitlines()[:12]
    (folder / "corpus.jsonl").write_text("\n".join(lines))
    run(str(folder), "--library", "SciFact", "--type", "technical")
    rows = session.read(
        "MATCH (i:Item) RETURN i.source AS id, i.title AS title, COUNT { (i)-[:HAS_CHUNK]->() } AS chunks", {}
    )
    expected = {row["_id"]: row for row in map(json.loads, lines)}
    assert {row["id"] for row in rows} == expected.keys()
    short = [row for row in rows if len(expected[row["id"]]["text"].split()) < 250]
    assert len(short) > 5
    assert {row["chunks"] for row in short} == {1}


@pytest.mark.usefixtures("graph")
def test_failures_are_listed_and_end_with_exit_code_one(folder: Path) -> None:
    record_models()
    (folder / "good.txt").write_text("good words")
    (folder / "bad.pdf").write_bytes(case_file("25_html_named.pdf").read_bytes())
    output = StringIO()
    with responses.RequestsMock() as mock, pytest.raises(CommandError, match="1 of 2 failed") as caught:
        mock.add_callback("POST", EMBEDDINGS_URL, embedding_answer([0.5] * 384))
        call_command("ingest", str(folder), "--library", "L", "--type", "journal", "--quiet", stdout=output)
    assert caught.value.returncode == 1
    assert output.getvalue().splitlines() == [
        "failed: bad.pdf: not readable: it is no PDF, or a broken one",
        "1 ready, 1 failed; 1 passages and 0 pictures written",
    ]


@pytest.mark.usefixtures("neo4j")
def test_vectors_of_another_size_fail_the_item_with_both_numbers(folder: Path) -> None:
    session.run_schema("MATCH (n) CALL (n) { DETACH DELETE n } IN TRANSACTIONS OF 5000 ROWS")
    make_schema(8)
    record_models(dimensions=8)
    (folder / "a.txt").write_text("words")
    with responses.RequestsMock() as mock, pytest.raises(CommandError, match="1 of 1 failed"):
        mock.add_callback("POST", EMBEDDINGS_URL, embedding_answer([1.0, 2.0, 3.0]))
        run(str(folder), "--library", "L", "--type", "technical")
    (row,) = session.read("MATCH (i:Item) RETURN i.status AS status, i.error AS error, COUNT { (:Chunk) } AS n", {})
    assert (row["status"], row["n"]) == ("failed", 0)
    assert row["error"] == "a.txt: The embedding service gave 3 dimensions, the index has 8"


@pytest.mark.usefixtures("graph")
def test_too_few_vectors_write_nothing(folder: Path) -> None:
    record_models(dimensions=4)
    make_schema(4)
    case = json.loads(case_file("fake_embeddings.json").read_text())
    assert "two_for_three" in case
    for name in "abc":
        (folder / f"{name}.txt").write_text(f"words of {name}")
    with responses.RequestsMock() as mock, pytest.raises(CommandError, match="3 of 3 failed"):
        mock.add("POST", EMBEDDINGS_URL, json={"data": []})
        run(str(folder), "--library", "L", "--type", "technical")
    assert session.read("MATCH (c:Chunk) RETURN count(c) AS n", {})[0]["n"] == 0


@pytest.mark.usefixtures("graph")
def test_a_service_with_a_smaller_batch_gets_halves_and_each_text_its_own_vector(
    folder: Path, settings: Settings
) -> None:
    record_models()
    AIModel.objects.update(max_batch=64)
    settings.EMBEDDING_BATCH_SIZE = 64
    accepted: list[int] = []

    def answer(request: PreparedRequest) -> tuple[int, dict[str, str], str]:
        texts = json.loads(request.body or "")["input"]
        if len(texts) > 32 or any("refused" in text for text in texts):
            return 413, {}, "too large"
        accepted.append(len(texts))
        vectors = [[float(text.split()[-1]) + 1.0] + [1.0] * 383 for text in texts]
        return 200, {}, json.dumps({"data": [{"index": n, "embedding": v} for n, v in enumerate(vectors)]})

    rows = [{"_id": str(n), "title": f"t{n}", "text": "refused 41" if n == 41 else f"text {n}"} for n in range(100)]
    (folder / "corpus.jsonl").write_text("\n".join(map(json.dumps, rows)))
    with responses.RequestsMock() as mock, pytest.raises(CommandError, match="1 of 100 failed"):
        mock.add_callback("POST", EMBEDDINGS_URL, answer)
        run(str(folder), "--library", "L", "--type", "technical")
    assert max(accepted) <= 32
    found = session.read(
        "MATCH (i:Item)-[:HAS_CHUNK]->(c) RETURN toInteger(i.source) AS n, c.embedding[0] AS first ORDER BY n", {}
    )
    assert [(row["n"], row["first"]) for row in found] == [(n, n + 1.0) for n in range(100) if n != 41]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nothing.txt", "--library", "L", "--type", "technical"], "nothing.txt does not exist"),
        ([".", "--library", " ", "--type", "technical"], "library: must be a name"),
        ([".", "--library", "L", "--type", "poems"], "invalid choice: 'poems'"),
        ([".", "--library", "L", "--type", "film", "--encoding", "klingon"], "'klingon' is no encoding"),
    ],
)
def test_what_makes_no_sense_is_refused_by_name(arguments: list[str], message: str) -> None:
    record_models()
    with pytest.raises(CommandError, match=message):
        run(*arguments)


@pytest.mark.usefixtures("neo4j")
def test_without_a_model_the_command_says_what_to_run(folder: Path) -> None:
    with pytest.raises(CommandError, match="setup_models"):
        run(str(folder), "--library", "L", "--type", "technical")
