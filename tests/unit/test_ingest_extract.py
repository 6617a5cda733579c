"""Files to documents: every format, and every way in which a file is not what it says (cases 23, 25 and 33)."""

import io
import json
import zipfile
from pathlib import Path

import pytest
from PIL import Image

from library.exceptions import ExtractionError, InvalidRequest, NoText
from library.ingest.documents import ExtractedDocument
from library.ingest.extract import ExtractOptions, extract
from library.ingest.sources import Source, find_sources, fingerprint
from tests.shared import case_file

OPTIONS = ExtractOptions(max_file_bytes=10_000_000)
CONTAINER = (
    '<container xmlns="urn:oasis:names:tc:opendocument:xmlns:container"><rootfiles>'
    '<rootfile full-path="OPS/book.opf"/></rootfiles></container>'
)
PACKAGE = (
    '<package xmlns="http://www.idpf.org/2007/opf"><metadata xmlns:dc="http://purl.org/dc/elements/1.1/">'
    "<dc:title>Tides</dc:title></metadata><manifest>"
    '<item id="b" href="two.xhtml" media-type="application/xhtml+xml"/>'
    '<item id="a" href="one%20.xhtml" media-type="application/xhtml+xml"/></manifest>'
    '<spine><itemref idref="a"/><itemref idref="b"/></spine></package>'
)
WORD_TYPES = (
    '<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types"><Default Extension="xml" '
    'ContentType="application/xml"/><Override PartName="/word/document.xml" ContentType="application/vnd.'
    'openxmlformats-officedocument.wordprocessingml.document.main+xml"/></Types>'
)
WORD_RELS = (
    '<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships"><Relationship Id="r1" '
    'Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/officeDocument" '
    'Target="word/document.xml"/></Relationships>'
)
WORD_TEXT = (
    '<w:document xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"><w:body>'
    '<w:p><w:pPr><w:pStyle w:val="Heading1"/></w:pPr><w:r><w:t>Pump care</w:t></w:r></w:p>'
    "<w:p><w:r><w:t>Oil the se</w:t></w:r><w:r><w:rPr><w:b/></w:rPr><w:t>al yearly.</w:t></w:r></w:p>"
    "</w:body></w:document>"
)


def read(path: Path, options: ExtractOptions = OPTIONS) -> ExtractedDocument:
    (source,) = find_sources([path]).sources
    return extract(source, options)


def written(folder: Path, name: str, content: str | bytes) -> Path:
    path = folder / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def zipped(folder: Path, name: str, files: dict[str, str | bytes]) -> Path:
    with zipfile.ZipFile(folder / name, "w", zipfile.ZIP_DEFLATED) as archive:
        for member, content in files.items():
            archive.writestr(member, content)
    return folder / name


def png(color: str = "red") -> bytes:
    content = io.BytesIO()
    Image.new("RGB", (4, 3), color).save(content, "PNG")
    return content.getvalue()


def test_html_blocks_stand_apart_and_words_stay_whole() -> None:
    document = read(case_file("33_blocks.html"))
    assert document.title == "Annual Plan"
    assert document.pages[0].text == (
        "# Annual Plan\n\nCosts rose.\n\nSales fell.\n\n- Item one\n- Item two\n\nMidword stays.\n\n"
        "| left | right |\n| --- | --- |\n"
    )


def test_html_that_is_hidden_or_a_comment_is_not_read_and_entities_stay_inside(tmp_path: Path) -> None:
    page = (
        "<!DOCTYPE html><title>Named</title><p>seen &amp; &x;</p><p hidden>zqhidden</p><p style='display: none'>zqstyle"
        "</p><!-- zqcomment --><dl><dt>Term</dt><dd>Meaning</dd></dl>"
    )
    document = read(written(tmp_path, "a.html", page))
    text = document.pages[0].text
    assert document.title == "Named"
    assert "zq" not in text
    assert text.split() == ["seen", "&", "&x;", "Term", "Meaning"]


def test_no_entity_of_an_html_file_reads_another_file(tmp_path: Path) -> None:
    secret = written(tmp_path, "secret.txt", "zqsecret")
    page = f'<?xml version="1.0"?><!DOCTYPE html [<!ENTITY x SYSTEM "file://{secret}">]><p>seen &x;</p>'
    assert "zqsecret" not in read(written(tmp_path, "a.html", page)).pages[0].text


def test_html_is_read_in_the_encoding_that_it_declares(tmp_path: Path) -> None:
    page = '<meta charset="windows-1252"><p>Größe</p>'.encode("cp1252")
    assert read(written(tmp_path, "a.htm", page)).pages[0].text == "Größe\n"


