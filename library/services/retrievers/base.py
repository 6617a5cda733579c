"""What every retriever is: a query and a scope in, a ranked list out."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

from library.services.normalise import divide_by_highest
from library.services.query_language import ParsedQuery, parse
from library.services.retrievers.lucene import SafeText, safe_text
from library.services.types import Scope, SearchCandidate

Hit = TypeVar("Hit")

MAX_WORDS = 64


@dataclass(frozen=True, slots=True)
class RetrievalQuery:
    """What the retrievers of one search are asked. Built once by the orchestrator; `vector` is None without one.

    `parsed` has the operators of the query, which hold for the hits of every leg; `text` has its plain words.
    """

    parsed: ParsedQuery
    text: SafeText
    vector: Sequence[float] | None = None
    # Of a picture that is searched by: its vector, where the model takes pictures, else its look.
    image_vector: Sequence[float] | None = None
    look: Sequence[float] | None = None
    vector_top_k: int = 50
    fulltext_top_k: int = 30
    graph_top_k: int = 30
    graph_max_depth: int = 2
    # How many of the nearest passages by vector, and by words, the graph leg goes on from.
    graph_seed_hits: int = 2
    image_top_k: int = 20
    # Spellings of codes in the query that count more where they stand as they are; with `require_exact` a hit of the
    # full-text leg must hold one of them.
    exact_terms: tuple[str, ...] = ()
    require_exact: bool = False

    @classmethod
    def of(cls, query: str, max_words: int = MAX_WORDS, **given: Any) -> "RetrievalQuery":
        """The query taken apart, with what else is given."""
        parsed = parse(query)
        return cls(parsed, safe_text(parsed.plain_text, max_words), **given)


class Retriever(Protocol[Hit]):
    """A leg of the search. Holds no state, runs in any thread, and runs no query where nothing can be found.

    The list is ordered by falling score, then by uid; every hit lies in the scope, passes the operators of the query
    and scores above 0. `timeout` in seconds is kept by the server. Raises `GraphTimeout`, `GraphUnavailable`,
    `GraphError`.
    """

    def retrieve(self, query: RetrievalQuery, scope: Scope, timeout: float) -> list[Hit]:
        """The best hits of the scope."""
        ...


def normalised_candidates(rows: Sequence[Sequence[Any]], source: str) -> list[SearchCandidate]:
    """Rows of uid, item_uid, chunk_index, score and perhaps a path, in order; scores divided by the highest."""
    scores = divide_by_highest([row[3] for row in rows])
    return [
        SearchCandidate(
            chunk_uid=uid,
            item_uid=item_uid,
            chunk_index=chunk_index,
            score=score,
            source=source,
            metadata={"graph_path": path[0]} if path else {},
        )
        for (uid, item_uid, chunk_index, _, *path), score in zip(rows, scores, strict=True)
    ]
