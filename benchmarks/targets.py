"""What is to be reached, as data, and what a run reached of it. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final


@dataclass(frozen=True, slots=True)
class Target:
    """One line of the table. `path` leads to the value in the results; `most` or `least` bounds it."""

    what: str
    path: tuple[str, ...]
    most: float | None = None
    least: float | None = None
    digits: int = 2

    def value(self, results: Mapping[str, Any]) -> float | None:
        """The value of a run; None where the run did not measure it."""
        found: Any = results
        for name in self.path:
            if not isinstance(found, Mapping) or name not in found:
                return None
            found = found[name]
        return None if found is None else float(found)

    def is_met(self, value: float) -> bool:
        """Whether a value lies within the bounds."""
        return (self.most is None or value <= self.most) and (self.least is None or value >= self.least)

    @property
    def bound(self) -> str:
        """The bound in words."""
        return f"at most {self.most:g}" if self.most is not None else f"at least {self.least:g}"


def _both(what: str, path: tuple[str, ...], **bounds: Any) -> list[Target]:
    return [Target(f"{what}, {size} corpus", (size, *path), **bounds) for size in ("small", "large")]


_RATIOS: Final = ("latency", "ratios")
TARGETS: Final[Sequence[Target]] = (
    *_both("hybrid with three legs / neo4j-graphrag's two, p50", (*_RATIOS, "hybrid / neo4j-graphrag"), most=1.0),
    *_both("hybrid / its slowest leg alone, p50", (*_RATIOS, "hybrid / slowest leg"), most=1.25),
    *_both("lexical_first / hybrid, p50", (*_RATIOS, "lexical_first / hybrid"), most=1.0),
    *_both("hybrid, p50 in ms", ("latency", "p50_ms", "hybrid"), most=150, digits=1),
    *_both("lexical_first, p50 in ms", ("latency", "p50_ms", "lexical_first"), most=100, digits=1),
    *_both("16 callers, searches a second / neo4j-graphrag in 16 threads", ("throughput", "ratio"), least=1.5),
    *_both("16 callers, errors", ("throughput", "gunicorn", "errors"), most=0, digits=0),
    *_both("recall@50 of the vector leg against exact search", ("recall", "recall@50"), least=0.97, digits=4),
    Target("the same in a library of 0.1 %", ("large", "recall", "rare recall@50"), least=0.999, digits=4),
    Target("hybrid p50, large / small corpus", ("growth", "hybrid"), most=2.5),
    Target("ingest / embedding the same passages, wall time", ("ingest", "ratio"), most=1.25),
    Target("heavy packages imported by manage.py search", ("startup", "heavy_count"), most=0, digits=0),
    Target("re-ranking 20 new passages / a naive pass", ("reranking", "first / naive"), most=0.5),
    Target("re-ranking 20 known passages / a naive pass", ("reranking", "known / naive"), most=0.5),
)


def missed(results: Mapping[str, Any]) -> list[str]:
    """What was measured and not reached."""
    values = [(target, target.value(results)) for target in TARGETS]
    return [target.what for target, value in values if value is not None and not target.is_met(value)]


def with_growth(results: dict[str, Any]) -> dict[str, Any]:
    """The results with what takes both corpora, or needs counting, added."""
    small, large = (results.get(size, {}).get("latency", {}).get("p50_ms", {}) for size in ("small", "large"))
    if small and large:
        results["growth"] = {name: large[name] / small[name] for name in small}
    if "startup" in results:
        results["startup"]["heavy_count"] = len(results["startup"]["heavy"])
    return results
