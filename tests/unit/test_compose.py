"""docker-compose.yml is valid, holds no password, and what it copies and runs is there."""

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import ruamel.yaml

ROOT = Path(__file__).resolve().parents[2]
FILE = ROOT / "docker-compose.yml"


def compose() -> dict[str, Any]:
    content: dict[str, Any] = ruamel.yaml.YAML(typ="safe").load(FILE.read_text(encoding="utf-8"))
    return content


def app_environment() -> dict[str, str]:
    environment: dict[str, str] = compose()["services"]["app"]["environment"]
    return environment


def test_the_file_follows_the_compose_schema() -> None:
    command = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", "vendor.compose-spec", str(FILE)]
    checked = subprocess.run(command, capture_output=True, text=True, check=False)
    assert checked.returncode == 0, checked.stdout + checked.stderr


def test_the_neo4j_version_is_the_one_that_the_local_services_use() -> None:
    lock = (ROOT / "mnemosyne" / "local" / "artifacts.lock.json").read_text(encoding="utf-8")
    version = re.search(r'"name": "neo4j", "version": "([^"]+)"', lock)
    assert version is not None
    assert compose()["services"]["neo4j"]["image"] == f"neo4j:{version[1]}-community"


def test_secrets_have_no_default_and_must_be_given() -> None:
    text = FILE.read_text(encoding="utf-8")
    for name in ("NEO4J_PASSWORD", "SECRET_KEY", "EMBEDDING_URL"):
        uses = re.findall(rf"\$\{{{name}([^}}]*)\}}", text)
        assert uses
        assert all(use.startswith(":?") for use in uses)


def test_every_variable_of_the_app_is_a_setting() -> None:
    example = (ROOT / ".env.example").read_text(encoding="utf-8")
    assert [name for name in app_environment() if f"#{name}=" not in example] == []


def test_the_image_is_built_from_files_that_exist() -> None:
    recipe = compose()["services"]["app"]["build"]["dockerfile_inline"]
    copied = [name for line in re.findall(r"^COPY (.*) \S+$", recipe, re.MULTILINE) for name in line.split()]
    assert set(copied) >= {"pyproject.toml", "manage.py", "library", "mnemosyne"}
    assert [name for name in copied if not (ROOT / name).exists()] == []


def test_the_start_command_runs_commands_that_exist() -> None:
    from django.core.management import get_commands

    script = compose()["services"]["app"]["command"][-1]
    used = re.findall(r"manage\.py (\w+)", script)
    assert used[-1] == "serve"
    assert set(used) <= set(get_commands())
