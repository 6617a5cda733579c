"""Word documents (.docx), by mammoth, by way of HTML, with their described pictures."""

import re
import zipfile
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

import mammoth

from library.exceptions import ExtractionError
from library.ingest.documents import ExtractedDocument, Page, Picture
from library.ingest.extract.archive import open_archive, parse_xml, read_member
from library.ingest.extract.embedded import context_of
from library.ingest.extract.html import parse, to_markdown
from library.ingest.extract.markup import first_heading
from library.ingest.sources import Source
from library.ingest.text import clean, clean_title

if TYPE_CHECKING:
    from library.ingest.extract import ExtractOptions

_DC_TITLE: Final = "{http://purl.org/dc/elements/1.1/}title"
_DTD: Final = re.compile(rb"<!(?:DOCTYPE|ENTITY)", re.IGNORECASE)
_BROKEN: Final = (KeyError, ValueError, AttributeError, TypeError, IndexError, OSError, RecursionError, LookupError)
_PICTURE: Final = re.compile(r"picture:[0-9]+")
_PICTURE_TYPES: Final = {"image/png": "png", "image/jpeg": "jpg", "image/gif": "gif"}


def extract(source: Source, options: "ExtractOptions") -> ExtractedDocument:
    """A Word document; its title is the first heading, else what its properties say."""
    pictures: list[Picture] = []

    def keep(image: Any) -> dict[str, str]:
        suffix = _PICTURE_TYPES.get(image.content_type)
        if suffix is not None:
            with image.open() as content:
                name = f"{source.name} picture {len(pictures) + 1}"
                pictures.append(Picture(content.read(), name, clean(image.alt_text or "").strip(), part=True))
                return {"src": f"picture:{len(pictures)}"}
        return {"src": ""}

    with open_archive(source.path, source.name, options.max_file_bytes) as archive:
        _refuse_entities(archive, source.name)
        title = _title(archive, source.name)
    try:
        with source.path.open("rb") as content:
            html = mammoth.convert_to_html(content, convert_image=mammoth.images.img_element(keep)).value
    except (*_BROKEN, zipfile.BadZipFile) as error:
        raise ExtractionError(f"{source.name}: not readable: it is no Word document, or a broken one") from error
    soup = parse(html)
    for image in soup.find_all("img", src=_PICTURE):
        number = int(str(image["src"]).removeprefix("picture:")) - 1
        pictures[number] = replace(pictures[number], context=context_of(image))
    text = to_markdown(soup)
    return ExtractedDocument(
        clean_title(first_heading(text), title, source.path.stem), "docx", (Page(text),), tuple(pictures)
    )


def _refuse_entities(archive: zipfile.ZipFile, name: str) -> None:
    """Word writes no document type; one is there to define entities, which mammoth's parser would expand."""
    for member in archive.namelist():
        if member.endswith((".xml", ".rels")) and _DTD.search(read_member(archive, member, name)):
            raise ExtractionError(f"{name}: not readable: {member} defines entities")


def _title(archive: zipfile.ZipFile, name: str) -> str:
    if "docProps/core.xml" not in archive.namelist():
        return ""
    found = parse_xml(read_member(archive, "docProps/core.xml", name), name).find(_DC_TITLE)
    return (found.text or "") if found is not None else ""
