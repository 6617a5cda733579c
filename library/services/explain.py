"""How each hit came by its score, under the contract's own names: for the page and the terminal. Pure."""

import math
from collections.abc import Iterator, Mapping
from typing import Any, Final

from library.services.fusion import BREAKDOWN_NAMES
from library.services.types import SearchCandidate, SearchResponse

# How far a sum of floats may be from its total and still be that total.
TOLERANCE: Final = 1e-9
ARROW: Final = " → "


def number(value: float) -> str:
    """A score for people, with so many digits that parts can be added up by hand: ten that count."""
    return f"{value:.10g}"


def components(candidate: SearchCandidate) -> Mapping[str, float]:
    """What each leg adds to the fused score."""
    found: Mapping[str, float] = candidate.score_breakdown.get("rrf_components") or {}
    return found


def adds_up(candidate: SearchCandidate) -> bool:
    """Whether the parts of a fused score are all of it."""
    fused = candidate.score_breakdown.get("fused_score")
    return fused is not None and abs(math.fsum(components(candidate).values()) - fused) <= TOLERANCE


def breakdown_rows(breakdown: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, str]]:
    """Name and value of all that a score breakdown knows; what is nested has its names joined by a dot."""
    for name, value in breakdown.items():
        if value is None:
            continue
        if isinstance(value, Mapping):
            yield from breakdown_rows(value, f"{prefix}{name}.")
        elif isinstance(value, float):
            yield prefix + name, number(value)
        elif isinstance(value, list | tuple):
            yield prefix + name, ARROW.join(str(part) for part in value)
        else:
            yield prefix + name, str(value)


def metric_rows(metrics: Mapping[str, float]) -> list[tuple[str, str]]:
    """Name and value of the measures of a search; those in milliseconds with one decimal."""
    return [(name, f"{value:.1f}" if name.endswith("_ms") else f"{value:g}") for name, value in metrics.items()]


def hit_lines(candidate: SearchCandidate) -> list[str]:
    """Every part of one hit's score: a line for each leg that found it, the sum, the ranks, the path."""
    breakdown = candidate.score_breakdown
    if not breakdown:
        return []
    lines = [*_leg_lines(candidate), _sum_line(candidate), _rank_line(breakdown)]
    path = breakdown.get("graph_path")
    return [*lines, f"graph_path {ARROW.join(str(part) for part in path)}"] if path else lines


def _leg_lines(candidate: SearchCandidate) -> Iterator[str]:
    breakdown, adds = candidate.score_breakdown, components(candidate)
    for leg in (*BREAKDOWN_NAMES, *(name for name in adds if name not in BREAKDOWN_NAMES)):
        name = BREAKDOWN_NAMES.get(leg, leg)
        rank, score = breakdown.get(f"{name}_rank"), breakdown.get(f"{name}_score")
        known = [] if rank is None else [f"{name}_rank {rank}"]
        known += [] if score is None else [f"{name}_score {number(score)}"]
        if known or leg in adds:
            yield "  ".join([f"{leg:<8}", *known, f"rrf_components.{leg} {number(adds.get(leg, 0.0))}"])


def _sum_line(candidate: SearchCandidate) -> str:
    breakdown = candidate.score_breakdown
    total, fused = math.fsum(components(candidate).values()), breakdown.get("fused_score")
    if fused is None:
        return "not fused"
    verdict = "adds up" if adds_up(candidate) else f"DIFFERS by {total - fused:.3g}"
    return f"fused_score {number(fused)} = sum of rrf_components {number(total)} ({verdict})"


def _rank_line(breakdown: Mapping[str, Any]) -> str:
    before, after, score = (breakdown.get(name) for name in ("fused_rank", "rerank_rank", "rerank_score"))
    start = f"fusion_method {breakdown.get('fusion_method')}  fused_rank {before}"
    if after is None or score is None:
        return f"{start}  not re-ranked"
    return f"{start} -> rerank_rank {after}  rerank_score {number(score)}{_moved(before, after)}"


def _moved(before: int | None, after: int) -> str:
    if before is None or before == after:
        return ""
    return f"  ({'up' if after < before else 'down'} {abs(after - before)})"


def search_lines(response: SearchResponse, question_type: str) -> list[str]:
    """How the search as a whole went: strategy, reason, legs and measures."""
    lines = [
        f"search_strategy {response.search_strategy}  strategy_confidence {response.strategy_confidence:.2f}",
        f"strategy_reason {response.strategy_reason}",
        f"question_type {question_type or 'none'}",
        f"reranker {response.reranker_model if response.reranker_used else 'not used'}",
        f"total_candidates {response.total_candidates}",
    ]
    for name, leg in response.legs.items():
        reason = f"  ({leg.reason})" if leg.reason else ""
        lines.append(f"leg {name:<8}  {leg.status:<7}  {leg.time_ms:8.1f} ms  count {leg.count}{reason}")
    return lines + [f"{name} {value}" for name, value in metric_rows(response.metrics)]
