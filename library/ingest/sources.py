"""Which files and records there are to take in, and what each is called for good."""

import hashlib
import json
import os
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from library.exceptions import ExtractionError, InvalidRequest

TEXT_KINDS: Final = {".txt": "text", ".md": "markdown", ".markdown": "markdown", ".rst": "rst"}
DOCUMENT_KINDS: Final = {
    **TEXT_KINDS,
    ".html": "html",
    ".htm": "html",
    ".xhtml": "html",
    ".pdf": "pdf",
    ".docx": "docx",
    ".epub": "epub",
}
IMAGE_KINDS: Final = dict.fromkeys((".png", ".jpg", ".jpeg", ".gif"), "image")
KINDS: Final = {**DOCUMENT_KINDS, **IMAGE_KINDS}
CORPUS_NAME: Final = "corpus.jsonl"
# `jar.png` is described by `jar.png.txt` or `jar.png.md` beside it.
SIDECARS: Final = (".txt", ".md")


@dataclass(frozen=True, slots=True)
class Record:
    """One line of a BEIR corpus."""

    id: str
    title: str
    text: str
    image: str | None = None


@dataclass(frozen=True, slots=True)
class Source:
    """One thing to take in. `source` is its identity in the library, `name` what it is called in messages.

    `problem` says why it cannot be taken in, where that is known already.
    """

    path: Path
    source: str
    kind: str
    name: str
    record: Record | None = field(default=None, repr=False)
    problem: str = ""

    @property
    def sidecar(self) -> Path | None:
        """The file that describes a picture, where there is one."""
        if self.kind != "image":
            return None
        beside = (self.path.with_name(self.path.name + suffix) for suffix in SIDECARS)
        return next((path for path in beside if path.is_file()), None)

    @property
    def picture(self) -> Path | None:
        """The picture that belongs to a record; raises `ExtractionError` when it lies outside the corpus's folder."""
        if self.record is None or self.record.image is None:
            return None
        folder = self.path.parent.resolve()
        path = (folder / self.record.image).resolve()
        if not path.is_relative_to(folder):
            raise ExtractionError(f"{self.name}: the picture {self.record.image} is outside the corpus's folder")
        return path


@dataclass(frozen=True, slots=True)
class Found:
    """What a walk found: things to take in, and files passed over because of their kind."""

    sources: tuple[Source, ...]
    skipped: tuple[Path, ...]


def find_sources(paths: Sequence[Path], base: Path | None = None) -> Found:
    """Everything below the paths, in sorted order, hidden files left out.

    A file's identity is its absolute path, or its path below `base`: the same from wherever it is taken in, and
    never that of another file. A record's is its `_id`. Raises `InvalidRequest` for a path that does not exist, or
    lies outside `base`.
    """
    sources: dict[str, Source] = {}
    skipped: list[Path] = []
    pictures: set[Path] = set()
    for given in paths:
        if not given.exists():
            raise InvalidRequest("path", f"{given} does not exist")
        for path in [given] if given.is_file() else _walk(given):
            kind = KINDS.get(path.suffix.lower())
            if path.name == CORPUS_NAME or (path == given and path.suffix.lower() == ".jsonl"):
                for source in _records(path):
                    sources[source.source] = source
                    if source.record is not None and source.record.image is not None:
                        pictures.add((path.parent / source.record.image).resolve())
            elif kind is None:
                skipped.append(path)
            elif not _is_sidecar(path):
                identity = _identity(path, base)
                sources[identity] = Source(path, identity, kind, _nfc(path.name))
    kept = [source for source in sources.values() if source.record is not None or source.path.resolve() not in pictures]
    return Found(tuple(kept), tuple(skipped))


def _walk(folder: Path) -> Iterator[Path]:
    for parent, folders, files in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(files):
            if not name.startswith("."):
                yield Path(parent) / name


def _is_sidecar(path: Path) -> bool:
    described = path.with_suffix("")
    return path.suffix.lower() in SIDECARS and described.suffix.lower() in IMAGE_KINDS and described.is_file()


def _identity(path: Path, base: Path | None) -> str:
    absolute = path.resolve()
    if base is None:
        return _nfc(absolute.as_posix())
    if not absolute.is_relative_to(base.resolve()):
        raise InvalidRequest("base", f"{path} is not below {base}")
    return _nfc(absolute.relative_to(base.resolve()).as_posix())


def _nfc(text: str) -> str:
    # A file name that is no UTF-8 carries lone surrogates, which neither Neo4j nor a terminal takes.
    return unicodedata.normalize("NFC", text.encode("utf-8", "backslashreplace").decode("utf-8"))


def _records(path: Path) -> Iterator[Source]:
    """The items of a BEIR corpus; a line that is none becomes a source with a problem."""
    with path.open("rb") as lines:
        for number, line in enumerate(lines, 1):
            if not line.strip():
                continue
            name = f"{path.name}:{number}"
            try:
                record = _record(json.loads(line.decode("utf-8-sig" if number == 1 else "utf-8")))
            except (ValueError, TypeError, KeyError) as error:
                reason = "not valid JSON" if isinstance(error, ValueError) else "no item with `_id` and `text`"
                yield Source(path, f"{path.name}:{number}", "record", name, problem=f"{name}: not readable: {reason}")
            else:
                yield Source(path, record.id, "record", f"{path.name} item {record.id}", record)


def _record(row: Any) -> Record:
    metadata = row.get("metadata") if isinstance(row, dict) else None
    image = metadata.get("image") if isinstance(metadata, dict) else None
    identity = str(row["_id"])
    if not identity:
        raise KeyError("_id")
    return Record(identity, str(row.get("title") or ""), str(row["text"]), str(image) if image else None)


def fingerprint(source: Source, *settings: str) -> str:
    """SHA-256 over what a source holds and the settings that decide what becomes of it.

    Raises `OSError` when a file cannot be read, `ExtractionError` for a picture outside its corpus's folder.
    """
    digest = hashlib.sha256("\x1f".join(settings).encode())
    if source.record is not None:
        digest.update(json.dumps([source.record.title, source.record.text, source.record.image]).encode())
        files = [source.picture]
    else:
        files = [source.path, source.sidecar]
    for path in files:
        if path is not None:
            with path.open("rb") as content:
                digest.update(hashlib.file_digest(content, "sha256").digest())
    return digest.hexdigest()
