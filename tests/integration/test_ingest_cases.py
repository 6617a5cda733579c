"""Hard files into a real Neo4j: PDFs, encodings and pictures, each costing itself only (cases 23, 25, 30)."""

from pathlib import Path

import pytest

from library.graph import session
from tests.shared import case_file
from tests.taking_in import counts, one, stored, take_in

pytestmark = [pytest.mark.neo4j, pytest.mark.usefixtures("graph")]


def test_the_pdf_cases_in_one_run() -> None:
    names = [
        "25_text.pdf",
        "25_scan_only.pdf",
        "25_mixed.pdf",
        "25_blank.pdf",
        "25_locked_aes256.pdf",
        "25_owner_only_aes256.pdf",
        "25_owner_only_rc4.pdf",
        "25_truncated.pdf",
        "25_html_named.pdf",
    ]
    report = take_in(*(case_file(name) for name in names))
    assert {outcome.name: outcome.status for outcome in report.outcomes} == {
        "25_text.pdf": "ready",
        "25_scan_only.pdf": "no text",
        "25_mixed.pdf": "ready",
        "25_blank.pdf": "no text",
        "25_locked_aes256.pdf": "failed",
        "25_owner_only_aes256.pdf": "ready",
        "25_owner_only_rc4.pdf": "ready",
        "25_truncated.pdf": "failed",
        "25_html_named.pdf": "failed",
    }
    assert ("25_mixed.pdf", "25_mixed.pdf: page 2 holds no text") in report.warnings
    found = session.read(
        "MATCH (c:Chunk) WHERE toLower(c.text) CONTAINS 'compressor' OR c.text CONTAINS 'gasket' "
        "RETURN c.title AS title, c.page AS page ORDER BY title, page",
        {},
    )
    assert [(row["title"], row["page"]) for row in found] == [
        ("25_mixed", 1),
        ("25_mixed", 3),
        ("25_owner_only_aes256", 1),
        ("25_owner_only_rc4", 1),
        ("25_text", 1),
    ]
    statuses = session.read("MATCH (i:Item) WHERE i.title = '25_blank' RETURN i.status AS s, i.error AS e", {})
    assert [(row["s"], row["e"]) for row in statuses] == [
        ("no text", "25_blank.pdf: no text: 1 pages without any, perhaps scanned")
    ]


def test_the_encoding_cases_in_one_run() -> None:
    names = ["23_utf8.txt", "23_utf16le_bom.txt", "23_utf16be_bom.txt", "23_cp1252.txt", "23_utf8_bom.md"]
    report = take_in(*(case_file(name) for name in names))
    assert [outcome.name for outcome in report.failed] == ["23_cp1252.txt"]
    texts = session.read("MATCH (c:Chunk) WHERE c.title STARTS WITH '23_' RETURN c.text AS text", {})
    assert [row["text"] for row in texts] == ["Überdruckventil: öffnet bei fünf bar.\nZweite Zeile.\n"] * 3
    assert one("MATCH (c:Chunk {title: 'Ventil'}) RETURN c.text") == "# Ventil\n\nÖffnet bei fünf bar.\n"
    again = take_in(case_file("23_cp1252.txt"), encoding="cp1252")
    assert again.count("ready") == 1


def test_pictures_in_one_run_one_bad_costs_itself_only() -> None:
    names = ["30_upright.jpg", "30_animated.gif", "30_cmyk.jpg", "30_truncated.jpg", "30_huge_196mp.png"]
    report = take_in(*(case_file(name) for name in names), library_type="art", library="Art")
    assert {outcome.name for outcome in report.failed} == {"30_truncated.jpg", "30_huge_196mp.png"}
    assert (report.count("ready"), report.images) == (3, 3)
    assert ("30_cmyk.jpg", "30_cmyk.jpg: not searchable by vector: nothing describes the picture") in report.warnings
    assert (counts()["images"], counts()["image_embeddings"]) == (3, 0)


def test_a_described_picture_has_a_vector_concepts_and_its_file(tmp_path: Path) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    (folder / "jar.jpg").write_bytes(case_file("30_upright.jpg").read_bytes())
    (folder / "jar.jpg.txt").write_text("A salt-glazed jar thrown by Bryony Wren.")
    report = take_in(folder, library_type="art", library="Art")
    assert (report.images, report.chunks, report.warnings) == (1, 1, [])
    row = one(
        "MATCH (i:Item)-[:HAS_IMAGE]->(p:Image)-[:HAS_EMBEDDING]->(e:ImageEmbedding) "
        "RETURN p.description AS description, p.image_type AS type, p.s3_key AS key, e.library_uid AS library, "
        "size(e.embedding) AS size, p.ocr_text AS ocr"
    )
    assert (row["description"], row["type"], row["ocr"]) == ("A salt-glazed jar thrown by Bryony Wren.", "jpg", "")
    assert (row["library"], row["size"]) == (report.library_uid, 384)
    assert stored(row["key"]) == case_file("30_upright.jpg").read_bytes()
    shown = session.read("MATCH (:Image)-[:DEPICTS]->(k:Concept)<-[:REFERENCES]-(:Item) RETURN k.key AS key", {})
    assert "bryony wren" in {row["key"] for row in shown}