def test_markdown_title_comes_from_front_matter_then_heading_then_file_name(tmp_path: Path) -> None:
    assert read(case_file("23_utf8_bom.md")).title == "Ventil"
    assert read(written(tmp_path, "a.md", "---\ntitle: 'Given'\ntags: [x]\n---\n# Head\n")).title == "Given"
    assert read(written(tmp_path, "a.md", "---\ntitle: 'Given'\n---\n# Head\n")).pages[0].text == "# Head\n"
    assert read(written(tmp_path, "plain.md", "no heading")).title == "plain"


def test_a_decomposed_file_name_becomes_composed(tmp_path: Path) -> None:
    assert read(written(tmp_path, "Cafe\u0301.txt", "x")).title == "Café"


def test_rst_keeps_what_sphinx_directives_hold_and_reads_no_other_file(tmp_path: Path) -> None:
    secret = written(tmp_path, "secret.inc", "zqsecret")
    text = (
        "Valves\n======\n\nOpen the *main* valve.\n\n.. versionadded:: 3.2\n   Relief valves too.\n\n"
        f".. include:: {secret}\n\nSteps\n-----\n\nSee :func:`open_valve`.\n"
    )
    document = read(written(tmp_path, "valves.rst", text))
    assert document.title == "Valves"
    content = document.pages[0].text
    for words in ("Open the main valve.", "Relief valves too.", "# Steps", "open_valve"):
        assert words in content
    assert "zqsecret" not in content


@pytest.mark.parametrize("name", ["25_text.pdf", "25_owner_only_rc4.pdf", "25_owner_only_aes256.pdf"])
def test_a_pdf_that_anyone_can_read_is_read(name: str) -> None:
    document = read(case_file(name))
    assert [(page.number, page.text) for page in document.pages] == [(1, "Compressor oil is changed yearly.")]


def test_pages_of_a_pdf_keep_their_numbers_and_empty_ones_are_named() -> None:
    document = read(case_file("25_mixed.pdf"))
    assert [(page.number, page.text) for page in document.pages] == [
        (1, "Compressor oil is changed yearly."),
        (3, "Third page mentions gasket."),
    ]
    assert document.warnings == ("25_mixed.pdf: page 2 holds no text",)


@pytest.mark.parametrize("name", ["25_scan_only.pdf", "25_blank.pdf"])
def test_a_pdf_without_text_says_so(name: str) -> None:
    with pytest.raises(NoText, match=f"{name}: no text"):
        read(case_file(name))


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("25_locked_aes256.pdf", "password protected"),
        ("25_truncated.pdf", "not readable"),
        ("25_html_named.pdf", "not readable"),
    ],
)
def test_a_pdf_that_cannot_be_read_says_why(name: str, reason: str) -> None:
    with pytest.raises(ExtractionError, match=f"{name}: {reason}") as caught:
        read(case_file(name))
    assert not isinstance(caught.value, NoText)


def test_word_headings_and_words_are_kept(tmp_path: Path) -> None:
    files: dict[str, str | bytes] = {
        "[Content_Types].xml": WORD_TYPES,
        "_rels/.rels": WORD_RELS,
        "word/document.xml": WORD_TEXT,
    }
    document = read(zipped(tmp_path, "a.docx", files))
    assert document.title == "Pump care"
    assert document.pages[0].text == "# Pump care\n\nOil the seal yearly.\n"


def test_word_files_with_entities_or_that_are_none_are_refused(tmp_path: Path) -> None:
    bomb = '<!DOCTYPE d [<!ENTITY a "b">]>' + WORD_TEXT
    with pytest.raises(ExtractionError, match=r"a.docx: not readable: word/document.xml defines entities"):
        read(zipped(tmp_path, "a.docx", {"word/document.xml": bomb}))
    with pytest.raises(ExtractionError, match=r"b.docx: not readable"):
        read(zipped(tmp_path, "b.docx", {"other.xml": "<a/>"}))
    with pytest.raises(ExtractionError, match=r"c.docx: not readable: it is broken or no DOCX file"):
        read(written(tmp_path, "c.docx", "hello"))
    with pytest.raises(ExtractionError, match=r"d.docx: password protected"):
        read(written(tmp_path, "d.docx", bytes.fromhex("d0cf11e0a1b11ae1") + b"\0" * 600))


def test_an_epub_is_read_in_the_order_of_its_spine_with_described_pictures(tmp_path: Path) -> None:
    files: dict[str, str | bytes] = {
        "META-INF/container.xml": CONTAINER,
        "OPS/book.opf": PACKAGE,
        "OPS/one .xhtml": '<?xml version="1.0"?><html><body><h1>Ebb</h1><p>Low.</p>'
        '<img src="../pics/a.png" alt="A mill"/></body></html>',
        "OPS/two.xhtml": '<html><body><h1>Flood</h1><img src="../pics/b.png" alt=""/></body></html>',
        "pics/a.png": png(),
        "pics/b.png": png("blue"),
    }
    document = read(zipped(tmp_path, "tides.epub", files))
    assert document.title == "Tides"
    assert [page.text for page in document.pages] == ["# Ebb\n\nLow.\n", "# Flood\n"]
    assert [(picture.description, picture.data) for picture in document.pictures] == [("A mill", png())]


