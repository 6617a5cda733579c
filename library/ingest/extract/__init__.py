"""Files and records to documents of clean Markdown; one file a format, chosen by suffix."""

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import Final

from library.exceptions import ExtractionError
from library.ingest.documents import ExtractedDocument
from library.ingest.sources import Source


@dataclass(frozen=True, slots=True)
class ExtractOptions:
    """Limits, and the encoding of text files that are not UTF-8."""

    max_file_bytes: int
    encoding: str | None = None
    max_image_pixels: int = 100_000_000
    # Text in pictures is read: pages without any other are worth taking in for it.
    reads_pictures: bool = False


# Kind -> module with a function `extract(source, options)`. Loaded at first use: pypdf, docutils and mammoth are slow.
_MODULES: Final = {
    "text": "markup",
    "markdown": "markup",
    "rst": "restructured",
    "html": "html",
    "pdf": "pdf",
    "docx": "word",
    "epub": "epub",
    "image": "picture",
    "record": "beir",
}


def extract(source: Source, options: ExtractOptions) -> ExtractedDocument:
    """The document that a source holds. Raises `ExtractionError` with a reason for the person who gave it."""
    if source.problem:
        raise ExtractionError(source.problem)
    if source.kind != "record":
        size = source.path.stat().st_size
        if size > options.max_file_bytes:
            raise ExtractionError(
                f"{source.name}: {size / 1e6:.0f} MB; the limit is {options.max_file_bytes / 1e6:.0f} MB"
            )
    module = import_module(f"library.ingest.extract.{_MODULES[source.kind]}")
    reader: Callable[[Source, ExtractOptions], ExtractedDocument] = module.extract
    return reader(source, options)
