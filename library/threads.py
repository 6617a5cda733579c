"""Threads for work that may hang: nobody has to wait for it, neither its caller nor the end of the process."""

import os
import queue
import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")
_Job = tuple[Future[Any], Callable[[], Any]]


class _Worker(threading.Thread):
    """A thread of a `DaemonPool`."""


def may_hang() -> bool:
    """Whether this thread is one that others do not wait for without a limit of their own."""
    return isinstance(threading.current_thread(), _Worker)


class DaemonPool:
    """At most `size` threads, started as they are needed, kept, and started anew after a fork.

    Unlike those of `ThreadPoolExecutor` they do not hold up the end of the process, which would otherwise last as
    long as the slowest answer of a server that hangs.
    """

    def __init__(self, size: int, name: str) -> None:
        self._size = size
        self._name = name
        self._reset()
        os.register_at_fork(after_in_child=self._reset)

    def _reset(self) -> None:
        self._lock = threading.Lock()
        self._idle = threading.Semaphore(0)
        self._jobs: queue.SimpleQueue[_Job] = queue.SimpleQueue()
        self._started = 0

    def submit(self, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> "Future[T]":
        """Run `work` in one of the threads; it waits where all are busy, and may be cancelled as long as it does."""
        future: Future[T] = Future()
        self._jobs.put((future, lambda: work(*args, **kwargs)))
        if self._idle.acquire(blocking=False):
            return future
        with self._lock:
            if self._started < self._size:
                self._started += 1
                _Worker(target=self._work, name=f"{self._name}-{self._started}", daemon=True).start()
        return future

    def _work(self) -> None:
        while True:
            try:
                job = self._jobs.get_nowait()
            except queue.Empty:
                self._idle.release()
                job = self._jobs.get()
            _do(*job)
            # The next job may be long in coming: what this one held must not wait for it.
            del job


def _do(future: Future[Any], work: Callable[[], Any]) -> None:
    if not future.set_running_or_notify_cancel():
        return
    try:
        result = work()
    except BaseException as error:
        future.set_exception(error)
    else:
        future.set_result(result)
