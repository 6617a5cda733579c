"""Runs the questions of a collection through the search and measures what comes back."""

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from library.evaluation import metrics
from library.evaluation.trec import Dataset, Query, Run
from library.exceptions import InvalidRequest
from library.services.query_optimizer import plan_search
from library.services.requests import build_request
from library.services.search import SearchService
from library.services.types import SearchResponse

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


# The questions of all types together.
ALL_TYPES: Final = "all"


@dataclass(frozen=True, slots=True)
class Measured:
    """What a configuration reached. Latencies in milliseconds; measures are means over the questions of a type."""

    configuration: str
    question_type: str
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


MEASURES: Final = ("ndcg_10", "mrr_10", "p_5", "recall_5", "recall_100")
_OF_ONE: Final[Mapping[str, Callable[[Sequence[str], Mapping[str, int]], float]]] = {
    "ndcg_10": lambda ranking, judged: metrics.ndcg(ranking, judged, 10),
    "mrr_10": lambda ranking, judged: metrics.reciprocal_rank(ranking, judged, 10),
    "p_5": lambda ranking, judged: metrics.precision(ranking, judged, 5),
    "recall_5": lambda ranking, judged: metrics.recall(ranking, judged, 5),
    "recall_100": lambda ranking, judged: metrics.recall(ranking, judged, 100),
}


@dataclass(frozen=True, slots=True)
class Evaluated:
    """A configuration's run over a collection. `seconds` by query, for those that were asked here."""

    dataset: Dataset
    configuration: str
    run: Run
    seconds: Mapping[str, float] = field(default_factory=dict)
    degraded: frozenset[str] = frozenset()

    def measured(self) -> Measured:
        """The measures over all judged questions; a question without an answer counts 0."""
        return self._measured(ALL_TYPES, self.dataset.queries)

    def by_type(self) -> list[Measured]:
        """The measures over the questions of each type, by its name."""
        kinds: dict[str, list[Query]] = {}
        for query in self.dataset.queries:
            kinds.setdefault(question_type(query), []).append(query)
        return [self._measured(kind, kinds[kind]) for kind in sorted(kinds)]

    def of_each(self, measure: str) -> list[float]:
        """One measure of every question, in the collection's order."""
        return [self._of_one(measure, query) for query in self.dataset.queries]

    def _of_one(self, measure: str, query: Query) -> float:
        return _OF_ONE[measure](list(self.run.get(query.uid, ())), self.dataset.qrels[query.uid])

    def _measured(self, kind: str, queries: Sequence[Query]) -> Measured:
        seconds = [self.seconds[query.uid] for query in queries if query.uid in self.seconds]
        means = {name: sum(self._of_one(name, query) for query in queries) / len(queries) for name in MEASURES}
        return Measured(
            configuration=self.configuration,
            question_type=kind,
            queries=len(queries),
            failed=sum(query.uid not in self.run for query in queries),
            degraded=sum(query.uid in self.degraded for query in queries),
            p50_ms=1000 * metrics.percentile(seconds, 0.5),
            p95_ms=1000 * metrics.percentile(seconds, 0.95),
            **means,
        )


def question_type(query: Query) -> str:
    """A question's type: the collection's own word for it, else what the query optimizer makes of the text."""
    if query.kind or not query.text:
        return query.kind or "unknown"
    return plan_search(build_request(query.text)).question_type or "unknown"


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
    """Ask every question, count an item by its best chunk, and measure. Failures are counted, never hidden.

    The first question is asked once beforehand: what a process does only once is no part of its latency.
    """
    run: Run = {}
    seconds: dict[str, float] = {}
    degraded: set[str] = set()
    _ask(dataset.queries[0], configuration, library_uid, service)
    for query in progress(dataset.queries):
        started = time.perf_counter()
        response = _ask(query, configuration, library_uid, service)
        seconds[query.uid] = time.perf_counter() - started
        if response.degraded:
            degraded.add(query.uid)
        ranking: dict[str, float] = {}
        for candidate in response.candidates:
            ranking.setdefault(str(candidate.metadata["source"]), candidate.score)
        run[query.uid] = ranking
    return Evaluated(dataset, configuration.name, run, seconds, frozenset(degraded))


def _ask(query: Query, configuration: Configuration, library_uid: str | None, service: SearchService) -> SearchResponse:
    # Fresh: each configuration bears its own costs, the embedding of the question too.
    request = build_request(
        query.text, limit=DEPTH, include_images=False, library_uid=library_uid, fresh=True, **configuration.parameters
    )
    return service.search(request)
