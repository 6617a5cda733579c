"""Progress on the terminal: bars for things that are counted, a running clock for things that are waited for."""

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol, TextIO

from tqdm import tqdm

NON_TERMINAL_INTERVAL = 10.0  # seconds between lines where the output is a file, as in CI


class Counter(Protocol):
    """Something that can be told of finished steps."""

    def update(self, steps: int = 1) -> object:
        """Count ``steps`` more."""


class Progress:
    """Writes to ``stream``: standard error by default, so that ``--json`` stays clean. ``quiet`` writes nothing."""

    def __init__(self, stream: TextIO | None = None, quiet: bool = False) -> None:
        self._stream = stream if stream is not None else sys.stderr
        self._quiet = quiet
        self._interval = 0.1 if self._stream.isatty() else NON_TERMINAL_INTERVAL

    def say(self, message: str) -> None:
        """Write one line."""
        if not self._quiet:
            print(message, file=self._stream, flush=True)

    @contextmanager
    def counting(self, what: str, total: int, unit: str) -> Iterator[Counter]:
        """A bar of ``total`` steps; update it by ``update(steps)``."""
        with tqdm(
            total=total,
            desc=what,
            unit=unit,
            file=self._stream,
            disable=self._quiet,
            mininterval=self._interval,
            dynamic_ncols=True,
        ) as bar:
            yield bar

    @contextmanager
    def waiting(self, what: str) -> Iterator["Clock"]:
        """A clock for one wait of unknown length; call ``tick`` in the loop."""
        clock = Clock(what, self._stream, self._interval, self._quiet)
        try:
            yield clock
        finally:
            clock.close()


class Clock:
    """Shows how long something has been waited for."""

    def __init__(self, what: str, stream: TextIO, interval: float, quiet: bool) -> None:
        self._what = what
        self._stream = stream
        self._interval = interval
        self._quiet = quiet
        self._started = time.monotonic()
        self._shown = self._started
        self._open_line = False

    @property
    def seconds(self) -> float:
        """Seconds since the wait began."""
        return time.monotonic() - self._started

    def tick(self) -> None:
        """Show the time waited, where it is time to show it again."""
        now = time.monotonic()
        if self._quiet or now - self._shown < self._interval:
            return
        self._shown = now
        start, end = ("\r", "") if self._stream.isatty() else ("", "\n")
        self._open_line = end == ""
        print(f"{start}{self._what}: {self.seconds:.0f} s", end=end, file=self._stream, flush=True)

    def close(self) -> None:
        """End the line that was being rewritten."""
        if self._open_line:
            print(f"\r{self._what}: {self.seconds:.1f} s", file=self._stream, flush=True)
