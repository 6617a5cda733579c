"""Threads that may hang hold up nobody."""

import os
import subprocess
import sys
import threading
import time

import pytest

from library.threads import DaemonPool, may_hang


def test_results_and_errors_come_back_and_threads_are_used_again() -> None:
    pool = DaemonPool(4, "test")
    names = {pool.submit(lambda: threading.current_thread().name).result(5) for _ in range(20)}
    assert len(names) <= 4
    with pytest.raises(ZeroDivisionError):
        pool.submit(divmod, 1, 0).result(5)
    assert pool.submit(may_hang).result(5) is True
    assert may_hang() is False


def test_as_many_run_at_once_as_there_are_threads_and_the_others_wait() -> None:
    pool = DaemonPool(3, "test")
    together, release = threading.Barrier(4), threading.Event()

    def work() -> None:
        together.wait(5)
        release.wait(5)

    running = [pool.submit(work) for _ in range(3)]
    together.wait(5)
    waiting = pool.submit(lambda: "done")
    abandoned = pool.submit(lambda: "never")
    time.sleep(0.05)
    assert not waiting.done()
    assert abandoned.cancel() is True
    release.set()
    assert waiting.result(5) == "done"
    assert [future.result(5) for future in running] == [None] * 3


def test_a_thread_that_hangs_does_not_hold_up_the_end_of_the_process() -> None:
    code = (
        "import time; from library.threads import DaemonPool; pool = DaemonPool(2, 'test'); "
        "pool.submit(time.sleep, 60); print(pool.submit(lambda: 'done').result(5))"
    )
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=20)
    assert (ended.returncode, ended.stdout) == (0, "done\n")


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_fork_has_threads_of_its_own() -> None:
    code = (
        "import os; from library.threads import DaemonPool; pool = DaemonPool(2, 'test'); "
        "pool.submit(int).result(5)\n"
        "if os.fork() == 0: os._exit(pool.submit(lambda: 7).result(5))\n"
        "print(os.waitstatus_to_exitcode(os.wait()[1]))"
    )
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=20)
    assert (ended.returncode, ended.stdout) == (0, "7\n")
