"""Child processes are found, told apart from strangers, and ended."""

import json
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from mnemosyne.local import process
from mnemosyne.local.progress import Progress

QUIET = Progress(quiet=True)
SLEEP = "import time; print('up', flush=True); time.sleep(60)"
STUBBORN = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('up', flush=True); time.sleep(60)"


class Sleeper:
    """A process of ours in a folder of its own."""

    def __init__(self, folder: Path, code: str = SLEEP) -> None:
        self.record = folder / "pid.json"
        self.mark = f"--mark={folder}"
        self.log = folder / "logs" / "log"
        self.pid = process.spawn([sys.executable, "-c", code, self.mark], self.mark, self.record, self.log, 4242)
        while "up" not in process.tail(self.log):
            pass

    def stop(self, grace: float = 5.0) -> bool:
        return process.stop(self.record, self.mark, "the sleeper", grace, QUIET)


@pytest.fixture
def sleeper(tmp_path: Path) -> Iterator[Sleeper]:
    started = Sleeper(tmp_path)
    yield started
    started.stop()


def test_a_started_process_is_found_again_by_its_record(sleeper: Sleeper) -> None:
    assert process.running(sleeper.record, sleeper.mark) == (sleeper.pid, 4242)
    assert process.marked(sleeper.mark) == [sleeper.pid]


def test_stop_waits_until_the_process_is_gone(sleeper: Sleeper) -> None:
    assert sleeper.stop() is True
    assert process.running(sleeper.record, sleeper.mark) is None
    assert not sleeper.record.exists()
    with pytest.raises(ProcessLookupError):
        os.kill(sleeper.pid, 0)


def test_stopping_what_does_not_run_says_so(sleeper: Sleeper) -> None:
    sleeper.stop()
    assert sleeper.stop() is False


def test_a_process_that_ignores_the_request_is_killed_after_the_grace(tmp_path: Path) -> None:
    stubborn = Sleeper(tmp_path, STUBBORN)
    assert stubborn.stop(grace=0.2) is True
    assert process.marked(stubborn.mark) == []


def test_a_reused_process_id_is_not_taken_for_ours_and_not_ended(tmp_path: Path) -> None:
    stranger = subprocess.Popen([sys.executable, "-c", SLEEP], stdout=subprocess.DEVNULL)
    record = tmp_path / "pid.json"
    record.write_text(json.dumps({"pid": stranger.pid, "port": 1, "mark": "--mark=ours"}))
    assert process.running(record, "--mark=ours") is None
    assert process.stop(record, "--mark=ours", "ours", 1.0, QUIET) is False
    assert stranger.poll() is None
    stranger.kill()
    stranger.wait()


def test_a_process_whose_record_was_lost_is_stopped_all_the_same(sleeper: Sleeper) -> None:
    sleeper.record.unlink()
    assert sleeper.stop() is True
    assert process.marked(sleeper.mark) == []


@pytest.mark.parametrize("content", ["", "{}", "[]", '{"pid": "x", "port": 1}'])
def test_an_unreadable_record_counts_as_not_running(tmp_path: Path, content: str) -> None:
    (tmp_path / "pid.json").write_text(content)
    assert process.running(tmp_path / "pid.json", "--mark=none") is None


def test_the_next_port_is_taken_when_the_preferred_one_is_in_use() -> None:
    with socket.create_server((process.HOST, 0)) as server:
        taken = server.getsockname()[1]
        assert taken < process.free_port(taken) <= taken + process.PORTS_TRIED
        assert process.listens(os.getpid(), taken)
    assert process.free_port(taken) == taken
    assert not process.listens(os.getpid(), taken)


def test_the_tail_of_a_log_is_its_last_lines(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_text("\n".join(f"line {number}" for number in range(30)))
    assert process.tail(log, 2) == "    line 28\n    line 29"
    assert process.tail(tmp_path / "none") == "    (no log)"


def test_a_process_left_running_is_no_warning_at_the_end_of_the_one_that_started_it(tmp_path: Path) -> None:
    code = (
        "import pathlib, sys; from mnemosyne.local import process; folder = pathlib.Path(sys.argv[1]); "
        "mark = sys.argv[2]; "
        "process.spawn([sys.executable, '-c', 'import time; time.sleep(60)', mark], mark, folder / 'pid.json', "
        "folder / 'log', 4242)"
    )
    mark = f"--left={tmp_path}"
    ended = subprocess.run(
        [sys.executable, "-W", "error", "-c", code, str(tmp_path), mark], capture_output=True, text=True
    )
    assert (ended.returncode, ended.stderr) == (0, "")
    assert process.stop(tmp_path / "pid.json", mark, "the sleeper", 5.0, QUIET) is True
