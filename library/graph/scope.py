"""A scope as Cypher. Property names come from here only; values are always parameters."""

from collections.abc import Sequence
from typing import Any, Final

from library.services.types import Scope

# How many times as many concepts are asked of the index where some may be called so by hidden libraries only.
NAMING_REACH: Final = 4


def vector_filter(scope: Scope, variable: str = "n") -> tuple[str, dict[str, Any]]:
    """The WHERE of a SEARCH clause and its parameters; only equality and IN, joined by AND, are possible there."""
    return _clause("WHERE", variable, scope)


def node_filter(scope: Scope, variable: str) -> tuple[str, dict[str, Any]]:
    """The same scope as a conjunction that starts with AND, for a node that carries the scope's properties."""
    return _clause("AND", variable, scope)


def concept_filter(scope: Scope, variable: str) -> str:
    """Concepts that something in the scope is about; parameters are those of `node_filter`."""
    if scope.library_uids is None:
        return ""
    if len(scope.library_uids) == 1:
        return f"AND $library_uid IN {variable}.library_uids"
    return f"AND any(uid IN {variable}.library_uids WHERE uid IN $library_uids)"


def edge_filter(scope: Scope, variable: str) -> str:
    """Relations of concepts that a library of the scope makes; parameters are those of `node_filter`.

    Relations of graphs that were made before relations had libraries count as everyone's.
    """
    if scope.library_uids is None:
        return ""
    return f"AND ({variable}.library_uid IS NULL OR {variable}.library_uid {_listed(scope)})"


def shown_name(scope: Scope, variable: str) -> str:
    """The name of a concept as a library of the scope calls it; parameters are those of `node_filter`."""
    if scope.library_uids is None:
        return f"{variable}.name"
    return (
        f"coalesce(head([n IN coalesce({variable}.namings, []) WHERE split(n, '\\u001F')[0] {_listed(scope)} "
        f"| split(n, '\\u001F')[2]]), {variable}.name)"
    )


def naming_filter(scope: Scope, variable: str) -> str:
    """Concepts that a library of the scope calls by a word of the query, whatever others call them.

    A conjunction that starts with AND. Parameters are those of `node_filter` and `naming_parameters`.
    """
    if scope.library_uids is None:
        return ""
    return (
        f"AND ({variable}.namings IS NULL OR any(n IN {variable}.namings "
        f"WHERE split(n, '\\u001F')[0] {_listed(scope)} AND any(part IN split(n, '\\u001F')[2..] "
        "WHERE any(word IN $beginnings WHERE toLower(part) CONTAINS word))))"
    )


def naming_parameters(scope: Scope, words: Sequence[str], limit: int, reach: str) -> dict[str, Any]:
    """What `naming_filter` takes, and `reach`: how many concepts the index is asked for, some to be passed over."""
    return {
        # How words begin whatever their ending: the index stems, a comparison of strings does not.
        "beginnings": [word.lower()[: max(3, len(word) - 4) if word.isascii() else 1] for word in words],
        reach: limit if scope.library_uids is None else NAMING_REACH * limit,
    }


def _listed(scope: Scope) -> str:
    return "= $library_uid" if scope.library_uids is not None and len(scope.library_uids) == 1 else "IN $library_uids"


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
