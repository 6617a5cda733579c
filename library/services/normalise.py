"""Scores of one list brought to the scale 0 to 1. Pure."""

from collections.abc import Sequence


def min_max(scores: Sequence[float]) -> list[float]:
    """Scores stretched to 0..1. Equal scores become all 1, or stay 0 where they are 0."""
    if not scores:
        return []
    low, high = min(scores), max(scores)
    if low == high:
        return [0.0 if high == 0 else 1.0] * len(scores)
    return [(score - low) / (high - low) for score in scores]


def divide_by_highest(scores: Sequence[float]) -> list[float]:
    """Scores divided by the highest of them, 0..1; where none is above 0 all become 0."""
    highest = max(scores, default=0.0)
    if highest <= 0:
        return [0.0] * len(scores)
    return [max(0.0, score) / highest for score in scores]
