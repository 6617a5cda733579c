"""Text in pictures, by tesseract, where it is installed."""

import logging
from collections.abc import Callable
from typing import Final

from library.exceptions import NotConfigured
from library.ingest.images import DecodedImage

log = logging.getLogger(__name__)

# A page takes a second or two; what takes this long is not worth it.
SECONDS: Final = 30
MAX_CHARS: Final = 20_000


def text_reader(mode: str, languages: str) -> Callable[[DecodedImage], str] | None:
    """What reads the text of a picture: tesseract; None where it is off, or `auto` and not installed.

    Raises `NotConfigured` where it is `on` and not installed.
    """
    if mode == "off" or not _is_installed():
        if mode == "on":
            raise NotConfigured(
                "INGEST_OCR is on and tesseract is not installed. Install it (on Debian and Ubuntu: tesseract-ocr) and "
                'the group "ocr" of this package, or set INGEST_OCR to auto or off.'
            )
        return None
    return lambda image: _read(image, languages)


def _is_installed() -> bool:
    try:
        import pytesseract
    except ImportError:
        return False
    try:
        pytesseract.get_tesseract_version()
    except (pytesseract.TesseractNotFoundError, SystemExit):
        return False
    return True


def _read(image: DecodedImage, languages: str) -> str:
    """The words of a picture, lines kept; '' where tesseract fails, which costs a log line and not the picture."""
    import pytesseract

    try:
        text = pytesseract.image_to_string(image.pixels, lang=languages, timeout=SECONDS)
    except (pytesseract.TesseractError, RuntimeError, OSError):
        log.warning("tesseract could not read a picture", exc_info=True)
        return ""
    lines = (" ".join(line.split()) for line in str(text).splitlines())
    return "\n".join(line for line in lines if any(letter.isalnum() for letter in line))[:MAX_CHARS]
