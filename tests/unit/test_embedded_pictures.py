"""Pictures inside documents: found with page and caption; a bad one costs itself only."""

import base64
from pathlib import Path

import pytest

from library.ingest.documents import ExtractedDocument
from library.ingest.extract import ExtractOptions, extract
from library.ingest.sources import find_sources
from tests.documents import docx, epub, pdf, picture

RED, BLUE = picture("red", kind="JPEG"), picture("blue", kind="JPEG")


def read(path: Path) -> ExtractedDocument:
    (source,) = find_sources([path]).sources
    return extract(source, ExtractOptions(10_000_000))


def test_a_pdf_gives_its_pictures_with_page_and_caption(tmp_path: Path) -> None:
    path = tmp_path / "a.pdf"
    pages = [
        ("A lamp stands by the door.\nFigure 1: The red lamp", RED),
        ("Nothing is drawn here.", b""),
        ("The sea, painted.", BLUE),
    ]
    path.write_bytes(pdf(pages))
    document = read(path)
    found = [(one.page, one.description, one.part) for one in document.pictures]
    assert found == [(1, "Figure 1: The red lamp", True), (3, "", True)]
    assert "The sea, painted." in document.pictures[1].context
    assert document.pictures[0].data == RED
    assert document.warnings == ()


def test_a_picture_of_a_pdf_with_too_many_pixels_is_not_decoded(tmp_path: Path) -> None:
    path = tmp_path / "a.pdf"
    huge = pdf([("A lamp.", RED)]).replace(b"/Width 64 /Height 48", b"/Width 99999 /Height 99999")
    path.write_bytes(huge)
    document = read(path)
    assert document.pictures == ()
    assert document.warnings == ("a.pdf, page 1, picture 1: 99999 x 99999 pixels are more than the limit",)


def test_a_broken_picture_costs_a_pdf_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "a.pdf"
    path.write_bytes(pdf([("A lamp.", RED), ("The sea.", BLUE)]).replace(RED[2:200], bytes(198), 1))
    document = read(path)
    assert [page.text for page in document.pages] == ["A lamp.", "The sea."]
    assert [one.page for one in document.pictures] == [2]
    assert document.warnings[0].startswith("a.pdf, page 1, picture 1: not readable")


@pytest.mark.parametrize(
    ("markup", "described"),
    [
        (
            '<figure><img src="pics/lamp.png" alt="a lamp"><figcaption>The lamp, lit</figcaption></figure>',
            "The lamp, lit",
        ),
        ('<img src="pics/lamp.png" alt="a lamp" title="the title">', "a lamp"),
        ('<img src="pics/lamp.png" title="the title">', "the title"),
        ('<p>About lamps. <img src="./pics/../pics/lamp.png?v=1"></p>', ""),
    ],
)
def test_a_page_gives_the_pictures_beside_it(tmp_path: Path, markup: str, described: str) -> None:
    (tmp_path / "pics").mkdir()
    (tmp_path / "pics" / "lamp.png").write_bytes(picture("red"))
    page = tmp_path / "a.html"
    page.write_text(f"<h1>Lamps</h1>{markup}")
    (found,) = read(page).pictures
    assert (found.description, found.data) == (described, picture("red"))


def test_a_page_gives_no_picture_from_elsewhere(tmp_path: Path) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    (tmp_path / "secret.png").write_bytes(picture("red"))
    (folder / "link.png").symlink_to(tmp_path / "secret.png")
    page = folder / "a.html"
    references = ["../secret.png", str(tmp_path / "secret.png"), "http://example.org/a.png", "//host/a.png", "none.png"]
    references += ["link.png", "%2e%2e/secret.png", "file:///etc/passwd", "a.html", "x\x00.png"]
    page.write_text("<p>Text</p>" + "".join(f'<img src="{reference}">' for reference in references))
    assert read(page).pictures == ()


def test_a_data_url_is_a_picture_and_a_broken_one_is_told(tmp_path: Path) -> None:
    page = tmp_path / "a.html"
    coded = base64.b64encode(picture("red")).decode()
    page.write_text(
        f'<p>Lamp <img alt="red" src="data:image/png;base64,{coded}"><img src="data:image/png;base64,A"></p>'
    )
    document = read(page)
    assert [(one.description, one.data) for one in document.pictures] == [("red", picture("red"))]
    assert document.warnings == ("a.html: a picture inside the page is broken",)


def test_markdown_and_restructured_text_give_theirs(tmp_path: Path) -> None:
    (tmp_path / "lamp.png").write_bytes(picture("red"))
    markdown = tmp_path / "a.md"
    markdown.write_text("# Lamps\n\nHere: ![the red lamp](lamp.png)\n\n`![not](lamp.png)`\n")
    assert [one.description for one in read(markdown).pictures] == ["the red lamp"]
    rst = tmp_path / "a.rst"
    rst.write_text("Lamps\n=====\n\n.. figure:: lamp.png\n   :alt: lamp\n\n   The red lamp, lit\n\nText.\n")
    assert [one.description for one in read(rst).pictures] == ["The red lamp, lit"]


def test_word_and_epub_give_theirs(tmp_path: Path) -> None:
    (word,) = read(docx(tmp_path / "a.docx", "About lamps.", "a red lamp", picture("red"))).pictures
    assert (word.description, word.data, word.part) == ("a red lamp", picture("red"), True)
    chapter = '<p>About the sea. <img src="pics/sea.png"/></p><p><img src="pics/sea.png" alt="again"/></p>'
    book = epub(tmp_path / "b.epub", chapter, {"pics/sea.png": picture("blue")})
    (found,) = read(book).pictures
    assert (found.description, found.context) == ("", "About the sea.")
