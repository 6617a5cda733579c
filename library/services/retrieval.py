"""One attempt at a query: embed it once, run the legs of a strategy side by side."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from library.content_types import CONTENT_TYPES, QUERY_INSTRUCTION
from library.exceptions import GraphError, ModelError, NotConfigured
from library.graph.hydrate import library_instruction
from library.services import cache
from library.services.embeddings import EmbeddingClient
from library.services.legs import Outcome, RunningLegs
from library.services.query_image import look_of
from library.services.retrievers.base import RetrievalQuery, Retriever
from library.services.retrievers.fulltext import FulltextRetriever
from library.services.retrievers.graph import GraphRetriever
from library.services.retrievers.image import ImageRetriever
from library.services.retrievers.lexical_first import LexicalFirstRetriever
from library.services.retrievers.vector import VectorRetriever
from library.services.run import NOT_ASKED, SearchRun
from library.services.types import LegReport, SearchRequest

RETRIEVERS: Final[Mapping[str, Retriever[Any]]] = {
    "vector": VectorRetriever(),
    "fulltext": FulltextRetriever(),
    "graph": GraphRetriever(),
    "image": ImageRetriever(),
    "lexical_first": LexicalFirstRetriever(),
}
# What the legs of a response are called; lexical_first is full text and vector in one query.
LEGS: Final = ("vector", "fulltext", "graph", "image")
_NEEDS_VECTOR: Final = frozenset({"vector", "image", "lexical_first"})
_ONLY_BY_VECTOR: Final = frozenset({"vector", "lexical_first"})


def retrieve(run: SearchRun, query: RetrievalQuery, retrievers: Mapping[str, Retriever[Any]]) -> dict[str, Outcome]:
    """What each leg of `run.legs` found, with its report in `run.reports`; nothing is raised for a leg that fails.

    Legs that need no vector run while the query is embedded; the graph leg waits for it where it is made anyway.
    """
    names = _retrievers_of(run)
    running = RunningLegs(time.monotonic() + run.config.leg_timeout)
    waiting = [name for name in names if name in _NEEDS_VECTOR or (name == "graph" and "vector" in names)]
    for name in names:
        if name not in waiting:
            _start(running, name, query, run, retrievers)
    if waiting and query.vector is None:
        query = _with_vectors(run, query, running)
    for name in waiting:
        if query.vector is not None or name not in _ONLY_BY_VECTOR:
            _start(running, name, query, run, retrievers)
        elif name == "lexical_first":
            _start(running, "fulltext", query, run, retrievers)
    outcomes = _as_legs(dict(running.outcomes()))
    for leg in LEGS:
        if leg in outcomes:
            run.reports[leg] = outcomes[leg].report
        else:
            run.reports.setdefault(leg, NOT_ASKED)
    return outcomes


def _retrievers_of(run: SearchRun) -> list[str]:
    if run.plan.strategy.pool is None or "vector" not in run.legs:
        return run.legs
    return ["lexical_first", *(leg for leg in run.legs if leg == "image")]


def _as_legs(outcomes: dict[str, Outcome]) -> dict[str, Outcome]:
    """Outcomes by leg: lexical_first reports for both of the legs that it does the work of."""
    narrowed = outcomes.pop("lexical_first", None)
    if narrowed is not None:
        outcomes["vector"] = narrowed
        found = max((hit.metadata.get("lexical_total", 0) for hit in narrowed.hits), default=0)
        outcomes["fulltext"] = Outcome((), replace(narrowed.report, count=found))
    return outcomes


def _start(
    running: RunningLegs,
    name: str,
    query: RetrievalQuery,
    run: SearchRun,
    retrievers: Mapping[str, Retriever[Any]],
) -> None:
    retriever, scope = retrievers[name], run.request.scope

    def work(seconds: float) -> Sequence[Any]:
        return retriever.retrieve(query, scope, seconds)

    running.start(name, work)


def _with_vectors(run: SearchRun, query: RetrievalQuery, running: RunningLegs) -> RetrievalQuery:
    """The query with its vectors, made within the legs' budget; without, and with the reason in the report, if not.

    A picture without words is searched by among the passages too: a model that takes pictures puts both into one space.
    """
    text, picture = query.parsed.plain_text, run.request.query_image
    if run.request.scope.is_empty or not (text or picture):
        run.reports["vector"] = LegReport("empty")
        return query
    started = time.perf_counter()
    try:
        client = EmbeddingClient.from_system(run.usage.append, run.request.caller_jwt)
        if picture is not None:
            query = _with_picture(run, query, client, picture, running)
        return replace(query, vector=_text_vector(run, client, text, running) if text else query.image_vector)
    except (ModelError, NotConfigured, GraphError) as error:
        run.reports["vector"] = LegReport("skipped", f"no embedding: {error}")
        run.embedding_failed = True
        return query if picture is None else replace(query, look=look_of(picture))
    finally:
        run.embedding_ms = 1000 * (time.perf_counter() - started)


def _with_picture(
    run: SearchRun, query: RetrievalQuery, client: EmbeddingClient, picture: bytes, running: RunningLegs
) -> RetrievalQuery:
    if client.takes_pictures:
        return replace(query, image_vector=client.embed_query_picture(picture, timeout=running.seconds_left))
    reason = f"the embedding model {client.name} takes no pictures"
    run.warnings.append(f"{reason}: pictures that look alike were searched for")
    if not query.parsed.plain_text:
        run.reports["vector"] = LegReport("skipped", f"no embedding: {reason}")
    return replace(query, look=look_of(picture))


def _text_vector(run: SearchRun, client: EmbeddingClient, text: str, running: RunningLegs) -> list[float]:
    instruction = embedding_instruction(run.request, running.seconds_left)

    def make() -> list[float]:
        return client.embed_query(text, instruction, timeout=running.seconds_left)

    if run.request.fresh:
        return make()
    return cache.query_vector(client.name, client.dimensions, instruction + text, make)


def embedding_instruction(request: SearchRequest, timeout: float) -> str:
    """The library's own instruction, or its type's; without a library or a type, the general one."""
    kind = request.library_type
    if request.library_uid is not None:
        found = library_instruction(request.library_uid, timeout)
        if found is not None and found[1]:
            return found[1]
        kind = found[0] if found is not None else kind
    content_type = CONTENT_TYPES.get(kind or "")
    return content_type.embedding_instruction if content_type is not None else QUERY_INSTRUCTION
