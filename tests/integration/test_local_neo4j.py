"""The real server: started once for this file, in a state folder of its own."""

import os
import socket
import stat
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.conf import settings
from neo4j import GraphDatabase, Query

from mnemosyne.local import neo4j_server, process, stack
from mnemosyne.local.artifacts import fetch, load_lock
from mnemosyne.local.errors import LocalStackError
from mnemosyne.local.java import find_java
from mnemosyne.local.neo4j_server import Neo4jServer
from mnemosyne.local.probe import check_neo4j
from mnemosyne.local.progress import Progress
from mnemosyne.local.state import Neo4jService, read_services

pytestmark = pytest.mark.neo4j
QUIET = Progress(quiet=True)


def start(state_dir: Path) -> Neo4jService:
    services = stack.start(state_dir, settings.MNEMOSYNE_CACHE_DIR, models=False, heap="512m", progress=QUIET)
    assert services.neo4j is not None
    return services.neo4j


def ask(service: Neo4jService, query: Query | str) -> list[object]:
    with GraphDatabase.driver(service.url, auth=(service.user, service.password)) as driver:
        return [record.values() for record in driver.execute_query(query).records]


@pytest.fixture(scope="module")
def state_dir(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    folder = tmp_path_factory.mktemp("a stack")  # with a space, as people's folders have
    yield folder
    stack.stop(folder, QUIET)


@pytest.fixture
def server(state_dir: Path) -> Neo4jService:
    """Running; started anew where a test has stopped it."""
    return start(state_dir)


def test_two_commands_at_once_start_one_server(state_dir: Path) -> None:
    found: list[Neo4jService] = []
    threads = [threading.Thread(target=lambda: found.append(start(state_dir))) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len({service.pid for service in found}) == 1
    assert len(process.marked(f"--home-dir={found[0].home}")) == 1


def test_a_running_server_is_found_and_written_down(state_dir: Path, server: Neo4jService) -> None:
    assert start(state_dir).pid == server.pid
    services = read_services(state_dir)
    assert services is not None
    assert services.neo4j is not None
    assert services.neo4j.pid == server.pid
    assert ask(services.neo4j, "RETURN 1") == [[1]]


def test_it_listens_on_the_loopback_interface_only(server: Neo4jService) -> None:
    import psutil

    listening = [c.laddr for c in psutil.Process(server.pid).net_connections("tcp") if c.status == psutil.CONN_LISTEN]
    assert {address.port for address in listening} == {server.port}
    assert {address.ip.removeprefix("::ffff:") for address in listening} == {"127.0.0.1"}


def test_the_password_is_made_up_and_kept_from_others(state_dir: Path, server: Neo4jService) -> None:
    assert len(server.password) >= 24
    assert stat.S_IMODE((state_dir / "neo4j.password").stat().st_mode) == 0o600
    assert stat.S_IMODE((state_dir / "services.json").stat().st_mode) == 0o600
    command = " ".join(os.fsdecode(part) for part in Path(f"/proc/{server.pid}/cmdline").read_bytes().split(b"\0"))
    assert server.password not in command


def test_its_feature_is_found_and_the_question_leaves_nothing_behind(server: Neo4jService) -> None:
    before = [ask(server, "SHOW INDEXES YIELD name RETURN name ORDER BY name"), ask(server, "CALL db.propertyKeys()")]
    check_neo4j(server.url, server.user, server.password)
    after = [ask(server, "SHOW INDEXES YIELD name RETURN name ORDER BY name"), ask(server, "CALL db.propertyKeys()")]
    assert after == before
    assert ask(server, "CALL db.labels()") == []


def test_a_wrong_password_is_reported_as_such(server: Neo4jService) -> None:
    with pytest.raises(LocalStackError, match="refuses the user"):
        check_neo4j(server.url, server.user, "wrong")


def test_a_filtered_vector_search_runs(server: Neo4jService) -> None:
    ask(
        server,
        "CYPHER 25 CREATE VECTOR INDEX try IF NOT EXISTS FOR (n:Try) ON n.embedding WITH [n.scope] "
        "OPTIONS {indexConfig: {`vector.dimensions`: 2, `vector.similarity_function`: 'cosine'}}",
    )
    ask(server, "CREATE (:Try {scope: 'a', embedding: [1.0, 0.0]}), (:Try {scope: 'b', embedding: [1.0, 0.1]})")
    ask(server, "CALL db.awaitIndexes(60)")
    found = ask(
        server,
        "CYPHER 25 MATCH (n:Try) SEARCH n IN (VECTOR INDEX try FOR [1.0, 0.0] WHERE n.scope IN ['b'] LIMIT 5) "
        "SCORE AS score RETURN n.scope",
    )
    assert found == [["b"]]


def test_data_outlive_a_stop_and_the_next_start_takes_another_port_when_its_own_is_taken(
    state_dir: Path, server: Neo4jService
) -> None:
    ask(server, "MERGE (:Kept {name: 'still here'})")
    assert stack.stop(state_dir, QUIET) == ["Neo4j"]
    assert process.marked(f"--home-dir={server.home}") == []
    assert read_services(state_dir) is None
    with socket.create_server((process.HOST, server.port)):
        again = start(state_dir)
    assert again.port != server.port
    assert again.password == server.password
    assert ask(again, "MATCH (n:Kept) RETURN n.name") == [["still here"]]


def test_a_port_taken_between_the_look_and_the_start_is_given_up_for_the_next(
    state_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stack.stop(state_dir, QUIET)
    with socket.create_server((process.HOST, 0)) as faster:
        taken = faster.getsockname()[1]
        looks = iter([taken, process.free_port(taken)])
        monkeypatch.setattr(process, "free_port", lambda preferred: next(looks))
        service = start(state_dir)
    assert service.port != taken
    assert ask(service, "RETURN 1") == [[1]]


def test_a_server_that_cannot_start_shows_the_end_of_its_log_and_leaves_no_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Neo4jServer, "_set_password", lambda self, java, progress: None)
    monkeypatch.setattr(
        neo4j_server, "CONFIGURATION", neo4j_server.CONFIGURATION + "server.memory.pagecache.size=nonsense\n"
    )
    jars = fetch(load_lock().neo4j, settings.MNEMOSYNE_CACHE_DIR, QUIET)
    with pytest.raises(LocalStackError, match="ended while it was starting") as caught:
        Neo4jServer(tmp_path).start(jars, QUIET, find_java())
    assert "server.memory.pagecache.size" in caught.value.message
    assert process.marked(f"--home-dir={tmp_path.resolve() / 'neo4j'}") == []


def test_data_without_their_password_are_not_touched(tmp_path: Path) -> None:
    (tmp_path / "neo4j" / "data" / "databases").mkdir(parents=True)
    with pytest.raises(LocalStackError, match=r"password of the Neo4j data .* is missing") as caught:
        Neo4jServer(tmp_path).start([], QUIET, find_java())
    assert "reset" in caught.value.remedy
