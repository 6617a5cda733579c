"""The password of a new Neo4j, as it is given to Neo4j's own command."""

import re
import secrets
import subprocess
from pathlib import Path
from typing import Any

import pytest

from mnemosyne.local.java import Java
from mnemosyne.local.neo4j_server import Neo4jServer
from mnemosyne.local.progress import Progress


def test_a_password_never_looks_like_an_option(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    given: list[str] = []

    def run(command: list[str], **_: Any) -> subprocess.CompletedProcess[str]:
        given.append(command[-1])
        return subprocess.CompletedProcess(command, 0, "", "")

    monkeypatch.setattr(subprocess, "run", run)
    # What would begin with a dash in one of 64 cases begins with one here.
    monkeypatch.setattr(secrets, "token_urlsafe", lambda size: "-" * size)
    server = Neo4jServer(tmp_path)
    (tmp_path / "neo4j" / "conf").mkdir(parents=True)
    server._set_password(Java(Path("java"), 25, False), Progress())
    assert re.fullmatch("[0-9a-f]{48}", given[0])
    assert (tmp_path / "neo4j.password").read_text(encoding="utf-8") == f"{given[0]}\n"
