"""Child processes that outlive the command that started them, told apart by a mark on their command line.

A process id alone says little after a restart of the machine, when it may belong to another program: a process is ours
only when its command line carries the mark of the state folder that it was started for.
"""

import atexit
import contextlib
import json
import socket
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path

import psutil

from mnemosyne.local.errors import LocalStackError
from mnemosyne.local.progress import Progress
from mnemosyne.local.state import write_private

HOST = "127.0.0.1"
PORTS_TRIED = 50
KILL_SECONDS = 5.0

_children: dict[int, "subprocess.Popen[bytes]"] = {}  # kept so that they are reaped, not warned about


@atexit.register
def _let_go() -> None:
    """They outlive this process on purpose: Python is not to warn of them at its end."""
    for child in _children.values():
        if child.poll() is None:
            child.returncode = 0


def spawn(
    command: Sequence[str], mark: str, record: Path, log: Path, port: int, env: dict[str, str] | None = None
) -> int:
    """Start ``command`` in a session of its own, its output appended to ``log``; returns the process id.

    The id is in ``record`` before this returns, so that a start that is interrupted can still be cleaned up.
    """
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("ab") as output:
        child = subprocess.Popen(  # noqa: S603 - our own command
            command,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            env=env,
        )
    _children[child.pid] = child
    write_private(record, json.dumps({"pid": child.pid, "port": port, "mark": mark}) + "\n")
    return child.pid


def running(record: Path, mark: str) -> tuple[int, int] | None:
    """(process id, port) of the process in ``record`` when it still runs and is ours."""
    try:
        content = json.loads(record.read_text(encoding="utf-8"))
        pid, port = int(content["pid"]), int(content["port"])
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return (pid, port) if is_ours(pid, mark) else None


def is_ours(pid: int, mark: str) -> bool:
    """Whether ``pid`` is a live process with ``mark`` among its arguments.

    A child of this very process is known without asking: its command line is empty for a moment after the start.
    """
    child = _children.get(pid)
    if child is not None:
        return child.poll() is None
    try:
        process = psutil.Process(pid)
        return process.status() != psutil.STATUS_ZOMBIE and mark in process.cmdline()
    except (psutil.NoSuchProcess, psutil.AccessDenied):
        return False


def marked(mark: str) -> list[int]:
    """The live processes with ``mark`` among their arguments, whatever became of their record."""
    found = set()
    for process in psutil.process_iter(["pid", "cmdline", "status"]):
        if mark in (process.info["cmdline"] or ()) and process.info["status"] != psutil.STATUS_ZOMBIE:
            found.add(process.info["pid"])
    return sorted(found)


def listens(pid: int, port: int) -> bool:
    """Whether ``pid`` itself accepts connections on ``port``: another server may have taken it first."""
    try:
        connections = psutil.Process(pid).net_connections("tcp")
    except (psutil.NoSuchProcess, psutil.AccessDenied):
        return False
    return any(c.status == psutil.CONN_LISTEN and c.laddr.port == port for c in connections)


def stop(record: Path, mark: str, name: str, grace: float, progress: Progress) -> bool:
    """End the process with ``mark``, recorded or left behind, and wait until it is gone; False when there was none.

    Asks first, and kills it after ``grace`` seconds.
    """
    pids = marked(mark)
    for pid in pids:
        _end(pid, mark, name, grace, progress)
    record.unlink(missing_ok=True)
    return bool(pids)


def _end(pid: int, mark: str, name: str, grace: float, progress: Progress) -> None:
    with contextlib.suppress(psutil.NoSuchProcess):
        psutil.Process(pid).terminate()
    with progress.waiting(f"Stopping {name}") as clock:
        killed = False
        while is_ours(pid, mark):
            if not killed and clock.seconds > grace:
                progress.say(f"{name} did not stop within {grace:.0f} s: killing it")
                with contextlib.suppress(psutil.NoSuchProcess):
                    psutil.Process(pid).kill()
                killed = True
            elif clock.seconds > grace + KILL_SECONDS:
                raise LocalStackError(f"{name} (process {pid}) does not end.", f"End it by hand: kill -9 {pid}")
            clock.tick()
            time.sleep(0.05)
    child = _children.pop(pid, None)
    if child is not None:
        child.wait(timeout=KILL_SECONDS)


def free_port(preferred: int) -> int:
    """``preferred`` where it is free, else the next free port, else any."""
    for port in range(preferred, preferred + PORTS_TRIED):
        if _is_free(port):
            return port
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        probe.bind((HOST, 0))
        return int(probe.getsockname()[1])


def _is_free(port: int) -> bool:
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        probe.settimeout(1.0)
        if probe.connect_ex((HOST, port)) == 0:
            return False
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # as the servers do, past TIME_WAIT
        try:
            probe.bind((HOST, port))
        except OSError:
            return False
    return True


def tail(log: Path, lines: int = 15) -> str:
    """The last lines of a log, indented, for an error message."""
    try:
        content = log.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return "    (no log)"
    return "\n".join(f"    {line[:300]}" for line in content[-lines:]) or "    (the log is empty)"
