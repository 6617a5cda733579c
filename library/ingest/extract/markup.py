"""Plain text and Markdown."""

import re
from typing import TYPE_CHECKING, Final

from library.ingest.documents import ExtractedDocument, Page, Picture
from library.ingest.headings import find_headings
from library.ingest.sources import Source
from library.ingest.text import clean_title, decode

if TYPE_CHECKING:
    from library.ingest.extract import ExtractOptions

_FRONT_MATTER: Final = re.compile(r"\A---[ \t]*\n(.*?)^(?:---|\.\.\.)[ \t]*(?:\n|\Z)", re.DOTALL | re.MULTILINE)
_TITLE_LINE: Final = re.compile(r"^title[ \t]*:[ \t]*(.+?)[ \t]*$", re.MULTILINE | re.IGNORECASE)


def extract(source: Source, options: "ExtractOptions") -> ExtractedDocument:
    """A text file as it stands; of Markdown the front matter is taken off and only its title kept."""
    text = decode(source.path.read_bytes(), source.name, options.encoding)
    stem = source.path.stem
    if source.kind == "text":
        return ExtractedDocument(clean_title(stem), "text", (Page(text),), markdown=False)
    front = _FRONT_MATTER.match(text)
    given = _TITLE_LINE.search(front.group(1)) if front is not None else None
    body = text[front.end() :] if front is not None else text
    named = given.group(1).strip("\"'") if given is not None else ""
    pictures, problems = _pictures(body, source, options)
    return ExtractedDocument(
        clean_title(named, first_heading(body), stem), "markdown", (Page(body),), tuple(pictures), tuple(problems)
    )


def _pictures(body: str, source: Source, options: "ExtractOptions") -> tuple[list[Picture], list[str]]:
    """Pictures that the text shows, by way of HTML; most texts show none, and cost nothing."""
    if "![" not in body and "<img" not in body:
        return [], []
    from bs4 import BeautifulSoup
    from markdown_it import MarkdownIt

    from library.ingest.extract.embedded import beside, pictures_of

    soup = BeautifulSoup(MarkdownIt().render(body), "lxml")
    return pictures_of(soup, source.name, beside(source.path.parent, source.name, options.max_file_bytes))


def first_heading(text: str) -> str:
    """The first heading of a Markdown text, or an empty string."""
    headings = find_headings(text)
    return headings[0].text if headings else ""
