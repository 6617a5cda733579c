"""The eight Prometheus families. Every label is a closed set: never a uid, a path or a caller's words."""

from typing import Final

from prometheus_client import CONTENT_TYPE_LATEST, REGISTRY, CollectorRegistry, Counter, Histogram
from prometheus_client import generate_latest as _generate_latest
from prometheus_client.multiprocess import MultiProcessCollector

from library.content_types import CONTENT_TYPES
from library.models import AIModel
from library.services.types import SearchResponse

SEARCH_TYPES: Final = ("vector", "fulltext", "graph", "image")
RERANK_STATUSES: Final = ("success", "error", "timeout", "skipped")
ALL_TYPES: Final = "all"
NO_MODEL: Final = "none"
COUNT_BUCKETS: Final = (0, 1, 5, 10, 20, 50, 100, 200)
# A leg answers in milliseconds and is cut off after seconds; a re-ranker may take half a minute.
SECONDS_BUCKETS: Final = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
CONTENT_TYPE: Final[str] = CONTENT_TYPE_LATEST

SEARCH_REQUESTS: Final = Counter(
    "mnemosyne_search_requests_total",
    "Legs of searches that were run",
    ("search_type", "library_type"),
)
SEARCH_DURATION: Final = Histogram(
    "mnemosyne_search_duration_seconds",
    "Time that a leg took",
    ("search_type",),
    buckets=SECONDS_BUCKETS,
)
SEARCH_CANDIDATES: Final = Histogram(
    "mnemosyne_search_candidates_total",
    "Candidates that a leg found",
    ("search_type",),
    buckets=COUNT_BUCKETS,
)
FUSION_DURATION: Final = Histogram(
    "mnemosyne_fusion_duration_seconds", "Time that fusing the lists took", buckets=SECONDS_BUCKETS
)
RERANK_REQUESTS: Final = Counter(
    "mnemosyne_rerank_requests_total", "Re-rankings, by how they ended", ("model_name", "status")
)
RERANK_DURATION: Final = Histogram(
    "mnemosyne_rerank_duration_seconds",
    "Time that re-ranking took",
    ("model_name",),
    buckets=SECONDS_BUCKETS,
)
RERANK_CANDIDATES: Final = Histogram(
    "mnemosyne_rerank_candidates", "Candidates sent to the re-ranker", buckets=COUNT_BUCKETS
)
TOTAL_DURATION: Final = Histogram(
    "mnemosyne_search_total_duration_seconds", "Time that a whole search took", buckets=SECONDS_BUCKETS
)


def observe_leg(search_type: str, library_type: str | None, seconds: float, candidates: int) -> None:
    """Count one leg that was run. Raises `ValueError` for a leg that is none of ours."""
    if search_type not in SEARCH_TYPES:
        raise ValueError(f"search_type must be one of {', '.join(SEARCH_TYPES)}, not {search_type!r}")
    kind = library_type if library_type in CONTENT_TYPES else ALL_TYPES
    SEARCH_REQUESTS.labels(search_type, kind).inc()
    SEARCH_DURATION.labels(search_type).observe(seconds)
    SEARCH_CANDIDATES.labels(search_type).observe(candidates)


def record_search(response: SearchResponse, library_type: str | None) -> None:
    """Count one search by its response: each leg that ran, the fusion, the whole.

    `library_type` is the type that the search was held to, None where it spans types. Re-ranking is counted by
    `record_rerank`; a response out of the cache ran nothing and is counted by its total time only.
    """
    TOTAL_DURATION.observe(response.search_time_ms / 1000)
    if response.cached:
        return
    for name in SEARCH_TYPES:
        leg = response.legs.get(name)
        if leg is not None and leg.status != "skipped":
            observe_leg(name, library_type, leg.time_ms / 1000, leg.count)
    FUSION_DURATION.observe(response.metrics.get("fusion_time_ms", 0.0) / 1000)


def record_rerank(model_name: str | None, status: str, seconds: float, candidates: int) -> None:
    """Count one re-ranking. A skipped one sent nothing: it has no duration and no candidates.

    `model_name` becomes a label only where a model record has it, so that the set of series stays closed.
    Raises `ValueError` for a status that is none of ours.
    """
    if status not in RERANK_STATUSES:
        raise ValueError(f"status must be one of {', '.join(RERANK_STATUSES)}, not {status!r}")
    label = NO_MODEL
    if model_name is not None and AIModel.objects.filter(name=model_name).exists():
        label = model_name
    RERANK_REQUESTS.labels(label, status).inc()
    if status != "skipped":
        RERANK_DURATION.labels(label).observe(seconds)
        RERANK_CANDIDATES.observe(candidates)


def exposition() -> bytes:
    """All metrics as Prometheus text: of every worker where PROMETHEUS_MULTIPROC_DIR was set, else of this process."""
    registry = CollectorRegistry()
    try:
        MultiProcessCollector(registry)  # type: ignore[no-untyped-call]
    except ValueError:
        # How prometheus_client says that no folder is shared: one process serves alone.
        registry = REGISTRY
    return bytes(_generate_latest(registry))
