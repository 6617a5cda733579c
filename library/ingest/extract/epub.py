"""EPUB books: the chapters of the spine in order, and their pictures."""

import posixpath
import zipfile
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final
from urllib.parse import unquote

from bs4 import BeautifulSoup
from lxml import etree

from library.exceptions import ExtractionError, NoText
from library.ingest.documents import ExtractedDocument, Page, Picture
from library.ingest.extract.archive import open_archive, parse_xml, read_member
from library.ingest.extract.embedded import SUFFIXES, caption_of, context_of, is_ornament
from library.ingest.extract.html import decode_html, parse, to_markdown
from library.ingest.sources import Source
from library.ingest.text import clean_title

if TYPE_CHECKING:
    from library.ingest.extract import ExtractOptions

_CONTAINER: Final = "META-INF/container.xml"
_ENCRYPTION: Final = "META-INF/encryption.xml"
_NS: Final = {
    "c": "urn:oasis:names:tc:opendocument:xmlns:container",
    "opf": "http://www.idpf.org/2007/opf",
    "dc": "http://purl.org/dc/elements/1.1/",
    "enc": "http://www.w3.org/2001/04/xmlenc#",
}
_HTML_TYPES: Final = ("application/xhtml+xml", "text/html", "application/x-dtbook+xml")
# Fonts may be obscured in books that are free to read.
_FONT_SCHEMES: Final = ("http://www.idpf.org/2008/embedding", "http://ns.adobe.com/pdf/enc#RC")


@dataclass(frozen=True, slots=True)
class _Book:
    title: str
    chapters: tuple[str, ...]


def extract(source: Source, options: "ExtractOptions") -> ExtractedDocument:
    """A book; each file of the spine is a stretch of text that passages do not cross.

    Raises `ExtractionError`: not readable, copy protected; `NoText` when no chapter holds any.
    """
    pages: list[Page] = []
    pictures: dict[str, Picture] = {}
    with open_archive(source.path, source.name, options.max_file_bytes) as archive:
        _refuse_protected(archive, source.name)
        book = _contents(archive, source.name)
        for member in book.chapters:
            raw = read_member(archive, member, f"{source.name}, {member}")
            soup = parse(decode_html(raw, f"{source.name}, {member}", options.encoding))
            _collect_pictures(archive, member, soup, pictures, source.name)
            text = to_markdown(soup)
            if text.strip():
                pages.append(Page(text))
    if not pages and not pictures:
        raise NoText(f"{source.name}: no text: {len(book.chapters)} chapters without any")
    return ExtractedDocument(clean_title(book.title, source.path.stem), "epub", tuple(pages), tuple(pictures.values()))


def _refuse_protected(archive: zipfile.ZipFile, name: str) -> None:
    if _ENCRYPTION not in archive.namelist():
        return
    methods = parse_xml(read_member(archive, _ENCRYPTION, name), name).iterfind(".//enc:EncryptionMethod", _NS)
    if any(method.get("Algorithm") not in _FONT_SCHEMES for method in methods):
        raise ExtractionError(f"{name}: copy protected")


def _contents(archive: zipfile.ZipFile, name: str) -> _Book:
    container = parse_xml(read_member(archive, _CONTAINER, name), name)
    root = container.find(".//c:rootfile", _NS)
    path = root.get("full-path") if root is not None else None
    if not path:
        raise ExtractionError(f"{name}: not readable: its container names no package")
    package = parse_xml(read_member(archive, path, name), name)
    folder = posixpath.dirname(path)
    manifest = {
        str(item.get("id")): _member(folder, str(item.get("href")))
        for item in package.iterfind("./opf:manifest/opf:item", _NS)
        if item.get("media-type") in _HTML_TYPES and item.get("href")
    }
    order = [str(entry.get("idref")) for entry in package.iterfind("./opf:spine/opf:itemref", _NS)]
    title = package.find("./opf:metadata/dc:title", _NS)
    chapters = tuple(dict.fromkeys(manifest[chapter] for chapter in order if chapter in manifest))
    return _Book(_text(title), chapters)


def _text(element: etree._Element | None) -> str:
    return "".join(str(part) for part in element.itertext()) if element is not None else ""


def _member(folder: str, reference: str) -> str:
    return posixpath.normpath(posixpath.join(folder, unquote(reference.split("#", 1)[0])))


def _collect_pictures(
    archive: zipfile.ZipFile, chapter: str, soup: BeautifulSoup, pictures: dict[str, Picture], name: str
) -> None:
    """The pictures of a chapter, each once a book; ornaments are left out later, by their size."""
    present = set(archive.namelist())
    for image in soup.find_all("img"):
        member = _member(posixpath.dirname(chapter), str(image.get("src") or ""))
        if member in present and member.lower().endswith(SUFFIXES) and not is_ornament(image):
            label = f"{name}, {posixpath.basename(member)}"
            data = read_member(archive, member, label)
            picture = Picture(data, label, caption_of(image), part=True, context=context_of(image))
            pictures.setdefault(member, picture)
