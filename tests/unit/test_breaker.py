"""A service that hangs costs one timeout."""

import pytest

from library.exceptions import ModelUnavailable
from library.services.breaker import CircuitBreaker


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def test_a_timeout_keeps_callers_away_until_the_cool_down_is_over() -> None:
    clock = Clock()
    breaker = CircuitBreaker(30.0, clock)
    breaker.check("a")
    breaker.timed_out("a")
    breaker.check("b")
    with pytest.raises(ModelUnavailable, match="left alone for 30 s"):
        breaker.check("a")
    clock.now = 30.0
    breaker.check("a")
    with pytest.raises(ModelUnavailable):
        breaker.check("a")
    breaker.answered("a")
    breaker.check("a")


def test_a_try_that_never_comes_back_is_followed_by_another() -> None:
    clock = Clock()
    breaker = CircuitBreaker(30.0, clock)
    breaker.timed_out("a")
    for now in (30.0, 60.0, 90.0):
        clock.now = now
        breaker.check("a")
