"""A picture file, described by a text file beside it: `jar.png` by `jar.png.txt` or `jar.png.md`."""

from typing import TYPE_CHECKING

from library.ingest.documents import ExtractedDocument, Page, Picture
from library.ingest.extract.markup import first_heading
from library.ingest.sources import Source
from library.ingest.text import clean_title, decode

if TYPE_CHECKING:
    from library.ingest.extract import ExtractOptions


def extract(source: Source, options: "ExtractOptions") -> ExtractedDocument:
    """The picture; its description is also the item's text, so that full text finds it."""
    sidecar = source.sidecar
    text = decode(sidecar.read_bytes(), sidecar.name, options.encoding) if sidecar is not None else ""
    heading = first_heading(text) if sidecar is not None and sidecar.suffix.lower() == ".md" else ""
    named = source.path.stem.replace("-", " ").replace("_", " ")
    return ExtractedDocument(
        title=clean_title(heading, named),
        item_type="image",
        pages=(Page(text),) if text.strip() else (),
        pictures=(Picture(source.path.read_bytes(), source.name, text.strip()),),
        markdown=bool(heading),
        titled=bool(heading) or sidecar is not None,
    )
