"""A circuit breaker for model services: one that hangs costs one timeout, not one a request.

The pattern is M. Nygard's, "Release It!", 2nd edition, 2018, chapter 5.
"""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

from library.exceptions import ModelError, ModelTimeout, ModelUnavailable

# Seconds that a service which did not answer in time is left alone; then one call tries it again.
COOL_DOWN: Final = 30.0


class CircuitBreaker:
    """Open circuits, by name, with the time of their last try.

    Closed is the normal state; a timeout opens one. Safe to use from several threads.
    """

    def __init__(self, cool_down: float = COOL_DOWN, clock: Callable[[], float] = time.monotonic) -> None:
        self._cool_down = cool_down
        self._clock = clock
        self._lock = threading.Lock()
        self._tried_at: dict[str, float] = {}

    def check(self, name: str) -> None:
        """Raise `ModelUnavailable` while the circuit is open; after the cool-down one caller is let through."""
        with self._lock:
            now = self._clock()
            tried_at = self._tried_at.get(name)
            if tried_at is None:
                return
            left = tried_at + self._cool_down - now
            if left > 0:
                raise ModelUnavailable(f"the model service did not answer in time and is left alone for {left:.0f} s")
            # This caller tries; the others go on waiting, for one more cool-down at the most.
            self._tried_at[name] = now

    def timed_out(self, name: str) -> None:
        """Open the circuit."""
        with self._lock:
            self._tried_at[name] = self._clock()

    def answered(self, name: str) -> None:
        """Close the circuit: any answer, even a refusal, shows that the service is there."""
        with self._lock:
            self._tried_at.pop(name, None)

    @contextmanager
    def guarding(self, name: str) -> Iterator[None]:
        """One call to a service: refused while its circuit is open, and opening or closing it by how the call ends."""
        self.check(name)
        try:
            yield
        except ModelTimeout:
            self.timed_out(name)
            raise
        except ModelError:
            self.answered(name)
            raise
        self.answered(name)

    def reset(self) -> None:
        """Close every circuit."""
        with self._lock:
            self._tried_at.clear()


# One for all searches of the process.
BREAKER: Final = CircuitBreaker()
