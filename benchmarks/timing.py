"""Asking several sides the same questions in turn, and what the times say. Pure but for the clock."""

import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

# Asks the question of a number; the answer is a list, of uids where it is to be compared.
Ask = Callable[[int], list[Any]]


@dataclass(slots=True)
class Times:
    """Milliseconds by question of one side; a question that failed has its reason in `failed` and no time."""

    ms: dict[int, float] = field(default_factory=dict)
    failed: dict[int, str] = field(default_factory=dict)
    answers: dict[int, list[Any]] = field(default_factory=dict)


def alternate(
    sides: Mapping[str, Ask], questions: Sequence[int], done: Callable[[], object] = lambda: None
) -> dict[str, Times]:
    """Ask every side every question, one question after the other, so that a noisy moment hits all sides.

    Who is asked first moves on by one each time: being second, with warm caches, would be an advantage.
    """
    times = {name: Times() for name in sides}
    names = list(sides)
    for turn, question in enumerate(questions):
        first = turn % len(names)
        for name in names[first:] + names[:first]:
            started = time.perf_counter()
            try:
                answer = sides[name](question)
            except Exception as error:
                # Whatever a side raises is its answer to this question: counted, shown, and not timed.
                times[name].failed[question] = f"{type(error).__name__}: {error}"
            else:
                times[name].ms[question] = 1000 * (time.perf_counter() - started)
                times[name].answers[question] = answer
        done()
    return times


def answered_by_all(times: Mapping[str, Times]) -> list[int]:
    """The questions that no side failed: a failure is quick, and would flatter the side that failed."""
    sides = list(times.values())
    return sorted(question for question in sides[0].ms if all(question in side.ms for side in sides))


def medians(times: Mapping[str, Times]) -> dict[str, float]:
    """p50 in milliseconds of every side, over the questions that all answered.

    Raises ValueError, with what went wrong, where there are none.
    """
    common = answered_by_all(times)
    if not common:
        reasons = {name: next(iter(side.failed.values()), "") for name, side in times.items() if side.failed}
        raise ValueError(f"no question was answered by all sides: {reasons}")
    return {name: statistics.median(side.ms[question] for question in common) for name, side in times.items()}


def percentile(values: Sequence[float], share: float) -> float:
    """The value that `share` (0 to 1) of the values do not exceed, by nearest rank."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, max(0, round(share * len(ordered)) - 1))]


def overlap(found: Sequence[str], wanted: Sequence[str]) -> float:
    """The part of `wanted` that was found, from 0 to 1; 1 where nothing was wanted."""
    return len(set(found) & set(wanted)) / len(set(wanted)) if wanted else 1.0
