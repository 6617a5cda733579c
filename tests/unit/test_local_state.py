"""The file that tells the settings where the local services are."""

import json
import stat
from dataclasses import replace
from pathlib import Path

import pytest

from mnemosyne.local.state import (
    SERVICES_FILE,
    ModelService,
    Neo4jService,
    Services,
    read_services,
    write_private,
    write_services,
)

NEO4J = Neo4jService("bolt://127.0.0.1:7687", "neo4j", "secret", 11, 7687, "/state/neo4j", "/java")
MODELS = ModelService("http://127.0.0.1:8400", "local", 12, 8400, "embedder", "reranker", 384, 512, "q: ", "/tok.json")


@pytest.mark.parametrize(
    "services", [Services(NEO4J, MODELS), Services(NEO4J, None), Services(None, MODELS), Services()]
)
def test_what_was_written_is_read_back(tmp_path: Path, services: Services) -> None:
    write_services(tmp_path, services)
    assert read_services(tmp_path) == services


def test_the_file_with_the_password_is_readable_by_its_owner_only(tmp_path: Path) -> None:
    write_services(tmp_path, Services(NEO4J, MODELS))
    assert stat.S_IMODE((tmp_path / SERVICES_FILE).stat().st_mode) == 0o600


def test_a_file_that_was_open_to_others_is_closed_when_it_is_replaced(tmp_path: Path) -> None:
    target = tmp_path / "password"
    target.write_text("old")
    target.chmod(0o644)
    write_private(target, "new")
    assert target.read_text() == "new"
    assert stat.S_IMODE(target.stat().st_mode) == 0o600
    assert list(tmp_path.iterdir()) == [target]


@pytest.mark.parametrize("content", ["", "{", "[]", "null", "{}", '{"format": 99, "neo4j": null, "models": null}'])
def test_a_file_that_is_not_ours_to_read_counts_as_no_services(tmp_path: Path, content: str) -> None:
    (tmp_path / SERVICES_FILE).write_text(content)
    assert read_services(tmp_path) is None


def test_a_file_with_a_field_missing_counts_as_no_services(tmp_path: Path) -> None:
    content = Services(replace(NEO4J), None).as_dict()
    del content["neo4j"]["password"]
    (tmp_path / SERVICES_FILE).write_text(json.dumps(content))
    assert read_services(tmp_path) is None


def test_a_folder_that_does_not_exist_has_no_services(tmp_path: Path) -> None:
    assert read_services(tmp_path / "none") is None
