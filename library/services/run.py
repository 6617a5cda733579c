"""The state of one search on its way."""

import logging
import time
from dataclasses import dataclass, field

from library.conf import SearchConfig
from library.services.strategies import SearchPlan
from library.services.types import LegReport, SearchRequest
from library.services.usage import UsageRecord

# What is left for reading what is shown where the legs took the whole budget. With the moments that the legs and the
# read itself are waited for longer, it stays below the second that a search may take beside its legs.
READ_GRACE = 0.5

log = logging.getLogger(__name__)

NOT_ASKED = LegReport("skipped", "not part of this search")


@dataclass(slots=True)
class SearchRun:
    """What a search was asked, what it plans, and what it has learnt so far. Times in milliseconds."""

    request: SearchRequest
    config: SearchConfig
    plan: SearchPlan
    started: float = field(default_factory=time.perf_counter)
    usage: list[UsageRecord] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    # Steps from one strategy to another, in words.
    fallbacks: list[str] = field(default_factory=list)
    # What the answer does without, in words.
    omitted: list[str] = field(default_factory=list)
    legs: list[str] = field(default_factory=list)
    reports: dict[str, LegReport] = field(default_factory=dict)
    embedding_ms: float = 0.0
    embedding_failed: bool = False
    fusion_ms: float = 0.0

    @property
    def text_legs(self) -> list[str]:
        """The legs that find chunks."""
        return [leg for leg in self.legs if leg != "image"]

    def elapsed_ms(self) -> float:
        """Since the search began."""
        return 1000 * (time.perf_counter() - self.started)

    def read_timeout(self) -> float:
        """Seconds for a read after the legs: together they keep to one budget, however long the re-ranking took."""
        reranking = self.reports["rerank"].time_ms if "rerank" in self.reports else 0.0
        spent = (self.elapsed_ms() - reranking) / 1000
        return max(READ_GRACE, self.config.leg_timeout - spent)

    def answered(self, leg: str) -> bool:
        """Whether a leg came back with an answer, even an empty one."""
        report = self.reports.get(leg)
        return report is not None and report.status in ("ok", "empty")

    def is_degraded(self) -> bool:
        """Whether something that was asked for could not be done."""
        failed = any(report.status in ("error", "timeout") for report in self.reports.values())
        return failed or bool(self.omitted) or ("vector" in self.legs and self.reports["vector"].status == "skipped")

    def is_whole(self) -> bool:
        """Whether nothing failed on the way, not even what the answer does not call degraded: it may be kept."""
        return not self.is_degraded() and not self.embedding_failed

    def left_out(self, what: str, error: Exception) -> None:
        """Note that something beside the hits could not be had."""
        log.warning("%s could not be read: %s", what, error, exc_info=error.__cause__)
        self.omitted.append(f"{what} could not be had: {error}")

    def all_warnings(self) -> list[str]:
        """One warning for each thing ignored, and each leg that could not do its work."""
        legs = [
            f"{name}: {report.reason}"
            for name, report in self.reports.items()
            if report.status in ("error", "timeout") or (name in self.legs and report.status == "skipped")
        ]
        return [*self.warnings, *self.fallbacks, *legs, *self.omitted]

    def timings(self, shown: int) -> dict[str, float]:
        """The `metrics` of the contract."""
        reports = self.reports
        return {
            "total_time_ms": self.elapsed_ms(),
            "embedding_time_ms": self.embedding_ms,
            "semantic_time_ms": reports["vector"].time_ms,
            "lexical_time_ms": reports["fulltext"].time_ms,
            "graph_time_ms": reports["graph"].time_ms,
            "image_time_ms": reports["image"].time_ms,
            "fusion_time_ms": self.fusion_ms,
            "rerank_time_ms": reports["rerank"].time_ms,
            "semantic_results_count": reports["vector"].count,
            "lexical_results_count": reports["fulltext"].count,
            "graph_results_count": reports["graph"].count,
            "image_results_count": reports["image"].count,
            "final_results_count": shown,
        }
