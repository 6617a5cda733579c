"""A Neo4j without filtered vector search is refused, whatever it calls itself."""

from typing import cast

import pytest
from neo4j import Driver
from neo4j.exceptions import AuthError, ClientError, ServiceUnavailable

from mnemosyne.local import probe
from mnemosyne.local.errors import LocalStackError
from mnemosyne.local.probe import INDEX_NOT_FOUND, check_neo4j, missing_feature


def client_error(code: str, message: str) -> ClientError:
    error = ClientError(message)
    error._neo4j_code = code  # as the driver sets it from what the server sends
    error._message = message
    return error


class FakeDriver:
    """Answers each query of a feature with nothing or an error."""

    def __init__(self, create: Exception | None, search: Exception | None) -> None:
        self.answers = {probe.CREATE_QUERY: create, probe.SEARCH_QUERY: search}
        self.asked: list[str] = []

    def execute_query(self, query: str, **_: object) -> None:
        self.asked.append(query)
        answer = self.answers[query]
        if answer is not None:
            raise answer

    def verify_connectivity(self) -> None:
        pass

    def __enter__(self) -> "FakeDriver":
        return self

    def __exit__(self, *_: object) -> None:
        pass


MISSING_INDEX = client_error(INDEX_NOT_FOUND, "The index does not exist.")
SYNTAX = client_error("Neo.ClientError.Statement.SyntaxError", "Invalid input 'WHERE':\n expected 'LIMIT'")
NO_CYPHER_25 = client_error("Neo.ClientError.Statement.ArgumentError", "25 is not a valid option for cypher version.")


def ask(create: Exception | None, search: Exception | None) -> str | None:
    return missing_feature(cast(Driver, FakeDriver(create, search)))


def test_a_server_that_only_misses_the_index_has_the_feature() -> None:
    assert ask(None, MISSING_INDEX) is None


def test_a_server_that_finds_the_filter_a_syntax_error_lacks_the_feature() -> None:
    assert ask(None, SYNTAX) == "Invalid input 'WHERE': expected 'LIMIT'"


def test_a_server_without_filterable_index_properties_lacks_the_feature() -> None:
    assert ask(SYNTAX, MISSING_INDEX) is not None


def test_a_server_that_speaks_no_cypher_25_lacks_the_feature() -> None:
    assert ask(NO_CYPHER_25, NO_CYPHER_25) == "25 is not a valid option for cypher version."


def test_nothing_is_created_by_asking() -> None:
    assert all(query.startswith("EXPLAIN ") for query in (probe.CREATE_QUERY, probe.SEARCH_QUERY))


def use(monkeypatch: pytest.MonkeyPatch, driver: FakeDriver) -> None:
    monkeypatch.setattr("mnemosyne.local.probe.GraphDatabase.driver", lambda *_, **__: driver)


def test_the_refusal_names_what_is_needed_and_the_way_out(monkeypatch: pytest.MonkeyPatch) -> None:
    use(monkeypatch, FakeDriver(None, SYNTAX))
    with pytest.raises(LocalStackError, match="no vector search filtered inside the index") as caught:
        check_neo4j("bolt://old:7687", "neo4j", "secret")
    assert "Neo4j 2026.08 or newer" in caught.value.remedy
    assert "secret" not in str(caught.value)


def test_a_wrong_password_is_told_apart_from_a_missing_feature(monkeypatch: pytest.MonkeyPatch) -> None:
    use(monkeypatch, FakeDriver(AuthError("unauthorized"), None))
    with pytest.raises(LocalStackError, match="refuses the user 'neo4j'"):
        check_neo4j("bolt://there:7687", "neo4j", "secret")


def test_a_server_that_cannot_be_reached_is_told_apart_from_a_missing_feature(monkeypatch: pytest.MonkeyPatch) -> None:
    use(monkeypatch, FakeDriver(ServiceUnavailable("connection refused"), None))
    with pytest.raises(LocalStackError, match="cannot be reached: connection refused"):
        check_neo4j("bolt://gone:7687", "neo4j", "secret")
