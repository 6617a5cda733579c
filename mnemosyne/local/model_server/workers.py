"""A fixed set of threads that take the most urgent work first.

A search waits for one short text while an ingest has hundreds queued: without an order of urgency, every search would
take as long as the ingest.
"""

import itertools
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from enum import IntEnum
from queue import PriorityQueue
from typing import Any, TypeVar

from mnemosyne.local.model_server.errors import ApiError

Item = TypeVar("Item")
Result = TypeVar("Result")


class Urgency(IntEnum):
    """Lower is sooner."""

    QUERY = 0
    RERANK = 1
    BULK = 2


class Workers:
    """``threads`` workers over one queue of at most ``capacity`` waiting items."""

    def __init__(self, threads: int, capacity: int) -> None:
        self._queue: PriorityQueue[tuple[int, int, Future[Any], Callable[[], Any]]] = PriorityQueue()
        self._order = itertools.count()
        self._capacity = capacity
        self._admission = threading.Lock()
        for number in range(threads):
            threading.Thread(target=self._work, name=f"encoder-{number}", daemon=True).start()

    @property
    def waiting(self) -> int:
        """Items that no thread has taken yet."""
        return self._queue.qsize()

    def map(self, function: Callable[[Item], Result], items: Sequence[Item], urgency: Urgency) -> list[Result]:
        """``function`` of every item, in order; refused as a whole (503) when too much is waiting already."""
        futures: list[Future[Result]] = [Future() for _ in items]
        with self._admission:
            if self.waiting + len(items) > self._capacity:
                raise ApiError(503, "The model server is busy: too many texts are waiting. Try again shortly.", "busy")
            for future, item in zip(futures, items, strict=True):
                self._queue.put((urgency, next(self._order), future, _call(function, item)))
        try:
            return [future.result() for future in futures]
        except BaseException:
            for future in futures:
                future.cancel()
            raise

    def _work(self) -> None:
        while True:
            _, _, future, call = self._queue.get()
            if not future.set_running_or_notify_cancel():
                continue
            try:
                future.set_result(call())
            except Exception as error:  # handed to the request that waits for it
                future.set_exception(error)


def _call(function: Callable[[Item], Result], item: Item) -> Callable[[], Result]:
    return lambda: function(item)
