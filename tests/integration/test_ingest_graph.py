"""Ingest into a real Neo4j: whole items, no leftovers, scope and counts kept true (cases 10a, 15, 27)."""

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from django.core.files.storage import default_storage

from library.exceptions import InvalidRequest, ModelUnavailable, NotConfigured
from library.graph import schema, session, writer
from library.graph.records import ItemRecord
from library.ingest import pipeline
from library.ingest.storage import remove
from tests.builder import write
from tests.shared import case_file
from tests.taking_in import FakeEmbedder, counts, one, stored, stored_files, take_in

pytestmark = [pytest.mark.neo4j, pytest.mark.usefixtures("graph")]

RELATED_QUERY = """
MATCH (a:Concept)-[r:RELATED_TO]->(b:Concept)
RETURN a.key AS a, b.key AS b, r.count AS count, r.weight AS weight ORDER BY a, b
"""
# What the lists of a concept must be, worked out from its links.
SCOPE_QUERY = """
MATCH (k:Concept)
WITH k, COLLECT { MATCH (k)<-[:MENTIONS|REFERENCES]-(n) RETURN DISTINCT n.collection_uid ORDER BY n.collection_uid }
  AS collections, COLLECT { MATCH (k)<-[:MENTIONS|REFERENCES]-(n) RETURN DISTINCT n.library_uid
  ORDER BY n.library_uid } AS libraries
WHERE k.collection_uids <> collections OR k.library_uids <> libraries OR size(k.library_types) = 0
RETURN k.key AS key, k.collection_uids AS has, collections AS should_have
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "in"
    made.mkdir()
    return made


def test_an_item_is_written_with_all_that_the_design_names(folder: Path) -> None:
    (folder / "lathe.md").write_text("# Lathe manual\n\nThe Feed Rate of the lathe is set by Lester Smith.\n")
    report = take_in(folder)
    assert (report.count("ready"), report.chunks, report.failed) == (1, 1, [])
    row = one(
        "MATCH (l:Library)-[:CONTAINS]->(col:Collection)-[:CONTAINS]->(i:Item)-[:HAS_CHUNK]->(c:Chunk) "
        "RETURN l, col, i, c"
    )
    library, collection, item, chunk = (dict(row[name]) for name in ("l", "col", "i", "c"))
    assert (library["name"], library["library_type"], collection["name"]) == ("Manuals", "technical", "General")
    assert len(library["uid"]) == 32
    assert (item["title"], item["item_type"], item["status"], item["error"]) == (
        "Lathe manual",
        "markdown",
        "ready",
        "",
    )
    assert item["source"] == (folder / "lathe.md").resolve().as_posix()
    assert len(item["content_hash"]) == 64
    assert item["created_at"] is not None
    for node in (item, chunk):
        assert node["library_uid"] == library["uid"]
        assert node["library_type"] == "technical"
        assert node["collection_uid"] == collection["uid"]
    assert chunk["text"] == "# Lathe manual\n\nThe Feed Rate of the lathe is set by Lester Smith.\n"
    assert chunk["text_preview"] == chunk["text"].strip()
    assert (chunk["chunk_index"], chunk["section"], chunk["title"]) == (0, "Lathe manual", "Lathe manual")
    assert (chunk["embedding_model"], chunk["item_uid"], len(chunk["embedding"])) == ("fake", item["uid"], 384)
    assert stored(chunk["chunk_s3_key"]).decode() == chunk["text"]
    mentions = session.read("MATCH (:Chunk)-[m:MENTIONS]->(k:Concept) RETURN k.key AS key, m.weight AS weight", {})
    weights = {row["key"]: row["weight"] for row in mentions}
    assert weights["lathe manual"] == 1.0
    assert all(0.6 <= weights[key] < 1 for key in ("feed rate", "lester smith"))
    assert one("MATCH (:Item)-[r:REFERENCES]->(:Concept {key: 'lathe manual'}) RETURN r.weight") == 1.0


def test_vectors_are_found_inside_the_index_filter(folder: Path) -> None:
    (folder / "a.txt").write_text("Only text.")
    embedder = FakeEmbedder()
    report = take_in(folder, embedder=embedder)
    assert embedder.texts == ["a\nOnly text."]
    session.run_schema("CALL db.awaitIndexes(30)")
    rows = session.read(
        "CYPHER 25 MATCH (c:Chunk) SEARCH c IN (VECTOR INDEX chunk_embedding_index FOR $vector "
        "WHERE c.library_uid IN $libraries LIMIT 5) SCORE AS score RETURN c.text AS text, score",
        {"vector": FakeEmbedder().embed_passages(embedder.texts)[0], "libraries": [report.library_uid]},
    )
    assert [(row["text"], round(row["score"], 4)) for row in rows] == [("Only text.", 1.0)]


def test_taking_in_the_same_again_changes_nothing(folder: Path) -> None:
    (folder / "24_lf.md").write_bytes(case_file("24_lf.md").read_bytes())
    (folder / "lathe.md").write_text("The Feed Rate of the lathe is set by Lester Smith.\n")
    take_in(folder)
    first, files, related = counts(), stored_files(), session.read(RELATED_QUERY, {})
    assert first["chunks"] == 2
    assert first["related"] > 0
    for _ in range(2):
        embedder = FakeEmbedder()
        report = take_in(folder, embedder=embedder)
        assert (report.count("unchanged"), report.count("ready"), embedder.texts) == (2, 0, [])
    assert (counts(), stored_files(), session.read(RELATED_QUERY, {})) == (first, files, related)


def test_a_changed_item_replaces_its_passages_files_and_concepts(folder: Path) -> None:
    path = folder / "24_lf.md"
    path.write_text("# Setup\n\nWritten by Lester Smith.\n")
    other = folder / "other.md"
    other.write_text("# Other\n\nWritten by Tim Brown and Anna Green.\n")
    take_in(folder)
    before = counts()
    path.write_text("# Setup\n\nWritten by Tim Brown.\n")
    report = take_in(folder)
    assert (report.count("ready"), report.count("unchanged")) == (1, 1)
    assert one("MATCH (c:Chunk) WHERE c.text CONTAINS 'Lester' RETURN count(c)") == 0
    assert one("MATCH (k:Concept {key: 'lester smith'}) RETURN count(k)") == 0
    assert counts()["chunks"] == before["chunks"] == 2
    assert len(stored_files()) == 2
    assert session.read(SCOPE_QUERY, {}) == []
    path.write_text("# Setup\n\nWritten by Lester Smith.\n")
    take_in(folder)
    assert counts() == before


def test_related_counts_are_those_of_the_passages_and_go_with_them(folder: Path) -> None:
    for name in ("a", "b"):
        (folder / f"{name}.txt").write_text("We met Lester Smith and Tim Brown.")
    take_in(folder)
    pair = {"a": "lester smith", "b": "tim brown"}
    assert {**pair, "count": 2, "weight": 0.75} in [dict(row) for row in session.read(RELATED_QUERY, {})]
    uid = one("MATCH (i:Item {title: 'a'}) RETURN i.uid")
    remove(default_storage, writer.delete_item(uid))
    assert {**pair, "count": 1, "weight": 0.5} in [dict(row) for row in session.read(RELATED_QUERY, {})]
    remove(default_storage, writer.delete_item(one("MATCH (i:Item) RETURN i.uid")))
    assert counts() == dict.fromkeys(counts(), 0)
    assert stored_files() == []


def test_equal_texts_under_two_names_are_two_items(folder: Path) -> None:
    for name in ("a.md", "b.md"):
        (folder / name).write_bytes(case_file("24_lf.md").read_bytes())
    take_in(folder)
    uids = [row["uid"] for row in session.read("MATCH (c:Chunk) RETURN c.uid AS uid", {})]
    assert len(set(uids)) == 2


@pytest.mark.slow
def test_eight_processes_at_once_share_one_concept(folder: Path, neo4j_service: Any) -> None:
    script = (
        "import sys, django; django.setup()\n"
        "from pathlib import Path\n"
        "from tests.integration.test_ingest_graph import take_in\n"
        "assert take_in(Path(sys.argv[1])).failed == []\n"
    )
    processes = []
    environment = {
        **os.environ,
        "DJANGO_SETTINGS_MODULE": "mnemosyne.settings",
        "NEO4J_URL": neo4j_service.url,
        "NEO4J_USER": neo4j_service.user,
        "NEO4J_PASSWORD": neo4j_service.password,
        "MEDIA_ROOT": str(folder / ".media"),
        "DATABASE_URL": f"sqlite:///{folder / '.db.sqlite3'}",
    }
    migrate = [sys.executable, "-m", "django", "migrate", "--verbosity", "0"]
    subprocess.run(migrate, env=environment, check=True, timeout=180)
    for number in range(8):
        path = folder / f"{number}.txt"
        path.write_text(f"In file {number} we met the Graph and Lester Smith, and the Graph again.")
        command = [sys.executable, "-c", script, str(path)]
        processes.append(subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True))
    errors = [process.communicate(timeout=180)[1] for process in processes]
    assert [process.returncode for process in processes] == [0] * 8, errors
    assert not any("Deadlock" in error for error in errors)
    assert one("MATCH (k:Concept {key: 'graph'}) RETURN count(k)") == 1
    assert one("MATCH (c:Chunk)-[m:MENTIONS]->(:Concept {key: 'graph'}) RETURN count(m)") == 8
    assert one("MATCH (:Concept {key: 'graph'})-[r:RELATED_TO]-(:Concept {key: 'lester smith'}) RETURN r.count") == 8
    assert one("MATCH (l:Library) RETURN count(l)") == 1


def test_an_item_that_the_model_refuses_fails_alone(folder: Path) -> None:
    for number in range(20):
        (folder / f"{number:02}.txt").write_text("poison" if number == 7 else f"text {number}")
    report = take_in(folder, embedder=FakeEmbedder(refuse="poison"))
    assert report.count("ready") == 19
    assert [(outcome.name, outcome.reason) for outcome in report.failed] == [
        ("07.txt", "07.txt: the embedding service refused the input (413)")
    ]
    item = one("MATCH (i:Item {status: 'failed'}) RETURN i.title AS title, i.error AS error, COUNT { (i)-->() } AS out")
    assert item == {"title": "07", "error": report.failed[0].reason, "out": 0}
    assert counts()["chunks"] == 19
    assert take_in(folder).count("ready") == 1
    assert one("MATCH (i:Item {status: 'ready', error: ''}) RETURN count(i)") == 20


def test_a_service_that_is_down_writes_nothing_and_is_not_asked_for_ever(folder: Path) -> None:
    for number in range(3):
        (folder / f"{number}.txt").write_text(f"text {number}")
    report = take_in(folder, embedder=FakeEmbedder(error=ModelUnavailable("the embedding service is down")))
    assert [outcome.reason for outcome in report.failed] == [
        f"{number}.txt: the embedding service is down" for number in range(3)
    ]
    assert counts()["chunks"] == 0
    assert stored_files() == []


def test_a_good_item_outlives_a_failure_of_its_new_version(folder: Path) -> None:
    path = folder / "a.txt"
    path.write_text("first words")
    take_in(folder)
    path.write_text("second words")
    take_in(folder, embedder=FakeEmbedder(error=ModelUnavailable("down")))
    row = one("MATCH (i:Item)-[:HAS_CHUNK]->(c) RETURN i.status AS status, i.error AS error, c.text AS text")
    assert row == {"status": "ready", "error": "a.txt: down", "text": "first words"}


def test_an_empty_file_is_a_warning(folder: Path) -> None:
    (folder / "empty.txt").write_text("\n")
    report = take_in(folder)
    assert (report.count("no text"), report.failed) == (1, [])
    assert report.warnings == [("empty.txt", "empty.txt: the file is empty")]
    assert counts()["chunks"] == 0


def test_a_library_keeps_its_type(folder: Path) -> None:
    take_in(folder)
    with pytest.raises(InvalidRequest, match="library 'Manuals' exists with type technical, not fiction"):
        take_in(folder, library_type="fiction")


def test_moving_an_item_moves_every_copy_of_its_scope(folder: Path) -> None:
    (folder / "jar.jpg").write_bytes(case_file("30_upright.jpg").read_bytes())
    (folder / "jar.jpg.txt").write_text("A salt-glazed jar thrown by Bryony Wren.")
    (folder / "b.txt").write_text("We saw Bryony Wren.")
    take_in(folder)
    target = writer.open_place("Art", "art", "Jars")
    uid = one("MATCH (i:Item {title: 'jar'}) RETURN i.uid")
    writer.move_item(uid, target.collection_uid)
    scopes = session.read(
        "MATCH (i:Item {uid: $uid}) OPTIONAL MATCH (i)-[:HAS_CHUNK|HAS_IMAGE|HAS_EMBEDDING*1..2]->(n) "
        "WHERE n.library_uid IS NOT NULL UNWIND [i, n] AS x "
        "RETURN DISTINCT x.library_uid AS l, x.library_type AS t, x.collection_uid AS c",
        {"uid": uid},
    )
    assert [tuple(row.values()) for row in scopes] == [(target.library_uid, "art", target.collection_uid)]
    assert one("MATCH (col:Collection)-[:CONTAINS]->(:Item {uid: $uid}) RETURN col.name", uid=uid) == "Jars"
    assert session.read(SCOPE_QUERY, {}) == []
    assert one("MATCH (k:Concept {key: 'bryony wren'}) RETURN k.library_types") == ["art", "technical"]
    with pytest.raises(NotConfigured):
        writer.move_item(uid, "nowhere")


def test_another_collection_takes_over_an_unchanged_item(folder: Path) -> None:
    (folder / "a.txt").write_text("We saw Bryony Wren.")
    take_in(folder)
    report = take_in(folder, collection="Second")
    assert (report.count("unchanged"), counts()["items"]) == (1, 1)
    assert one("MATCH (col:Collection)-[:CONTAINS]->(:Item) RETURN col.name") == "Second"
    assert session.read(SCOPE_QUERY, {}) == []


def test_a_transaction_that_fails_leaves_neither_nodes_nor_files(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "a.txt").write_text("We saw Bryony Wren.")
    create = writer._create

    def break_after_creating(tx: Any, items: Sequence[ItemRecord], *rest: Any) -> None:
        create(tx, items, *rest)
        if any(item.title == "a" for item in items):
            tx.run("RETURN 1 / 0").consume()

    monkeypatch.setattr(writer, "_create", break_after_creating)
    report = take_in(folder)
    assert [outcome.name for outcome in report.failed] == ["a.txt"]
    assert (counts()["chunks"], counts()["concepts"], stored_files()) == (0, 0, [])


def test_relations_of_an_older_graph_are_made_again_by_the_next_ingest(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(2):
        (folder / f"{number}.md").write_text(
            f"The Feed Rate of the lathe is set by Lester Smith.\n\nNumber {number}.\n"
        )
    take_in(folder)
    now = session.read(RELATED_QUERY, {})
    assert 2 in [row["count"] for row in now]
    # As graphs were: relations without types, items that name none.
    write("MATCH ()-[r:RELATED_TO]->() REMOVE r.relation_type")
    write("MATCH (i:Item) REMOVE i.relations")
    session.run_schema(schema.REMOVE_OLD_RELATIONS_QUERY)
    assert counts()["related"] == 0
    monkeypatch.setattr(pipeline, "INGEST_VERSION", "another")
    assert take_in(folder).count("ready") == 2
    assert session.read(RELATED_QUERY, {}) == now
    for uid in (row["uid"] for row in session.read("MATCH (i:Item) RETURN i.uid AS uid", {})):
        writer.delete_item(uid)
    assert counts()["related"] == counts()["concepts"] == 0
