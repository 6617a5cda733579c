"""`manage.py search_eval` from a collection's folder to its figures."""

import json
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

pytestmark = [pytest.mark.neo4j, pytest.mark.models, pytest.mark.django_db]

CORPUS = [
    {"_id": "d1", "title": "Tides", "text": "The moon pulls the water of the seas towards itself."},
    {"_id": "d2", "title": "Glaze", "text": "Salt thrown into a hot kiln covers stoneware with glass."},
    {"_id": "d3", "title": "Nothing", "text": ""},
]
QUERIES = [{"_id": "q1", "text": "why does the sea rise and fall"}, {"_id": "q2", "text": "salt glaze on stoneware"}]


@pytest.fixture
def collection(tmp_path: Path) -> Path:
    folder = tmp_path / "tiny"
    (folder / "qrels").mkdir(parents=True)
    for name, rows in (("corpus", CORPUS), ("queries", QUERIES)):
        lines = "".join(json.dumps(row) + "\n" for row in rows)
        (folder / f"{name}.jsonl").write_text(lines, encoding="utf-8")
    (folder / "qrels" / "test.tsv").write_text("query-id\tcorpus-id\tscore\nq1\td1\t1\nq2\td2\t1\n", encoding="utf-8")
    return folder


def test_a_collection_is_taken_in_searched_and_measured(
    graph: None, system_models: None, collection: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    runs = collection.parent / "runs"
    call_command(
        "search_eval", collection, "--ingest", "--config", "vector", "hybrid", "--by-type", "--format", "json",
        "--compare", "vector", "hybrid", "--runs", runs,
    )  # fmt: skip
    said = json.loads(capsys.readouterr().out)
    totals = [row for row in said["measured"] if row["question_type"] == "all"]
    assert [(row["dataset"], row["configuration"], row["ndcg_10"], row["failed"]) for row in totals] == [
        ("tiny", "vector", 1.0, 0),
        ("tiny", "hybrid", 1.0, 0),
    ]
    assert all(row["p50_ms"] > 0 for row in totals)
    assert sum(row["queries"] for row in said["measured"] if row["configuration"] == "hybrid") == 4
    assert said["compared"][0]["equal"] == 2
    assert (runs / "tiny.hybrid.trec").read_text(encoding="utf-8").startswith("q1 Q0 d1 1 ")


def test_a_library_that_is_not_there_is_named_with_what_to_do(graph: None, collection: Path) -> None:
    with pytest.raises(CommandError, match="no library 'eval tiny'; add --ingest") as refused:
        call_command("search_eval", collection)
    assert refused.value.returncode == 2
