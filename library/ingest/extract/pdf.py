"""PDF text, page by page."""

import logging
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from pypdf import PasswordType, PdfReader
from pypdf.errors import PyPdfError

from library.exceptions import ExtractionError, NoText
from library.ingest.documents import ExtractedDocument, Page
from library.ingest.sources import Source
from library.ingest.text import clean, clean_title

if TYPE_CHECKING:
    from library.ingest.extract import ExtractOptions

# What pypdf lets through on broken files beside its own errors.
_BROKEN: Final = (PyPdfError, OSError, ValueError, KeyError, IndexError, TypeError, AttributeError, RecursionError)
# Titles that programs write, not people.
_MADE_UP: Final = re.compile(r"untitled|.*\.(?:docx?|indd|tex|dvi|pdf|qxd|pptx?)|microsoft word\b.*", re.IGNORECASE)


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
        except _BROKEN as error:
            raise ExtractionError(f"{source.name}: not readable: it is no PDF, or a broken one") from error
    if not any(texts):
        raise NoText(f"{source.name}: no text: {len(texts)} pages without any, perhaps scanned")
    empty = [number for number, text in enumerate(texts, 1) if not text]
    return ExtractedDocument(
        title=clean_title("" if _MADE_UP.fullmatch(title.strip()) else title, source.path.stem),
        item_type="pdf",
        pages=tuple(Page(text, number) for number, text in enumerate(texts, 1) if text),
        warnings=tuple(f"{source.name}: page {number} holds no text" for number in empty),
        markdown=False,
    )