def test_an_archive_that_unpacks_to_too_much_is_refused(tmp_path: Path) -> None:
    path = zipped(tmp_path, "bomb.epub", {"a.xhtml": b"0" * 30_000_000})
    assert path.stat().st_size < 100_000
    with pytest.raises(ExtractionError, match=r"bomb.epub: not readable: it would unpack to 30 MB"):
        read(path)


def test_a_file_above_the_limit_is_refused_by_size(tmp_path: Path) -> None:
    with pytest.raises(ExtractionError, match=r"a.txt: 3 MB; the limit is 2 MB"):
        read(written(tmp_path, "a.txt", b"x" * 3_000_000), ExtractOptions(2_000_000))


def test_a_picture_is_described_by_the_file_beside_it(tmp_path: Path) -> None:
    written(tmp_path, "salt-jar.png", png())
    written(tmp_path, "salt-jar.png.txt", "A tall jar.\n")
    found = find_sources([tmp_path])
    assert [source.name for source in found.sources] == ["salt-jar.png"]
    document = extract(found.sources[0], OPTIONS)
    assert (document.title, document.pictures[0].description) == ("salt jar", "A tall jar.")
    assert document.pages[0].text == "A tall jar.\n"


def test_beir_items_bring_pictures_which_are_not_taken_in_twice(tmp_path: Path) -> None:
    (tmp_path / "images").mkdir()
    written(tmp_path, "images/a.png", png())
    rows = [
        {"_id": "7", "title": "", "text": "a family at a table", "metadata": {"image": "images/a.png"}},
        {"_id": "8", "title": "Dice", "text": "A game."},
        {"_id": "9", "title": "Bad", "text": "x", "metadata": {"image": "../../etc/passwd"}},
    ]
    written(tmp_path, "corpus.jsonl", "\n".join(map(json.dumps, rows)) + "\nno json\n")
    written(tmp_path, "queries.jsonl", "{}")
    found = find_sources([tmp_path])
    assert [source.source for source in found.sources] == ["7", "8", "9", "corpus.jsonl:4"]
    assert [path.name for path in found.skipped] == ["queries.jsonl"]
    picture = extract(found.sources[0], OPTIONS)
    assert (picture.title, picture.titled, picture.item_type) == ("a family at a table", False, "image")
    assert picture.pictures[0].description == "a family at a table"
    text = extract(found.sources[1], OPTIONS)
    assert (text.title, text.titled, text.pages[0].text) == ("Dice", True, "A game.")
    with pytest.raises(ExtractionError, match="outside the corpus's folder"):
        extract(found.sources[2], OPTIONS)
    with pytest.raises(ExtractionError, match=r"corpus\.jsonl:4: not readable: not valid JSON"):
        extract(found.sources[3], OPTIONS)


def test_files_are_found_in_order_without_hidden_ones_and_known_by_their_whole_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("b/x.md", "a/x.md", "a/.hidden.md", ".git/x.md", "a/x.exe"):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text("x")
    found = find_sources([tmp_path])
    root = tmp_path.resolve().as_posix()
    assert [source.source for source in found.sources] == [f"{root}/a/x.md", f"{root}/b/x.md"]
    assert [path.name for path in found.skipped] == ["x.exe"]
    monkeypatch.chdir(tmp_path / "a")
    assert [source.source for source in find_sources([Path("x.md")]).sources] == [f"{root}/a/x.md"]
    assert [source.source for source in find_sources([Path("x.md")], base=tmp_path).sources] == ["a/x.md"]
    with pytest.raises(InvalidRequest, match="base"):
        find_sources([Path("x.md")], base=tmp_path / "b")
    with pytest.raises(InvalidRequest, match=r"nothing.md does not exist"):
        find_sources([Path("nothing.md")])


def test_fingerprint_follows_content_description_and_settings(tmp_path: Path) -> None:
    def made(*settings: str) -> str:
        (source,) = find_sources([tmp_path]).sources
        return fingerprint(source, *settings)

    written(tmp_path, "a.png", png())
    first = made("model")
    assert made("model") == first
    assert made("other model") != first
    written(tmp_path, "a.png.txt", "described")
    described = made("model")
    assert described != first
    written(tmp_path, "a.png", png("blue"))
    assert made("model") not in (first, described)


def test_a_source_known_to_be_bad_is_refused_with_its_reason() -> None:
    with pytest.raises(ExtractionError, match="line is bad"):
        extract(Source(Path("x"), "x", "record", "x", problem="line is bad"), OPTIONS)
