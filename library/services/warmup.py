"""The first search of a Neo4j that has just started waits for plans; asked once beforehand, it does not."""

from typing import Final

from library.graph.hydrate import chunk_records
from library.services.retrieval import RETRIEVERS
from library.services.retrievers.base import RetrievalQuery
from library.services.types import Scope

# Plans are made for each text of a query, and the texts differ by what the caller may see: all, one, or several.
_SCOPES: Final = (Scope(), Scope(frozenset({"0" * 32})), Scope(frozenset({"0" * 32, "1" * 32})))
PATIENCE: Final = 60.0


def warm_up(dimensions: int) -> None:
    """Let Neo4j plan what searches ask, for vectors of so many dimensions; raises `GraphError`."""
    query = RetrievalQuery.of("warm up", vector=[1.0] * dimensions)
    for scope in _SCOPES:
        for retriever in RETRIEVERS.values():
            retriever.retrieve(query, scope, PATIENCE)
    chunk_records(["none"], PATIENCE)
