"""What every retriever is: a query and a scope in, a ranked list out."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar

from library.services.retrievers.lucene import SafeText
from library.services.types import Scope

Hit = TypeVar("Hit")


@dataclass(frozen=True, slots=True)
class RetrievalQuery:
    """What the retrievers of one search are asked. Built once by the orchestrator; `vector` is None without one."""

    text: SafeText
    vector: Sequence[float] | None = None
    vector_top_k: int = 50
    fulltext_top_k: int = 30
    graph_top_k: int = 30
    graph_max_depth: int = 2
    image_top_k: int = 20


class Retriever(Protocol[Hit]):
    """A leg of the search. Holds no state, runs in any thread, and runs no query where nothing can be found.

    The list is ordered by falling score, then by uid; every hit lies in the scope and scores above 0.
    `timeout` in seconds is kept by the server. Raises `GraphTimeout`, `GraphUnavailable`, `GraphError`.
    """

    def retrieve(self, query: RetrievalQuery, scope: Scope, timeout: float) -> list[Hit]:
        """The best hits of the scope."""
        ...
