"""HTML to Markdown: blocks apart, words whole, nothing that a reader would not see."""

import re
from typing import TYPE_CHECKING, Any, Final

from bs4 import BeautifulSoup
from bs4.dammit import EncodingDetector
from bs4.element import Comment
from markdownify import MarkdownConverter

from library.exceptions import ExtractionError
from library.ingest.documents import ExtractedDocument, Page
from library.ingest.extract.embedded import beside, pictures_of
from library.ingest.extract.markup import first_heading
from library.ingest.sources import Source
from library.ingest.text import clean, clean_title, decode, known_encoding, marked_encoding

if TYPE_CHECKING:
    from library.ingest.extract import ExtractOptions

# Elements whose text is not read: code for machines, forms, and what only frames another document.
UNREAD: Final = (
    *("script", "style", "template", "noscript", "head", "iframe", "object", "embed", "applet", "svg", "math"),
    *("canvas", "audio", "video", "map", "button", "select", "input", "textarea", "datalist"),
)
# Emphasis and links would cut words ("Mid**word**") and fill passages with addresses: only their text is kept.
_PLAIN: Final = ["a", "abbr", "b", "cite", "del", "em", "i", "img", "ins", "kbd", "mark", "q", "s", "small", "span"]
_PLAIN_TOO: Final = ["strong", "sub", "sup", "tt", "u", "var"]
_HIDDEN: Final = re.compile(r"display\s*:\s*none|visibility\s*:\s*hidden", re.IGNORECASE)
_BLANK_LINES: Final = re.compile(r"\n[ \t]*(?:\n[ \t]*)+\n")
# XHTML is read as HTML, which has no such line.
_XML_DECLARATION: Final = re.compile(r"\A\s*<\?xml[^>]*\?>")
_TRAILING: Final = re.compile(r"[ \t]+$", re.MULTILINE)


class _Converter(MarkdownConverter):
    """Markdownify, with definition lists and figures as blocks of their own."""

    def convert_dt(self, el: Any, text: str, parent_tags: Any) -> str:
        return f"\n\n{text.strip()}\n" if text.strip() else ""

    def convert_dd(self, el: Any, text: str, parent_tags: Any) -> str:
        return f"\n{text.strip()}\n\n" if text.strip() else ""

    def convert_figcaption(self, el: Any, text: str, parent_tags: Any) -> str:
        return f"\n\n{text.strip()}\n\n" if text.strip() else ""


def extract(source: Source, options: "ExtractOptions") -> ExtractedDocument:
    """A web page; its title is the first heading, else the `title` element."""
    soup = parse(decode_html(source.path.read_bytes(), source.name, options.encoding))
    named = page_title(soup)
    pictures, problems = pictures_of(soup, source.name, beside(source.path.parent, source.name, options.max_file_bytes))
    text = to_markdown(soup)
    return ExtractedDocument(
        clean_title(first_heading(text), named, source.path.stem),
        "html",
        (Page(text),),
        tuple(pictures),
        tuple(problems),
    )


def decode_html(raw: bytes, name: str, encoding: str | None) -> str:
    """Text of a page: by byte order mark, else by what the page declares, else as a text file."""
    declared = EncodingDetector.find_declared_encoding(raw, is_html=True)
    if declared is None or marked_encoding(raw) is not None or not known_encoding(declared):
        return decode(raw, name, encoding)
    try:
        return clean(raw.decode(declared))
    except UnicodeDecodeError:
        return decode(raw, name, encoding)


def parse(markup: str) -> BeautifulSoup:
    """The page's tree. lxml's HTML parser knows no entities but HTML's own and loads nothing."""
    try:
        return BeautifulSoup(_XML_DECLARATION.sub("", markup), "lxml")
    except (ValueError, RecursionError) as error:
        raise ExtractionError("not readable: the HTML cannot be parsed") from error


def page_title(soup: BeautifulSoup) -> str:
    """The text of the `title` element, or an empty string."""
    return soup.title.get_text() if soup.title is not None else ""


def to_markdown(soup: BeautifulSoup) -> str:
    """What a reader sees, as Markdown. Changes `soup`."""
    for element in soup.find_all(UNREAD):
        element.decompose()
    for element in soup.find_all(hidden):
        element.decompose()
    for comment in soup.find_all(string=lambda string: isinstance(string, Comment)):
        comment.extract()
    converter = _Converter(
        heading_style="ATX",
        bullets="-",
        strip=[*_PLAIN, *_PLAIN_TOO],
        escape_asterisks=False,
        escape_underscores=False,
        escape_misc=False,
        table_infer_header=True,
    )
    try:
        text = clean(str(converter.convert_soup(soup)))
    except RecursionError as error:
        raise ExtractionError("not readable: the HTML is nested too deeply") from error
    return _BLANK_LINES.sub("\n\n", _TRAILING.sub("", text)).strip() + "\n"


def hidden(element: Any) -> bool:
    """True for elements that browsers do not show."""
    if element.attrs is None:  # already taken out together with an element around it
        return False
    return element.has_attr("hidden") or _HIDDEN.search(str(element.attrs.get("style", ""))) is not None
