""".env.example names every setting that the project reads, with the default that it has, and no other."""

import ast
import itertools
import re
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
LINE = re.compile(r"#?([A-Z][A-Z0-9_]*)=(.*)")
READERS = {"str", "int", "float", "bool", "list", "dict", "json", "path", "db_url", "cache_url"}


def read_by_settings() -> dict[str, Any]:
    """Name to default, as a value where it is a literal, else None; the last reading with a default counts."""
    found: dict[str, Any] = {}
    for node in ast.walk(ast.parse((ROOT / "mnemosyne" / "settings.py").read_text(encoding="utf-8"))):
        if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)):
            continue
        if not (isinstance(node.func.value, ast.Name) and node.func.value.id == "env"):
            continue
        if node.func.attr not in READERS:
            continue
        assert isinstance(node.args[0], ast.Constant), "the name of a setting is a literal"
        default = next((k.value for k in node.keywords if k.arg == "default"), None)
        default = node.args[1] if len(node.args) > 1 else default
        name = str(node.args[0].value)
        found.setdefault(name, None)
        if isinstance(default, ast.Constant | ast.List):
            found[name] = ast.literal_eval(default)
    return found


def example_lines() -> list[str]:
    return (ROOT / ".env.example").read_text(encoding="utf-8").splitlines()


def named_in_example() -> dict[str, str]:
    """Name to value, as written."""
    matches = [LINE.fullmatch(line) for line in example_lines()]
    return {match[1]: match[2] for match in matches if match}


def written(value: Any) -> str:
    """A default as it is written into an environment file."""
    if isinstance(value, bool):
        return str(value).lower()
    return ",".join(value) if isinstance(value, list) else str(value)


def test_every_setting_is_in_the_example_and_nothing_else() -> None:
    assert set(named_in_example()) == set(read_by_settings())
    assert len(read_by_settings()) > 50


@pytest.mark.parametrize("name", sorted(name for name, value in read_by_settings().items() if value is not None))
def test_the_default_is_the_one_that_the_settings_have(name: str) -> None:
    assert named_in_example()[name] == written(read_by_settings()[name])


def test_every_setting_is_explained_in_the_line_above() -> None:
    lines = example_lines()
    for above, line in itertools.pairwise(lines):
        if LINE.fullmatch(line):
            assert re.fullmatch(r"# [A-Z].{5,}\.", above), f"{line} has no explanation"


def test_the_example_holds_no_secret_and_changes_nothing_when_copied() -> None:
    assert all(line.startswith("#") or not line for line in example_lines())
    assert {named_in_example()[name] for name in named_in_example() if name.endswith(("PASSWORD", "KEY"))} == {""}


def test_the_environment_is_read_in_the_settings_only() -> None:
    readers = [
        path.relative_to(ROOT).as_posix()
        for folder in ("library", "mnemosyne")
        for path in (ROOT / folder).rglob("*.py")
        if re.search(r"environ\.Env\(|os\.getenv", path.read_text(encoding="utf-8"))
    ]
    assert readers == ["mnemosyne/settings.py"]
