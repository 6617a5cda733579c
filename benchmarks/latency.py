"""One caller at a time: hybrid search beside the peers, its legs and lexical_first; how complete each is."""

import statistics
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from functools import partial
from typing import Any, Final

import neo4j
import numpy as np

from benchmarks import legs, peers
from benchmarks.data import Vectors
from benchmarks.services import Bench
from benchmarks.timing import Ask, Times, alternate, answered_by_all, medians, overlap, percentile
from library.services.requests import build_request
from library.services.search import SearchService
from mnemosyne.local.state import Neo4jService

LEGS: Final = ("vector", "fulltext", "graph")
LIMIT: Final = 20
OURS: Final[Mapping[str, Any]] = {
    "limit": LIMIT,
    "vector_top_k": 50,
    "fulltext_top_k": 30,
    "rerank": False,
    "include_images": False,
}
# What a complete answer must hold: the nearest of all chunks, found by comparing with every one.
NEAREST: Final = 10


class Incomplete(Exception):
    """A search of ours answered without one of its legs."""


def hybrid(text: str) -> list[str]:
    """Uids that the product's hybrid search shows. Raises `Incomplete` where a leg did not answer."""
    return _search(text, strategy="hybrid", **OURS)


def lexical_first(text: str) -> list[str]:
    """Uids that the product's quick strategy shows."""
    return _search(text, strategy="lexical_first", rerank=False, include_images=False)


def _search(text: str, **given: Any) -> list[str]:
    response = SearchService().search(build_request(text, **given))
    if response.degraded:
        raise Incomplete("; ".join(response.warnings))
    return [candidate.chunk_uid for candidate in response.candidates]


def measure(
    bench: Bench,
    service: Neo4jService,
    texts: Sequence[str],
    vectors: Vectors,
    warm_up: Sequence[int],
    questions: Sequence[int],
    corpus: tuple[list[str], Vectors, list[str]],
) -> dict[str, Any]:
    """Medians of all sides over the same questions, in turn, and the completeness of each side's answer.

    `texts` and `vectors` hold the questions to warm up with and those to measure; both are numbered by their place.
    """
    with peers.connect(service) as driver:
        peers.prepare(driver)
        sides = _sides(driver, service, texts, vectors)
        with _counting(bench, "Warming up", len(warm_up)) as counter:
            alternate(sides, warm_up, counter.update)
        with _counting(bench, "Hybrid, peers and legs", len(questions)) as counter:
            times = alternate(sides, questions, counter.update)
    return summary(times) | {"completeness": _completeness(times, vectors, questions, corpus)}


def _counting(bench: Bench, what: str, total: int) -> AbstractContextManager[Any]:
    return bench.progress.counting(what, total, "questions")


def _sides(driver: neo4j.Driver, service: Neo4jService, texts: Sequence[str], vectors: Vectors) -> dict[str, Ask]:
    graphrag, langchain = peers.GraphRag(driver), peers.LangChain(service, vectors)
    given = [vector.tolist() for vector in vectors]
    sides: dict[str, Ask] = {
        "hybrid": lambda i: hybrid(texts[i]),
        "neo4j-graphrag": lambda i: graphrag.search(texts[i], given[i]),
        "langchain-neo4j": lambda i: langchain.search(texts[i], given[i]),
        "lexical_first": lambda i: lexical_first(texts[i]),
    }
    for leg in LEGS:
        sides[f"{leg} leg"] = partial(_leg, driver, legs.statements(leg, texts, given))
    return sides


def _leg(driver: neo4j.Driver, sent: Sequence[legs.Statement | None], question: int) -> list[neo4j.Record]:
    return legs.run(driver, sent[question])


def summary(times: Mapping[str, Times]) -> dict[str, Any]:
    """p50, p95, failures and the ratios that have targets."""
    p50 = medians(times)
    common = answered_by_all(times)
    slowest = max((f"{leg} leg" for leg in LEGS), key=lambda side: p50[side])
    return {
        "questions": len(common),
        "p50_ms": p50,
        "p95_ms": {name: percentile([side.ms[i] for i in common], 0.95) for name, side in times.items()},
        "failed": {name: len(side.failed) for name, side in times.items()},
        "first_failure": {name: next(iter(side.failed.values())) for name, side in times.items() if side.failed},
        "slowest_leg": slowest,
        "ratios": {
            "hybrid / neo4j-graphrag": p50["hybrid"] / p50["neo4j-graphrag"],
            "hybrid / langchain-neo4j": p50["hybrid"] / p50["langchain-neo4j"],
            "hybrid / slowest leg": p50["hybrid"] / p50[slowest],
            "lexical_first / hybrid": p50["lexical_first"] / p50["hybrid"],
        },
    }


def _completeness(
    times: Mapping[str, Times],
    vectors: Vectors,
    questions: Sequence[int],
    corpus: tuple[list[str], Vectors, list[str]],
) -> dict[str, float]:
    """How much of the exact ten nearest chunks stands among the first 20 of each answer; a failure holds nothing."""
    uids, matrix, _ = corpus
    exact = exact_nearest(vectors[list(questions)], matrix, uids, NEAREST)
    found: dict[str, float] = {}
    for name in ("hybrid", "neo4j-graphrag", "langchain-neo4j"):
        answers = times[name].answers
        shares = [
            overlap(answers.get(question, [])[:LIMIT], wanted)
            for question, wanted in zip(questions, exact, strict=True)
        ]
        found[name] = statistics.mean(shares)
    return found


def exact_nearest(asked: Vectors, matrix: Vectors, uids: Sequence[str], k: int) -> list[list[str]]:
    """The `k` nearest by comparing with every vector, ties by uid; all vectors are of length 1."""
    similarities = asked @ matrix.T
    order = np.argsort(uids)
    ranked = order[np.argsort(-similarities[:, order], axis=1, kind="stable")[:, :k]]
    return [[uids[column] for column in row] for row in ranked]
