"""PDF text, page by page, and the pictures of each page."""

import logging
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

from PIL import Image
from pypdf import PageObject, PasswordType, PdfReader
from pypdf.errors import PyPdfError

from library.exceptions import ExtractionError, NoText
from library.ingest.documents import ORNAMENT_SIDE, ExtractedDocument, Page, Picture
from library.ingest.extract.embedded import captions_in
from library.ingest.images import encode_png
from library.ingest.sources import Source
from library.ingest.text import clean, clean_title

if TYPE_CHECKING:
    from library.ingest.extract import ExtractOptions

log = logging.getLogger(__name__)
# Forms within forms: a file may nest them without end.
MAX_FORM_DEPTH: Final = 5
# What pypdf lets through on broken files beside its own errors.
_BROKEN: Final = (PyPdfError, OSError, ValueError, KeyError, IndexError, TypeError, AttributeError, RecursionError)
# Titles that programs write, not people.
_MADE_UP: Final = re.compile(r"untitled|.*\.(?:docx?|indd|tex|dvi|pdf|qxd|pptx?)|microsoft word\b.*", re.IGNORECASE)


# Where a picture of one of these kinds cannot be taken out, the page's text still stands.
_UNREADABLE: Final = (
    *_BROKEN,
    NotImplementedError,
    ImportError,
    SyntaxError,
    MemoryError,
    Image.DecompressionBombError,
)


def _pictures(reader: PdfReader, texts: Sequence[str], name: str, max_pixels: int) -> tuple[list[Picture], list[str]]:
    """The pictures of all pages. The k-th picture of a page has its k-th caption, and all have its text around them."""
    pictures: list[Picture] = []
    problems: list[str] = []
    for number, (page, text) in enumerate(zip(reader.pages, texts, strict=True), 1):
        captions = list(captions_in(text))
        found = 0
        for label, image in _images(page):
            where = f"{name}, page {number}, picture {found + 1}"
            try:
                width, height = int(image["/Width"]), int(image["/Height"])
                if width * height > max_pixels:
                    problems.append(f"{where}: {width} x {height} pixels are more than the limit")
                    continue
                if min(width, height) < ORNAMENT_SIDE:
                    continue
                data = _png(page, label)
            except _UNREADABLE as error:
                problems.append(f"{where}: not readable: the picture is broken, or packed in an unknown way ({error})")
                continue
            caption = captions[found] if found < len(captions) else ""
            found += 1
            pictures.append(Picture(data, where, caption, page=number, part=True, context=text))
    return pictures, problems


def _images(page: PageObject) -> Iterator[tuple[list[str], Any]]:
    """Names and streams of the pictures that a page draws, those inside its forms too. Nothing is decoded."""

    def within(resources: Any, path: list[str], depth: int) -> Iterator[tuple[list[str], Any]]:
        found = resources.get("/XObject") if resources is not None else None
        objects = found.get_object() if found is not None else {}
        for key in objects:
            stream = objects[key].get_object()
            if stream.get("/Subtype") == "/Image":
                yield [*path, str(key)], stream
            elif stream.get("/Subtype") == "/Form" and depth < MAX_FORM_DEPTH:
                inner = stream.get("/Resources")
                yield from within(inner.get_object() if inner is not None else None, [*path, str(key)], depth + 1)

    try:
        resources = page.get("/Resources")
        yield from within(resources.get_object() if resources is not None else None, [], 0)
    except _BROKEN:
        log.warning("the pictures of a page could not be listed", exc_info=True)


def _png(page: PageObject, path: list[str]) -> bytes:
    """One picture of a page: a JPEG as it stands, anything else as a PNG."""
    found = page.images[path[0] if len(path) == 1 else path]
    if found.image is None:
        raise ValueError("no picture")
    if found.data.startswith(b"\xff\xd8\xff") and found.image.mode in ("RGB", "L"):
        return found.data
    return encode_png(found.image)


@contextmanager
def _quiet() -> Iterator[None]:
    """pypdf logs every oddity of a file; what matters is raised."""
    log = logging.getLogger("pypdf")
    before = log.level
    log.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        log.setLevel(before)


def extract(source: Source, options: "ExtractOptions") -> ExtractedDocument:
    """The pages that hold text, with their numbers; those without are named in warnings.

    Raises `ExtractionError`: password protected, not readable; `NoText` when no page holds any.
    """
    with _quiet():
        try:
            reader = PdfReader(source.path)
            # An owner's password forbids printing or copying, not reading: the empty user password opens it.
            if reader.is_encrypted and reader.decrypt("") == PasswordType.NOT_DECRYPTED:
                raise ExtractionError(f"{source.name}: password protected")
            texts = [clean(page.extract_text()).strip() for page in reader.pages]
            title = str(reader.metadata.title or "") if reader.metadata is not None else ""
            pictures, problems = _pictures(reader, texts, source.name, options.max_image_pixels)
        except _BROKEN as error:
            raise ExtractionError(f"{source.name}: not readable: it is no PDF, or a broken one") from error
    if not any(texts) and not (options.reads_pictures and pictures):
        raise NoText(f"{source.name}: no text: {len(texts)} pages without any, perhaps scanned")
    empty = [number for number, text in enumerate(texts, 1) if not text]
    return ExtractedDocument(
        title=clean_title("" if _MADE_UP.fullmatch(title.strip()) else title, source.path.stem),
        item_type="pdf",
        pages=tuple(Page(text, number) for number, text in enumerate(texts, 1) if text),
        pictures=tuple(pictures),
        warnings=(*(f"{source.name}: page {number} holds no text" for number in empty), *problems),
        markdown=False,
    )
