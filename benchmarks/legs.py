"""The search's own legs as bare Cypher: what the retrievers send, recorded once and sent again by a plain driver."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import neo4j

from library.graph import session
from library.services.retrieval import RETRIEVERS
from library.services.retrievers.base import RetrievalQuery
from library.services.types import Scope


@dataclass(frozen=True, slots=True)
class Statement:
    """One read as a retriever sends it."""

    cypher: str
    parameters: Mapping[str, Any]


@contextmanager
def _recorded() -> Iterator[list[Statement]]:
    """Reads of the block are noted and not sent."""
    found: list[Statement] = []
    original = session.read

    def note(query: str, parameters: Mapping[str, Any], timeout: float | None = None) -> list[neo4j.Record]:
        found.append(Statement(query, dict(parameters)))
        return []

    session.read = note
    try:
        yield found
    finally:
        session.read = original


def statements(name: str, texts: Sequence[str], vectors: Sequence[Sequence[float]]) -> list[Statement | None]:
    """What the leg sends for every question; None where it sends nothing."""
    found: list[Statement | None] = []
    for text, vector in zip(texts, vectors, strict=True):
        with _recorded() as sent:
            RETRIEVERS[name].retrieve(RetrievalQuery.of(text, vector=vector), Scope(), 5.0)
        found.append(sent[0] if sent else None)
    return found


def run(driver: neo4j.Driver, statement: Statement | None) -> list[neo4j.Record]:
    """Send one read by auto-commit, the cheapest way there is."""
    if statement is None:
        return []
    with driver.session(database="neo4j", default_access_mode=neo4j.READ_ACCESS) as opened:
        return list(opened.run(neo4j.Query(statement.cypher), dict(statement.parameters)))
