"""Fetch the locked Maven artifacts: in parallel, verified by checksum, cached, never half done.

A jar is downloaded into a folder of its own inside the cache, its sha256 compared with the lock, and only then moved
to its place. What was verified is noted with its size and time of change, so that a warm start looks at 238 files
without reading them, and a file that was changed or cut short since then is noticed, hashed and fetched again.
"""

import hashlib
import json
import os
import shutil
import tempfile
import time
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from filelock import FileLock

from mnemosyne.local.errors import LocalStackError
from mnemosyne.local.progress import Progress

LOCK_FILE = Path(__file__).with_name("artifacts.lock.json")
STAMP_FILE = "verified.json"
THREADS = 16
TRIES = 3
TIMEOUT = 30  # seconds without an answer from the registry

Stamp = tuple[int, int, str]  # size, time of change in ns, sha256


@dataclass(frozen=True, slots=True, order=True)
class Artifact:
    """One locked file of a Maven component."""

    group: str
    name: str
    version: str
    classifier: str
    packaging: str
    sha256: str

    @property
    def path(self) -> str:
        """Its place below the cache folder, in the layout that Maven uses."""
        suffix = f"-{self.classifier}" if self.classifier else ""
        file = f"{self.name}-{self.version}{suffix}.{self.packaging}"
        return str(PurePosixPath(*self.group.split("."), self.name, self.version, file))

    def __str__(self) -> str:
        return ":".join(part for part in (self.group, self.name, self.version, self.classifier) if part)


@dataclass(frozen=True, slots=True)
class Lock:
    """The artifacts of the two local services."""

    neo4j: tuple[Artifact, ...]
    model: Artifact


def load_lock(path: Path = LOCK_FILE) -> Lock:
    """Read the committed lock."""
    content = json.loads(path.read_text(encoding="utf-8"))
    return Lock(
        neo4j=tuple(Artifact(**entry) for entry in content["neo4j"]),
        model=Artifact(**content["model"]),
    )


def fetch(artifacts: Sequence[Artifact], cache_dir: Path, progress: Progress) -> list[Path]:
    """The verified files of ``artifacts``, in their order, downloaded where they are missing.

    Raises LocalStackError when one cannot be had or has another checksum than the lock.
    """
    root = cache_dir / "maven"
    if not _pending(artifacts, root, _read_stamps(root)):
        return [root / artifact.path for artifact in artifacts]
    try:
        root.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise LocalStackError(
            f"The cache folder {root} cannot be created: {error}.", "Name another by MNEMOSYNE_CACHE_DIR."
        ) from error
    with FileLock(root / ".lock"):  # a second process waits here, then finds everything done
        stamps = _read_stamps(root)
        missing = _without_good_files(_pending(artifacts, root, stamps), root, stamps)
        if missing:
            _download(missing, root, stamps, progress)
        _write_stamps(root, stamps)
    return [root / artifact.path for artifact in artifacts]


def _pending(artifacts: Iterable[Artifact], root: Path, stamps: dict[str, Stamp]) -> list[Artifact]:
    """Those whose file is missing, or is not the one that was verified."""
    return [artifact for artifact in artifacts if not _is_stamped(artifact, root, stamps)]


def _is_stamped(artifact: Artifact, root: Path, stamps: dict[str, Stamp]) -> bool:
    try:
        status = (root / artifact.path).stat()
    except OSError:
        return False
    return stamps.get(artifact.path) == (status.st_size, status.st_mtime_ns, artifact.sha256)


def _without_good_files(pending: list[Artifact], root: Path, stamps: dict[str, Stamp]) -> list[Artifact]:
    """Hash the files that are there; note the good ones, delete the bad ones and return what must be fetched."""
    missing = []
    for artifact in pending:
        path = root / artifact.path
        stamps.pop(artifact.path, None)
        if path.exists() and sha256_of(path) == artifact.sha256:
            stamps[artifact.path] = _stamp(path, artifact)
            continue
        path.unlink(missing_ok=True)
        missing.append(artifact)
    return missing


