"""The library's settings, read from Django's settings in this file only and handed on as frozen values."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured

# Chosen by measuring, see docs/relevance.md; for weighted_rrf and linear.
DEFAULT_WEIGHTS: Final[Mapping[str, float]] = {"vector": 0.6, "fulltext": 0.4, "graph": 0.2}


@dataclass(frozen=True, slots=True)
class GraphConfig:
    """Where Neo4j is. Times in seconds."""

    url: str
    user: str
    password: str = field(repr=False)
    database: str
    pool_size: int
    connection_timeout: float


@dataclass(frozen=True, slots=True)
class IndexConfig:
    """How the indexes are built."""

    analyzer: str
    quantization: str


@dataclass(frozen=True, slots=True)
class SearchConfig:
    """Defaults and bounds of a search. Times in seconds."""

    vector_top_k: int
    fulltext_top_k: int
    graph_max_depth: int
    graph_seed_hits: int
    rrf_k: int
    limit: int
    leg_timeout: float
    fusion: str
    weights: Mapping[str, float]
    max_query_terms: int
    relevance_floor: float
    cache_ttl: int
    max_image_bytes: int
    max_image_pixels: int


@dataclass(frozen=True, slots=True)
class AccessConfig:
    """Who may ask, and how often. Rates are numbers per s, min, hour or day ('100/s'), None for no bound."""

    default_visibility: str
    public_access: bool
    user_rate: str | None
    anonymous_rate: str | None


@dataclass(frozen=True, slots=True)
class ModelConfig:
    """How model services are called. Times in seconds."""

    reranker_max_candidates: int
    reranker_timeout: float
    reranker_text: str
    embedding_timeout: float
    embedding_batch_size: int
    llm_timeout: float


@dataclass(frozen=True, slots=True)
class IngestConfig:
    """Limits of what is taken in."""

    max_file_bytes: int
    max_image_pixels: int
    batch_items: int
    workers: int
    concepts: str
    ocr: str
    ocr_languages: str


def _get(name: str, default: Any) -> Any:
    return getattr(settings, name, default)


def _positive(name: str, default: int, low: int = 1) -> int:
    value = _get(name, default)
    if not isinstance(value, int) or isinstance(value, bool) or value < low:
        raise ImproperlyConfigured(f"{name} must be a whole number of at least {low}, not {value!r}")
    return value


def _seconds(name: str, default: float) -> float:
    value = _get(name, default)
    if not isinstance(value, int | float) or isinstance(value, bool) or value <= 0:
        raise ImproperlyConfigured(f"{name} must be a number of seconds above 0, not {value!r}")
    return float(value)


def _share(name: str, default: float) -> float:
    value = _get(name, default)
    if not isinstance(value, int | float) or isinstance(value, bool) or not 0 <= value <= 1:
        raise ImproperlyConfigured(f"{name} must be a number from 0 to 1, not {value!r}")
    return float(value)


def _choice(name: str, default: str, choices: tuple[str, ...]) -> str:
    value = _get(name, default)
    if value not in choices:
        raise ImproperlyConfigured(f"{name} must be one of {', '.join(choices)}, not {value!r}")
    return str(value)


def graph_config() -> GraphConfig:
    """Connection settings of Neo4j."""
    return GraphConfig(
        url=_get("NEO4J_URL", "bolt://127.0.0.1:7687"),
        user=_get("NEO4J_USER", "neo4j"),
        password=_get("NEO4J_PASSWORD", ""),
        database=_get("NEO4J_DATABASE", "neo4j"),
        pool_size=_positive("NEO4J_POOL_SIZE", 50),
        connection_timeout=_seconds("NEO4J_CONNECTION_TIMEOUT", 5.0),
    )


def index_config() -> IndexConfig:
    """How the indexes are to be built."""
    return IndexConfig(
        analyzer=_get("SEARCH_ANALYZER", "english"),
        quantization=_choice("SEARCH_VECTOR_QUANTIZATION", "NONE", ("NONE", "BINARY", "SCALAR")),
    )


def search_config() -> SearchConfig:
    """Defaults of a search; raises `ImproperlyConfigured` naming a setting that makes no sense."""
    weights = {leg: float(_get(f"SEARCH_WEIGHT_{leg.upper()}", default)) for leg, default in DEFAULT_WEIGHTS.items()}
    return SearchConfig(
        vector_top_k=_positive("SEARCH_VECTOR_TOP_K", 50),
        fulltext_top_k=_positive("SEARCH_FULLTEXT_TOP_K", 30),
        graph_max_depth=_positive("SEARCH_GRAPH_MAX_DEPTH", 2, low=0),
        graph_seed_hits=_positive("SEARCH_GRAPH_SEED_HITS", 2, low=0),
        rrf_k=_positive("SEARCH_RRF_K", 60),
        limit=_positive("SEARCH_DEFAULT_LIMIT", 20),
        leg_timeout=_seconds("SEARCH_LEG_TIMEOUT", 5.0),
        fusion=_choice("SEARCH_FUSION", "linear", ("rrf", "weighted_rrf", "linear")),
        weights=weights,
        max_query_terms=_positive("SEARCH_MAX_QUERY_TERMS", 64),
        relevance_floor=_share("SEARCH_RELEVANCE_FLOOR", 0.0),
        cache_ttl=_positive("SEARCH_CACHE_TTL", 3600, low=0),
        max_image_bytes=_positive("SEARCH_MAX_IMAGE_MB", 10) * 1024 * 1024,
        max_image_pixels=_positive("INGEST_MAX_IMAGE_MEGAPIXELS", 100) * 1_000_000,
    )


def _rate(name: str, default: str) -> str | None:
    value = str(_get(name, default) or "")
    if value and not re.fullmatch(r"[1-9][0-9]*/(s|sec|second|m|min|minute|h|hour|d|day)", value):
        raise ImproperlyConfigured(f"{name} must be a rate such as 100/s or 60/min, or empty, not {value!r}")
    return value or None


def access_config() -> AccessConfig:
    """Who may ask, and how often."""
    return AccessConfig(
        default_visibility=_choice("LIBRARY_DEFAULT_VISIBILITY", "everyone", ("private", "everyone", "public")),
        public_access=bool(_get("LIBRARY_PUBLIC_ACCESS", False)),
        user_rate=_rate("API_THROTTLE_USER", "100/s"),
        anonymous_rate=_rate("API_THROTTLE_ANONYMOUS", "60/min"),
    )


def model_config() -> ModelConfig:
    """How the model services are called."""
    return ModelConfig(
        reranker_max_candidates=_positive("RERANKER_MAX_CANDIDATES", 32),
        reranker_timeout=_seconds("RERANKER_TIMEOUT", 30.0),
        reranker_text=_choice("RERANKER_TEXT", "full", ("full", "preview")),
        embedding_timeout=_seconds("EMBEDDING_TIMEOUT", 120.0),
        embedding_batch_size=_positive("EMBEDDING_BATCH_SIZE", 32),
        llm_timeout=_seconds("LLM_TIMEOUT", 60.0),
    )


def ingest_config() -> IngestConfig:
    """Limits of what is taken in."""
    return IngestConfig(
        max_file_bytes=_positive("INGEST_MAX_FILE_MB", 200) * 1024 * 1024,
        max_image_pixels=_positive("INGEST_MAX_IMAGE_MEGAPIXELS", 100) * 1_000_000,
        batch_items=_positive("INGEST_BATCH_ITEMS", 64),
        workers=_positive("INGEST_WORKERS", 2),
        concepts=_choice("INGEST_CONCEPTS", "builtin", ("builtin", "llm")),
        ocr=_choice("INGEST_OCR", "auto", ("auto", "on", "off")),
        ocr_languages=str(_get("INGEST_OCR_LANGUAGES", "eng")),
    )


def metrics_token() -> str:
    """The bearer token that `/metrics` asks for; empty means loopback callers only."""
    return str(_get("METRICS_TOKEN", ""))


def system_models() -> Mapping[str, Mapping[str, Any]]:
    """The embedding and reranker services that `setup_models` records, by role; a role may be absent."""
    return dict(_get("LIBRARY_SYSTEM_MODELS", {}))
