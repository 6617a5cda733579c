"""Zip files from strangers: read within bounds, their XML without entities."""

import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from lxml import etree

from library.exceptions import ExtractionError

# Office and EPUB files unpack to about ten times their size; images in them hardly at all.
MAX_RATIO: Final = 100
_ALWAYS_ALLOWED: Final = 20 * 1024 * 1024
_MAX_ENTRIES: Final = 20_000
_OLE_MARK: Final = bytes.fromhex("d0cf11e0a1b11ae1")


@contextmanager
def open_archive(path: Path, name: str, max_bytes: int) -> Iterator[zipfile.ZipFile]:
    """The archive, once its table of contents promises no more than it may unpack to.

    Raises `ExtractionError`: password protected, not readable, unpacks to too much.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            entries = archive.infolist()
            total = sum(entry.file_size for entry in entries)
            limit = min(10 * max_bytes, max(_ALWAYS_ALLOWED, MAX_RATIO * path.stat().st_size))
            if total > limit or len(entries) > _MAX_ENTRIES:
                raise ExtractionError(f"{name}: not readable: it would unpack to {total / 1e6:.0f} MB")
            if any(entry.flag_bits & 0x1 for entry in entries):
                raise ExtractionError(f"{name}: password protected")
            yield archive
    except zipfile.BadZipFile as error:
        with path.open("rb") as content:
            if content.read(len(_OLE_MARK)) == _OLE_MARK:
                raise ExtractionError(f"{name}: password protected, or in a format of before 2007") from error
        raise ExtractionError(f"{name}: not readable: it is broken or no {path.suffix[1:].upper()} file") from error
    except (EOFError, NotImplementedError, RuntimeError, zipfile.LargeZipFile) as error:
        raise ExtractionError(f"{name}: not readable: it is packed in a way that is not known") from error


def read_member(archive: zipfile.ZipFile, member: str, name: str) -> bytes:
    """One file of an archive, and never more of it than the table of contents said.

    Raises `ExtractionError` when it is not there or broken.
    """
    try:
        return archive.read(member)
    except (KeyError, zipfile.BadZipFile, EOFError, OSError, ValueError) as error:
        raise ExtractionError(f"{name}: not readable: {member} is missing or broken") from error


def parse_xml(raw: bytes, name: str) -> etree._Element:
    """XML without entities, external files or networks. Raises `ExtractionError` when it is none."""
    parser = etree.XMLParser(resolve_entities=False, load_dtd=False, no_network=True, huge_tree=False)
    try:
        return etree.fromstring(raw, parser)
    except (etree.XMLSyntaxError, ValueError) as error:
        raise ExtractionError(f"{name}: not readable: broken XML") from error
