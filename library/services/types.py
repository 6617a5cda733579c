"""What crosses the layers of a search: the request, the scope, candidates, reports and the response. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from library.content_types import CONTENT_TYPES
from library.exceptions import InvalidRequest

LegName = Literal["vector", "fulltext", "graph", "image"]
LegStatus = Literal["ok", "empty", "timeout", "error", "skipped"]

TEXT_LEGS: Final[tuple[LegName, ...]] = ("vector", "fulltext", "graph")
STRATEGIES: Final = ("auto", "hybrid", "semantic", "lexical", "lexical_first")
FUSIONS: Final = ("rrf", "weighted_rrf", "linear")
GROUPINGS: Final = ("chunk", "item")

MAX_QUERY_CHARS: Final = 4_000
MAX_LIMIT: Final = 200
MAX_OFFSET: Final = 1_000
MAX_TOP_K: Final = 1_000
MAX_GRAPH_DEPTH: Final = 4
MAX_EXPAND: Final = 5


def _check_whole(name: str, value: object, low: int, high: int) -> None:
    if not isinstance(value, int) or isinstance(value, bool):
        raise InvalidRequest(name, f"must be a whole number from {low} to {high}")
    if not low <= value <= high:
        raise InvalidRequest(name, f"must be from {low} to {high}, not {value}")


def _check_choice(name: str, value: str, choices: Sequence[str]) -> None:
    if value not in choices:
        raise InvalidRequest(name, f"must be one of {', '.join(choices)}, not {value!r}")


@dataclass(frozen=True, slots=True)
class SearchRequest:
    """One search, validated once, here, for every way in.

    `allowed_library_uids` is what the caller may see: None means every library, an empty set none. `fresh` takes
    nothing out of the cache; `caller_jwt` goes to the model services whose record says `forward_auth`.
    Raises `InvalidRequest` naming the field.
    """

    query: str
    query_image: bytes | None = field(default=None, repr=False)
    library_uid: str | None = None
    library_type: str | None = None
    collection_uid: str | None = None
    search_types: list[str] = field(default_factory=lambda: list(TEXT_LEGS))
    limit: int = 20
    vector_top_k: int = 50
    fulltext_top_k: int = 30
    graph_max_depth: int = 2
    rerank: bool = True
    include_images: bool = True
    strategy: str = "auto"
    fusion: str | None = None
    offset: int = 0
    group_by: str = "chunk"
    expand: int = 0
    facets: bool = False
    # How an answer is had, not what is asked: fields that are not compared are no part of a cached answer's key.
    fresh: bool = field(default=False, compare=False)
    caller_jwt: str = field(default="", compare=False, repr=False)
    allowed_library_uids: frozenset[str] | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.query, str) or (not self.query.strip() and self.query_image is None):
            raise InvalidRequest("query", "must not be empty")
        if len(self.query) > MAX_QUERY_CHARS:
            raise InvalidRequest("query", f"must be at most {MAX_QUERY_CHARS} characters")
        if "\x00" in self.query:
            raise InvalidRequest("query", "must not contain NUL characters")
        _check_whole("limit", self.limit, 1, MAX_LIMIT)
        _check_whole("offset", self.offset, 0, MAX_OFFSET)
        _check_whole("vector_top_k", self.vector_top_k, 1, MAX_TOP_K)
        _check_whole("fulltext_top_k", self.fulltext_top_k, 1, MAX_TOP_K)
        _check_whole("graph_max_depth", self.graph_max_depth, 0, MAX_GRAPH_DEPTH)
        _check_whole("expand", self.expand, 0, MAX_EXPAND)
        _check_choice("strategy", self.strategy, STRATEGIES)
        _check_choice("group_by", self.group_by, GROUPINGS)
        if self.fusion is not None:
            _check_choice("fusion", self.fusion, FUSIONS)
        if self.library_type is not None:
            _check_choice("library_type", self.library_type, tuple(CONTENT_TYPES))
        if not self.search_types:
            raise InvalidRequest("search_types", f"must name at least one of {', '.join(TEXT_LEGS)}")
        for name in self.search_types:
            _check_choice("search_types", name, TEXT_LEGS)

    @property
    def scope(self) -> "Scope":
        """The libraries, type and collection that every index query of this search is held to."""
        allowed = self.allowed_library_uids
        if self.library_uid is not None:
            wanted = frozenset({self.library_uid})
            allowed = wanted if allowed is None else allowed & wanted
        return Scope(allowed, self.library_type, self.collection_uid)


@dataclass(frozen=True, slots=True)
class Scope:
    """What a retriever may look at. `library_uids` None means all, an empty set nothing."""

    library_uids: frozenset[str] | None = None
    library_type: str | None = None
    collection_uid: str | None = None

    @property
    def is_empty(self) -> bool:
        """True when nothing may be seen: no query is to be run."""
        return self.library_uids is not None and not self.library_uids


@dataclass(frozen=True, slots=True)
class SearchCandidate:
    """One chunk on its way through a search. Legs fill uid and score; the rest is added for those shown."""

    chunk_uid: str
    item_uid: str = ""
    item_title: str = ""
    library_type: str = ""
    text_preview: str = ""
    chunk_s3_key: str = ""
    chunk_index: int = 0
    score: float = 0.0
    source: str = ""
    metadata: Mapping[str, Any] = field(default_factory=dict)
    rank: int = 0
    score_breakdown: Mapping[str, Any] = field(default_factory=dict)
    # The whole text, for re-ranking and passages; not part of what callers are shown.
    text: str = field(default="", repr=False)


@dataclass(frozen=True, slots=True)
class ImageSearchResult:
    """One picture that answers the query."""

    image_uid: str
    item_uid: str
    item_title: str
    image_type: str
    description: str
    s3_key: str
    score: float
    source: Literal["vector", "graph"]
    ocr_text: str = ""
    page: int | None = None
    # Where a small picture of it is served, to those who may see it; filled in where there are addresses.
    thumbnail_url: str = ""


@dataclass(frozen=True, slots=True)
class LegReport:
    """How one leg of a search went. `time_ms` is wall time; `reason` is empty when all is well."""

    status: LegStatus
    reason: str = ""
    time_ms: float = 0.0
    count: int = 0


@dataclass(frozen=True, slots=True)
class FacetCount:
    """How many candidates have one value of a facet. `label` is for people."""

    value: str
    label: str
    count: int


@dataclass(frozen=True, slots=True)
class Facets:
    """Counts over the whole candidate set, the largest first."""

    libraries: tuple[FacetCount, ...] = ()
    library_types: tuple[FacetCount, ...] = ()
    collections: tuple[FacetCount, ...] = ()


@dataclass(frozen=True, slots=True)
class SearchResponse:
    """The answer to a `SearchRequest`, with how it came about."""

    query: str
    candidates: list[SearchCandidate]
    images: list[ImageSearchResult]
    total_candidates: int
    search_time_ms: float
    reranker_used: bool
    reranker_model: str | None
    search_types_used: list[str]
    search_strategy: str
    strategy_confidence: float
    strategy_reason: str
    legs: Mapping[str, LegReport]
    metrics: Mapping[str, float]
    degraded: bool
    warnings: list[str]
    cached: bool = False
    # True where nothing found is near enough to the query to be called an answer.
    no_good_match: bool = False
    # How many of all candidates lie in each library, type and collection; None where not asked for.
    facets: "Facets | None" = None
