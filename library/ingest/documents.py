"""What extraction makes of a file. Pure."""

from dataclasses import dataclass, field
from typing import Final

MAX_TITLE_CHARS: Final = 300
# A document's picture with a side below this, in pixels, is a rule, a bullet or a spacer.
ORNAMENT_SIDE: Final = 32


@dataclass(frozen=True, slots=True)
class Page:
    """A stretch of text that chunks do not cross. `number` counts from 1 where the format has pages."""

    text: str
    number: int | None = None


@dataclass(frozen=True, slots=True)
class Picture:
    """A picture's file content, as it came, and what is known about it.

    `part` tells that it belongs to a document, which it must not cost when it cannot be read; `context` is the text
    that it stands in, for pictures that nothing describes.
    """

    data: bytes = field(repr=False)
    name: str
    description: str = ""
    ocr_text: str = ""
    page: int | None = None
    part: bool = False
    context: str = ""


@dataclass(frozen=True, slots=True)
class ExtractedDocument:
    """A document as text.

    `markdown` tells whether headings and code fences mean anything in it, `titled` whether the title is its own:
    one made from the beginning of the text is shown, but it names no concept.
    """

    title: str
    item_type: str
    pages: tuple[Page, ...] = ()
    pictures: tuple[Picture, ...] = ()
    warnings: tuple[str, ...] = ()
    markdown: bool = True
    titled: bool = True

    @property
    def is_empty(self) -> bool:
        """True when there is neither text nor a picture."""
        return not self.pictures and not any(page.text.strip() for page in self.pages)
