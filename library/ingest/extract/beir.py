"""Items of a BEIR corpus (https://github.com/beir-cellar/beir): title, text and perhaps a picture that it describes."""

from typing import TYPE_CHECKING

from library.exceptions import ExtractionError
from library.ingest.documents import ExtractedDocument, Page, Picture
from library.ingest.sources import Source
from library.ingest.text import clean, clean_title

if TYPE_CHECKING:
    from library.ingest.extract import ExtractOptions

_DERIVED_TITLE_CHARS = 100


def extract(source: Source, options: "ExtractOptions") -> ExtractedDocument:
    """One record; without a title the beginning of the text is shown for it."""
    record = source.record
    if record is None:
        raise ExtractionError(f"{source.name}: not readable: no record")
    text = clean(record.text)
    title = record.title.strip()
    pictures: tuple[Picture, ...] = ()
    path = source.picture
    if path is not None:
        if not path.is_file():
            raise ExtractionError(f"{source.name}: the picture {record.image} does not exist")
        if path.stat().st_size > options.max_file_bytes:
            raise ExtractionError(f"{source.name}: the picture {record.image} is larger than the limit")
        pictures = (Picture(path.read_bytes(), path.name, text.strip()),)
    return ExtractedDocument(
        title=clean_title(title, beginning(text), record.id),
        item_type="record" if path is None else "image",
        pages=(Page(text),),
        pictures=pictures,
        markdown=False,
        titled=bool(title),
    )


def beginning(text: str, length: int = _DERIVED_TITLE_CHARS) -> str:
    """The first line of a text, cut at a word."""
    line = text.strip().split("\n", 1)[0].strip()
    return line if len(line) <= length else line[:length].rsplit(None, 1)[0] + "…"