def _download(missing: list[Artifact], root: Path, stamps: dict[str, Stamp], progress: Progress) -> None:
    failures: list[str] = []
    for abandoned in root.glob(".incoming-*"):  # of a process that was killed: we hold the lock
        shutil.rmtree(abandoned, ignore_errors=True)
    progress.say(f"Fetching {len(missing)} packages into {root}")
    with (
        tempfile.TemporaryDirectory(prefix=".incoming-", dir=root) as incoming,
        ThreadPoolExecutor(THREADS) as pool,
        progress.counting("Packages", len(missing), "file") as counter,
    ):
        jobs = {pool.submit(_download_one, artifact, Path(incoming), root): artifact for artifact in missing}
        try:
            for job in as_completed(jobs):
                error = job.exception()
                if error is not None:
                    failures.append(f"{jobs[job]}: {_reason(error)}")
                    if len(failures) >= THREADS:  # the network is gone: the rest would fail the same way
                        break
                else:
                    stamps[jobs[job].path] = job.result()
                counter.update()
        finally:
            pool.shutdown(cancel_futures=True)
            _write_stamps(root, stamps)
    if failures:
        raise LocalStackError(
            f"{len(failures)} of {len(missing)} packages could not be fetched, the first: {failures[0]}",
            "Check that this machine reaches Maven Central (a proxy is taken from HTTPS_PROXY), then run the command "
            "again: what has been fetched is kept.",
        )


def _download_one(artifact: Artifact, incoming: Path, root: Path) -> Stamp:
    """Download, verify, then move into place."""
    for attempt in range(1, TRIES + 1):
        scratch = Path(tempfile.mkdtemp(dir=incoming))
        try:
            downloaded = resolve(artifact, scratch)
            actual = sha256_of(downloaded)
            if actual != artifact.sha256:
                raise ValueError(f"sha256 is {actual}, the lock says {artifact.sha256}")
        except Exception:  # whatever jgo and requests raise: tried again, then reported with its reason
            if attempt == TRIES:
                raise
            time.sleep(attempt)
            continue
        target = root / artifact.path
        target.parent.mkdir(parents=True, exist_ok=True)
        os.replace(downloaded, target)
        return _stamp(target, artifact)
    raise AssertionError("unreachable")


def resolve(artifact: Artifact, repository: Path) -> Path:
    """One download through jgo, which knows the registry's address and the user's proxies."""
    from jgo.maven import MavenContext

    context = MavenContext(repo_cache=repository, timeout=TIMEOUT)
    component = context.project(artifact.group, artifact.name).at_version(artifact.version)
    path: Path = component.artifact(classifier=artifact.classifier, packaging=artifact.packaging).resolve()
    return path


def sha256_of(path: Path) -> str:
    """The file's sha256 in hex."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _stamp(path: Path, artifact: Artifact) -> Stamp:
    status = path.stat()
    return (status.st_size, status.st_mtime_ns, artifact.sha256)


def _read_stamps(root: Path) -> dict[str, Stamp]:
    """What was verified; empty where the note is missing or unreadable: then everything is hashed once more."""
    try:
        content: dict[str, Any] = json.loads((root / STAMP_FILE).read_text(encoding="utf-8"))
        return {path: (int(size), int(changed), str(digest)) for path, (size, changed, digest) in content.items()}
    except (OSError, ValueError, TypeError, AttributeError):
        return {}


def _write_stamps(root: Path, stamps: dict[str, Stamp]) -> None:
    temporary = root / f".{STAMP_FILE}.{os.getpid()}.tmp"
    temporary.write_text(json.dumps(stamps, indent=0, sort_keys=True), encoding="utf-8")
    os.replace(temporary, root / STAMP_FILE)


def _reason(error: BaseException) -> str:
    """One line of an exception that may print as a page."""
    text = " ".join(str(error).split()) or type(error).__name__
    return text if len(text) <= 300 else text[:300] + "..."
