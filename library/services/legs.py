"""Runs the legs of a search side by side, each with its own time, status and reason."""

import logging
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any, Final

from library.exceptions import GraphTimeout, GraphUnavailable, MnemosyneError
from library.services.types import LegReport
from library.threads import DaemonPool

log = logging.getLogger(__name__)

# Legs wait for Neo4j, not for this processor: more threads than cores are right. They never touch Django's database.
_legs: Final = DaemonPool(64, "search-leg")
# Apart from the legs, so that a Neo4j that hangs holds up no call to a model service.
_models: Final = DaemonPool(64, "search-model")


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a leg found, and how it went."""

    hits: Sequence[Any]
    report: LegReport


def pool() -> DaemonPool:
    """The process's threads for calls to model services. They never touch Django's database."""
    return _models


class RunningLegs:
    """Legs under way. `deadline` is a `time.monotonic()` value that holds for all of them."""

    def __init__(self, deadline: float) -> None:
        self.deadline = deadline
        self._futures: dict[str, Future[Outcome]] = {}
        self._started: dict[str, float] = {}

    @property
    def seconds_left(self) -> float:
        """What is left of the budget, never below a millisecond (Neo4j reads 0 as 'no limit')."""
        return max(0.001, self.deadline - time.monotonic())

    def start(self, name: str, work: Callable[[float], Sequence[Any]]) -> None:
        """Run `work(seconds left)` in a thread of its own."""
        self._started[name] = time.perf_counter()
        self._futures[name] = _legs.submit(_run, name, work, self.deadline)

    def outcomes(self) -> Mapping[str, Outcome]:
        """What each leg found; one that is not back at the deadline is left behind with status timeout."""
        found: dict[str, Outcome] = {}
        for name, future in self._futures.items():
            try:
                found[name] = future.result(timeout=max(0.0, self.deadline + _GRACE - time.monotonic()))
            except TimeoutError:
                future.cancel()
                elapsed = 1000 * (time.perf_counter() - self._started[name])
                found[name] = Outcome((), LegReport("timeout", "no answer within the time budget", elapsed))
        return found


# The server cancels a query at the deadline and says so; that answer is worth waiting a moment for.
_GRACE: Final = 0.15


def _run(name: str, work: Callable[[float], Sequence[Any]], deadline: float) -> Outcome:
    started = time.perf_counter()
    try:
        hits = work(max(0.001, deadline - time.monotonic()))
    except GraphTimeout as error:
        return Outcome((), LegReport("timeout", str(error), _since(started)))
    except GraphUnavailable as error:
        # No stack: each leg of each search says the same until Neo4j is back.
        log.warning("The %s leg failed: %s: %s", name, error, error.__cause__)
        return Outcome((), LegReport("error", str(error), _since(started)))
    except MnemosyneError as error:
        log.warning("The %s leg failed: %s", name, error, exc_info=error.__cause__)
        return Outcome((), LegReport("error", str(error), _since(started)))
    except Exception:
        # A defect in one leg must not cost the answer of the others; it is logged whole and shown as an error.
        log.exception("The %s leg failed", name)
        return Outcome((), LegReport("error", "internal error; see the log", _since(started)))
    return Outcome(hits, LegReport("ok" if hits else "empty", "", _since(started), len(hits)))


def _since(started: float) -> float:
    return 1000 * (time.perf_counter() - started)
