"""Pictures inside documents: where they are, what they are called, and the text that they stand in."""

import base64
import binascii
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final
from urllib.parse import unquote, unquote_to_bytes, urlsplit

from bs4 import BeautifulSoup

from library.exceptions import ExtractionError
from library.ingest.documents import Picture
from library.ingest.text import clean

SUFFIXES: Final = (".png", ".jpg", ".jpeg", ".gif")
# Elements that a picture's surroundings are read from, the nearest that has words.
_AROUND: Final = ("figure", "td", "li", "p", "div", "section", "article", "body")
MAX_CONTEXT_CHARS: Final = 1_000

# What a reference leads to: the picture's bytes; None where it is none of the document's own.
Load = Callable[[str], bytes | None]


def pictures_of(soup: BeautifulSoup, name: str, load: Load) -> tuple[list[Picture], list[str]]:
    """The pictures of a page in order, each once, and what is to be said of those that cannot be had.

    The caption is the figure's, else the `alt` text, else the `title`. `load` raises `ExtractionError`.
    """
    pictures: dict[str, Picture] = {}
    problems: list[str] = []
    for image in soup.find_all("img"):
        reference = str(image.get("src") or "").strip()
        if not reference or reference in pictures or is_ornament(image):
            continue
        try:
            data = load(reference)
        except ExtractionError as error:
            problems.append(str(error))
            continue
        if data is not None:
            label = f"{name}, picture {len(pictures) + 1}"
            pictures[reference] = Picture(data, label, caption_of(image), part=True, context=context_of(image))
    return list(pictures.values()), problems


def is_ornament(image: Any) -> bool:
    """Whether a page calls a picture mere ornament: an `alt` text that is empty (HTML, 4.8.4.4), and no caption."""
    return image.get("alt") == "" and not caption_of(image)


def caption_of(image: Any) -> str:
    """What a page says that a picture shows; '' where it says nothing."""
    figure = image.find_parent("figure")
    caption = figure.find("figcaption") if figure is not None else None
    candidates = [caption.get_text(" ") if caption is not None else "", image.get("alt"), image.get("title")]
    found = (" ".join(clean(str(text or "")).split()) for text in candidates)
    return next((text for text in found if text), "")


def context_of(image: Any) -> str:
    """The words around a picture: those of the nearest element around it that has any."""
    for parent in image.parents:
        if parent.name in _AROUND:
            text = " ".join(clean(parent.get_text(" ")).split())
            if text:
                return text[:MAX_CONTEXT_CHARS]
    return ""


def data_url(reference: str, name: str) -> bytes | None:
    """The bytes of a `data:` URL (RFC 2397) of a picture, None for any other. Raises `ExtractionError`: broken."""
    head, comma, body = reference.partition(",")
    if not head.lower().startswith("data:image/") or not comma:
        return None
    try:
        return base64.b64decode(unquote(body), validate=False) if ";base64" in head.lower() else unquote_to_bytes(body)
    except (binascii.Error, ValueError) as error:
        raise ExtractionError(f"{name}: a picture inside the page is broken") from error


def beside(folder: Path, name: str, max_bytes: int) -> Load:
    """Loads pictures that lie in a document's folder or below: nothing from elsewhere, nothing from a network."""
    root = folder.resolve()

    def load(reference: str) -> bytes | None:
        if reference.lower().startswith("data:"):
            return data_url(reference, name)
        parts = urlsplit(reference)
        if parts.scheme or parts.netloc or not parts.path.lower().endswith(SUFFIXES):
            return None
        try:
            path = (root / unquote(parts.path)).resolve()
            if not path.is_relative_to(root) or not path.is_file():
                return None
            if path.stat().st_size > max_bytes:
                raise ExtractionError(f"{name}: the picture {reference} is larger than the limit")
            return path.read_bytes()
        except (OSError, ValueError) as error:
            raise ExtractionError(f"{name}: the picture {reference} cannot be read") from error

    return load


def captions_in(text: str) -> Iterator[str]:
    """Lines of a page that are captions, in order."""
    for line in text.splitlines():
        words = line.split()
        if len(words) > 2 and words[0].lower().rstrip(".") in _CAPTIONED and words[1].strip(".:()")[:1].isdigit():
            yield " ".join(words)


_CAPTIONED: Final = frozenset(
    {"figure", "fig", "plate", "photo", "picture", "illustration", "abbildung", "abb", "bild"}
)
