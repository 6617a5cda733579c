"""Which Java runs Neo4j, tried with programs that answer like Javas of several ages."""

from pathlib import Path

import pytest

from mnemosyne.local.errors import LocalStackError
from mnemosyne.local.java import find_java


def fake_java(folder: Path, version: str, modules: str = "java.base@1", code: int = 0) -> Path:
    """An executable that prints ``version`` for -version, on standard error as Java does, and its modules."""
    folder.mkdir(parents=True, exist_ok=True)
    program = folder / "java"
    program.write_text(
        "#!/bin/sh\n"
        f'if [ "$1" = -version ]; then echo \'openjdk version "{version}" 2025-01-01\' >&2; exit {code}; fi\n'
        f"echo {modules}\n"
    )
    program.chmod(0o755)
    return program


def test_a_system_java_of_17_is_passed_over(tmp_path: Path) -> None:
    old = fake_java(tmp_path / "old", "17.0.15")
    carried = fake_java(tmp_path / "carried", "25.0.2")
    assert find_java([old, carried]).path == carried


@pytest.mark.parametrize(("version", "number"), [("21", 21), ("21.0.3", 21), ("25-ea", 25), ("26", 26)])
def test_a_system_java_of_21_or_newer_is_used(tmp_path: Path, version: str, number: int) -> None:
    system = fake_java(tmp_path / "system", version)
    carried = fake_java(tmp_path / "carried", "25.0.2")
    found = find_java([system, carried])
    assert (found.path, found.version) == (system, number)


@pytest.mark.parametrize("version", ["1.8.0_392", "11.0.2", "20.0.1"])
def test_older_javas_are_refused_with_their_version_and_a_way_out(tmp_path: Path, version: str) -> None:
    old = fake_java(tmp_path / "old", version)
    number = "8" if version.startswith("1.8") else version.split(".")[0]
    with pytest.raises(LocalStackError, match=f"needs Java 21 or newer; {old} is Java {number}") as caught:
        find_java([old])
    assert "pip install" in caught.value.remedy


def test_a_java_that_does_not_work_is_passed_over(tmp_path: Path) -> None:
    broken = fake_java(tmp_path / "broken", "25.0.2", code=1)
    silent = tmp_path / "silent"
    silent.write_text("#!/bin/sh\n")
    silent.chmod(0o755)
    carried = fake_java(tmp_path / "carried", "25.0.2")
    assert find_java([tmp_path / "missing", broken, silent, carried]).path == carried


def test_no_java_at_all_is_an_error_that_says_so(tmp_path: Path) -> None:
    with pytest.raises(LocalStackError, match="none was found"):
        find_java([])


@pytest.mark.parametrize(("modules", "has"), [("java.base@25 jdk.incubator.vector@25", True), ("java.base@25", False)])
def test_the_vector_module_is_used_only_where_the_java_has_it(tmp_path: Path, modules: str, has: bool) -> None:
    assert find_java([fake_java(tmp_path, "25", modules)]).has_vector_module is has


def test_the_systems_java_is_asked_before_the_one_of_the_package(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    system = fake_java(tmp_path, "24.0.1")
    monkeypatch.setattr("mnemosyne.local.java.shutil.which", lambda name: str(system))
    assert find_java().path == system


def test_the_java_of_the_package_is_used_where_the_machine_has_an_old_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    old = fake_java(tmp_path, "17.0.15")
    monkeypatch.setattr("mnemosyne.local.java.shutil.which", lambda name: str(old))
    found = find_java()
    assert found.path != old
    assert found.version >= 21
