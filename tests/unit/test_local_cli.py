"""The command line: what it prints, and that a failure says what to do."""

import json
from pathlib import Path

import pytest

from mnemosyne.local import cli, stack
from mnemosyne.local.cli import Options, main
from mnemosyne.local.errors import LocalStackError
from mnemosyne.local.state import Neo4jService, Services

NEO4J = Neo4jService("bolt://127.0.0.1:7687", "neo4j", "secret-password", 11, 7687, "/state/neo4j", "/java")


class FakeStack:
    """Remembers what it was asked to start."""

    def __init__(self) -> None:
        self.asked: dict[str, object] = {}

    def start(self, state_dir: Path, cache_dir: Path, **asked: object) -> Services:
        self.asked = {"state_dir": state_dir, **asked}
        return Services(neo4j=NEO4J)


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> FakeStack:
    started = FakeStack()
    monkeypatch.setattr(stack, "start", started.start)
    return started


@pytest.fixture
def defaults(tmp_path: Path) -> Options:
    return Options(state_dir=tmp_path / "state", cache_dir=tmp_path / "cache", quiet=True)


def test_up_says_where_the_services_are_but_not_the_password(
    fake: FakeStack, defaults: Options, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["up"], defaults) == 0
    printed = capsys.readouterr().out
    assert "bolt://127.0.0.1:7687" in printed
    assert "secret-password" not in printed


def test_up_as_json_has_everything_a_script_needs(
    fake: FakeStack, defaults: Options, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["up", "--json"], defaults) == 0
    assert json.loads(capsys.readouterr().out)["services"]["neo4j"]["password"] == "secret-password"


def test_another_state_folder_can_be_named(fake: FakeStack, defaults: Options, tmp_path: Path) -> None:
    main(["up", "--state", str(tmp_path / "other")], defaults)
    assert fake.asked["state_dir"] == tmp_path / "other"


@pytest.mark.parametrize(
    ("arguments", "started"),
    [([], (True, True)), (["--only", "neo4j"], (True, False)), (["--only", "models"], (False, True))],
)
def test_one_service_can_be_started_alone(
    fake: FakeStack, defaults: Options, arguments: list[str], started: tuple[bool, bool]
) -> None:
    main(["up", *arguments], defaults)
    assert (fake.asked["neo4j"], fake.asked["models"]) == started


def test_a_neo4j_named_in_the_settings_is_checked_and_none_is_started(
    fake: FakeStack, defaults: Options, monkeypatch: pytest.MonkeyPatch
) -> None:
    checked: list[str] = []
    monkeypatch.setattr(cli, "check_neo4j", lambda url, user, password: checked.append(url))
    named = Options(defaults.state_dir, defaults.cache_dir, neo4j_url="bolt://elsewhere:7687", quiet=True)
    assert main(["up"], named) == 0
    assert checked == ["bolt://elsewhere:7687"]
    assert (fake.asked["neo4j"], fake.asked["models"]) == (False, True)


def test_a_model_server_named_in_the_settings_is_used_in_place_of_ours(fake: FakeStack, defaults: Options) -> None:
    named = Options(defaults.state_dir, defaults.cache_dir, model_server_url="http://elsewhere:8400", quiet=True)
    assert main(["up"], named) == 0
    assert (fake.asked["neo4j"], fake.asked["models"]) == (True, False)


def test_a_failure_says_what_failed_and_what_to_do_without_a_traceback(
    defaults: Options, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def failing(*_: object, **__: object) -> Services:
        raise LocalStackError("The disk is full.", "Make room and run the command again.")

    monkeypatch.setattr(stack, "start", failing)
    assert main(["up"], defaults) == 1
    assert capsys.readouterr().err == ("Error: The disk is full.\nWhat to do: Make room and run the command again.\n")


def test_down_without_anything_running_is_no_failure(defaults: Options, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["down"], defaults) == 0
    assert capsys.readouterr().out == "Nothing was running.\n"
    assert not defaults.state_dir.exists()


def test_status_of_services_that_ended_by_themselves_is_a_failure(
    defaults: Options, capsys: pytest.CaptureFixture[str]
) -> None:
    from mnemosyne.local.state import write_services

    assert main(["status"], defaults) == 0
    write_services(defaults.state_dir, Services(neo4j=NEO4J))
    assert main(["status"], defaults) == 1
    assert "neo4j: not running" in capsys.readouterr().out


def test_reset_deletes_the_data_and_the_password_and_keeps_the_rest(defaults: Options) -> None:
    state = defaults.state_dir
    for path in ("neo4j/data/store", "neo4j.password", "db.sqlite3"):
        (state / path).parent.mkdir(parents=True, exist_ok=True)
        (state / path).write_text("x")
    assert main(["reset"], defaults) == 0
    assert not (state / "neo4j").exists()
    assert not (state / "neo4j.password").exists()
    assert (state / "db.sqlite3").exists()
