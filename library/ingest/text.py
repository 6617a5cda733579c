"""Bytes to clean text: encodings, normal form, characters that are no text. Pure."""

import codecs
import re
import unicodedata
from typing import Final

from library.exceptions import ExtractionError
from library.ingest.documents import MAX_TITLE_CHARS

# UTF-32 before UTF-16: its little-endian mark begins with the other's.
_MARKS: Final = (
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
# NUL, byte order mark, soft hyphen: not text, and they split or hide words. Lone surrogates cannot be stored.
_NO_TEXT: Final = re.compile("[\x00\ufeff\u00ad\ud800-\udfff]")
_LINE_END: Final = re.compile("\r\n?|\u2028|\u2029|\x0c|\x0b|\x85")
_MAX_NUL_SHARE: Final = 0.05


def marked_encoding(raw: bytes) -> str | None:
    """The encoding that a byte order mark names, or None."""
    return next((name for mark, name in _MARKS if raw.startswith(mark)), None)


def decode(raw: bytes, name: str, encoding: str | None = None) -> str:
    """Text of a file: by its byte order mark, else strict UTF-8, else `encoding`; clean, lines end with LF.

    Raises `ExtractionError` naming the file when the bytes do not fit: nothing is replaced silently.
    """
    marked = marked_encoding(raw)
    if marked is None and raw[:4096].count(0) > _MAX_NUL_SHARE * len(raw[:4096]):
        if encoding is None:
            raise ExtractionError(
                f"{name}: encoding error: binary, or UTF-16 without a byte order mark. "
                f"If it is text, name its encoding, for example --encoding utf-16-le"
            )
        marked = encoding
    try:
        return clean(raw.decode(marked or "utf-8"))
    except UnicodeDecodeError as error:
        if marked is not None or encoding is None:
            raise ExtractionError(_message(name, error, marked or "UTF-8")) from error
    try:
        return clean(raw.decode(encoding))
    except UnicodeDecodeError as error:
        raise ExtractionError(_message(name, error, encoding)) from error


def _message(name: str, error: UnicodeDecodeError, tried: str) -> str:
    byte = error.object[error.start]
    return (
        f"{name}: encoding error: not {tried} (byte 0x{byte:02X} at offset {error.start}). "
        f"Name its encoding, for example --encoding cp1252"
    )


def known_encoding(name: str) -> bool:
    """True when Python can decode text by this name."""
    try:
        return bool(codecs.lookup(name)._is_text_encoding)
    except LookupError:
        return False


def clean(text: str) -> str:
    """NFC, LF line ends, without NUL, byte order marks, soft hyphens and lone surrogates."""
    return unicodedata.normalize("NFC", _NO_TEXT.sub("", _LINE_END.sub("\n", text)))


def clean_title(*candidates: str) -> str:
    """The first candidate that is not blank, on one line, capped at 300 characters."""
    for candidate in candidates:
        title = " ".join(clean(candidate).split())
        if title:
            return title[:MAX_TITLE_CHARS].rstrip()
    return "Untitled"
