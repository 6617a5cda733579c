"""reStructuredText, by docutils, by way of HTML. Nothing outside the file is read."""

import io
from typing import TYPE_CHECKING, Final

from bs4 import BeautifulSoup
from docutils.core import publish_parts
from docutils.utils import SystemMessage

from library.exceptions import ExtractionError
from library.ingest.documents import ExtractedDocument, Page
from library.ingest.extract.embedded import beside, pictures_of
from library.ingest.extract.html import parse, to_markdown
from library.ingest.extract.markup import first_heading
from library.ingest.sources import Source
from library.ingest.text import clean_title, decode

if TYPE_CHECKING:
    from library.ingest.extract import ExtractOptions

_SETTINGS: Final = {
    "file_insertion_enabled": False,
    "raw_enabled": False,
    "_disable_config": True,
    "embed_stylesheet": False,
    "stylesheet_path": None,
    "syntax_highlight": "none",
    "initial_header_level": 2,
    "doctitle_xform": True,
    # Problems stay in the text, where they carry what docutils does not know: Sphinx's directives.
    "report_level": 2,
    "halt_level": 5,
}


def extract(source: Source, options: "ExtractOptions") -> ExtractedDocument:
    """A reStructuredText file; directives and roles of Sphinx, which docutils does not know, are kept as text."""
    text = decode(source.path.read_bytes(), source.name, options.encoding)
    settings = {**_SETTINGS, "warning_stream": io.StringIO()}
    try:
        parts = publish_parts(text, writer="html5", settings_overrides=settings)
    except (SystemMessage, ValueError, RecursionError) as error:
        raise ExtractionError(f"{source.name}: not readable: docutils cannot parse it") from error
    soup = parse(parts["html_body"])
    _keep_unknown(soup)
    pictures, problems = pictures_of(soup, source.name, beside(source.path.parent, source.name, options.max_file_bytes))
    markdown = to_markdown(soup)
    return ExtractedDocument(
        clean_title(first_heading(markdown), source.path.stem),
        "rst",
        (Page(markdown),),
        tuple(pictures),
        tuple(problems),
    )


def _keep_unknown(soup: BeautifulSoup) -> None:
    """Replace docutils' messages by the text that they are about; drop those without any."""
    for message in soup.select(".system-message"):
        literal = message.find("pre")
        lines = literal.get_text().split("\n") if literal is not None else []
        message.clear()
        message.name = "div"
        message.attrs = {}
        for block in "\n".join(line.strip() for line in lines).split("\n\n"):
            if block.strip():
                paragraph = soup.new_tag("p")
                paragraph.string = block.removeprefix(".. ")
                message.append(paragraph)
