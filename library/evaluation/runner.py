"""Runs the questions of a collection through the search and measures what comes back."""

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from library.evaluation import metrics
from library.evaluation.trec import Dataset, Run
from library.exceptions import InvalidRequest
from library.services.requests import build_request
from library.services.search import SearchService

# Documents a ranking is cut at; as deep as recall is measured.
DEPTH: Final = 100


@dataclass(frozen=True, slots=True)
class Configuration:
    """One way to search, by name. `parameters` are those of a `SearchRequest`."""

    name: str
    parameters: Mapping[str, Any] = field(default_factory=dict)


_TWO_LEGS: Final = {"strategy": "hybrid", "search_types": ["vector", "fulltext"]}
_ALL_LEGS: Final = {"strategy": "hybrid", "search_types": ["vector", "fulltext", "graph"]}
_BUILT_IN: Final = (
    Configuration("vector", {"strategy": "semantic", "search_types": ["vector"]}),
    Configuration("fulltext", {"strategy": "lexical", "search_types": ["fulltext"]}),
    Configuration("graph", {"strategy": "hybrid", "search_types": ["graph"]}),
    Configuration("rrf", {**_TWO_LEGS, "fusion": "rrf"}),
    Configuration("weighted_rrf", {**_TWO_LEGS, "fusion": "weighted_rrf"}),
    Configuration("linear", {**_TWO_LEGS, "fusion": "linear"}),
    Configuration("rrf+graph", {**_ALL_LEGS, "fusion": "rrf"}),
    Configuration("weighted_rrf+graph", {**_ALL_LEGS, "fusion": "weighted_rrf"}),
    Configuration("linear+graph", {**_ALL_LEGS, "fusion": "linear"}),
    Configuration("lexical_first", {"strategy": "lexical_first"}),
    Configuration("hybrid", {"strategy": "hybrid"}),
    Configuration("default", {}),
)
RERANK_SUFFIX: Final = "+rerank"
CONFIGURATIONS: Final[Mapping[str, Configuration]] = {
    configuration.name: configuration
    for plain in _BUILT_IN
    for configuration in (
        Configuration(plain.name, {**plain.parameters, "rerank": False}),
        Configuration(plain.name + RERANK_SUFFIX, {**plain.parameters, "rerank": True}),
    )
}


@dataclass(frozen=True, slots=True)
class Measured:
    """What a configuration reached. Latencies in milliseconds; measures are means over the questions."""

    configuration: str
    queries: int
    failed: int
    degraded: int
    ndcg_10: float
    mrr_10: float
    p_5: float
    recall_5: float
    recall_100: float
    p50_ms: float
    p95_ms: float


@dataclass(frozen=True, slots=True)
class Evaluated:
    """The measures, and the run that they were taken from."""

    measured: Measured
    run: Run
    seconds: tuple[float, ...]


def configuration_named(name: str) -> Configuration:
    """A configuration by name; raises `InvalidRequest` with the list of names."""
    if name not in CONFIGURATIONS:
        raise InvalidRequest("configuration", f"must be one of {', '.join(CONFIGURATIONS)}, not {name!r}")
    return CONFIGURATIONS[name]


def evaluate(
    dataset: Dataset,
    configuration: Configuration,
    library_uid: str | None,
    service: SearchService,
    progress: Callable[[Iterable[Any]], Iterable[Any]] = iter,
) -> Evaluated:
    """Ask every question, count an item by its best chunk, and measure. Failures are counted, never hidden."""
    run: Run = {}
    seconds: list[float] = []
    degraded = 0
    for query in progress(dataset.queries):
        request = build_request(
            query.text, limit=DEPTH, include_images=False, library_uid=library_uid, **configuration.parameters
        )
        started = time.perf_counter()
        response = service.search(request)
        seconds.append(time.perf_counter() - started)
        degraded += response.degraded
        ranking: dict[str, float] = {}
        for candidate in response.candidates:
            ranking.setdefault(str(candidate.metadata["source"]), candidate.score)
        run[query.uid] = ranking
    measured = measure(dataset, configuration.name, run, seconds, degraded)
    return Evaluated(measured, run, tuple(seconds))


def measure(
    dataset: Dataset, name: str, run: Mapping[str, Mapping[str, float]], seconds: Sequence[float], degraded: int = 0
) -> Measured:
    """The measures of a run over all judged questions; a question without an answer counts 0."""
    pairs = [(list(run.get(query.uid, ())), dataset.qrels[query.uid]) for query in dataset.queries]

    def mean(of: Callable[[list[str], Mapping[str, int]], float]) -> float:
        return sum(of(ranking, judged) for ranking, judged in pairs) / len(pairs)

    return Measured(
        configuration=name,
        queries=len(pairs),
        failed=sum(query.uid not in run for query in dataset.queries),
        degraded=degraded,
        ndcg_10=mean(lambda ranking, judged: metrics.ndcg(ranking, judged, 10)),
        mrr_10=mean(lambda ranking, judged: metrics.reciprocal_rank(ranking, judged, 10)),
        p_5=mean(lambda ranking, judged: metrics.precision(ranking, judged, 5)),
        recall_5=mean(lambda ranking, judged: metrics.recall(ranking, judged, 5)),
        recall_100=mean(lambda ranking, judged: metrics.recall(ranking, judged, 100)),
        p50_ms=1000 * metrics.percentile(seconds, 0.5),
        p95_ms=1000 * metrics.percentile(seconds, 0.95),
    )
