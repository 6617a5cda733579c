"""A scope as Cypher. Property names come from here only; values are always parameters."""

from typing import Any

from library.services.types import Scope


def vector_filter(scope: Scope, variable: str = "n") -> tuple[str, dict[str, Any]]:
    """The WHERE of a SEARCH clause and its parameters; only equality and IN, joined by AND, are possible there."""
    return _clause("WHERE", variable, scope)


def node_filter(scope: Scope, variable: str) -> tuple[str, dict[str, Any]]:
    """The same scope as a conjunction that starts with AND, for a node that carries the scope's properties."""
    return _clause("AND", variable, scope)


def _clause(word: str, variable: str, scope: Scope) -> tuple[str, dict[str, Any]]:
    conditions: list[str] = []
    parameters: dict[str, Any] = {}
    if scope.library_uids is not None:
        # One library is by far the most frequent scope, and equality is the fastest predicate.
        if len(scope.library_uids) == 1:
            conditions.append(f"{variable}.library_uid = $library_uid")
            parameters["library_uid"] = next(iter(scope.library_uids))
        else:
            conditions.append(f"{variable}.library_uid IN $library_uids")
            parameters["library_uids"] = sorted(scope.library_uids)
    if scope.library_type is not None:
        conditions.append(f"{variable}.library_type = $library_type")
        parameters["library_type"] = scope.library_type
    if scope.collection_uid is not None:
        conditions.append(f"{variable}.collection_uid = $collection_uid")
        parameters["collection_uid"] = scope.collection_uid
    return (f"{word} " + " AND ".join(conditions) if conditions else ""), parameters
