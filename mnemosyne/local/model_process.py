"""Start and stop the model server of a state folder as a process of its own."""

import json
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path

from mnemosyne.local import process
from mnemosyne.local.errors import LocalStackError
from mnemosyne.local.model_files import ModelFiles
from mnemosyne.local.progress import Progress
from mnemosyne.local.state import ModelService

PORT = 8400
KEY = "local"  # accepted and ignored: the server listens on the loopback interface only
START_SECONDS = 60.0
STOP_SECONDS = 10.0
PORT_TRIES = 3
IN_USE = "address already in use"


class ModelServer:
    """The model server of one state folder. Call under the state folder's lock."""

    def __init__(self, state_dir: Path) -> None:
        self._record = state_dir / "models.pid.json"
        self._log = state_dir.resolve() / "logs" / "models.log"
        self._mark = f"--state={state_dir.resolve()}"

    def start(self, files: ModelFiles, progress: Progress) -> ModelService:
        """Start the server, or find it running; returns when it has answered with its models."""
        found = process.running(self._record, self._mark)
        if found is not None:
            return self._wait(*found, files, progress)
        self.stop(progress)  # one left behind by a start that was cut short
        for attempt in range(1, PORT_TRIES + 1):
            try:
                return self._start_once(files, progress)
            except _PortTaken:
                if attempt == PORT_TRIES:
                    raise
        raise AssertionError("unreachable")

    def stop(self, progress: Progress) -> bool:
        """Stop the server and wait until it is gone; False when it was not running."""
        return process.stop(self._record, self._mark, "the model server", STOP_SECONDS, progress)

    def pid(self) -> int | None:
        """The process id while it runs."""
        found = process.running(self._record, self._mark)
        return None if found is None else found[0]

    def _start_once(self, files: ModelFiles, progress: Progress) -> ModelService:
        port = process.free_port(PORT)
        self._log.unlink(missing_ok=True)
        command = [
            sys.executable,
            "-m",
            "mnemosyne.local.model_server",
            f"--port={port}",
            f"--onnx={files.onnx}",
            f"--tokenizer={files.tokenizer}",
            self._mark,
        ]
        pid = process.spawn(command, self._mark, self._record, self._log, port)
        try:
            return self._wait(pid, port, files, progress)
        except BaseException:
            process.stop(self._record, self._mark, "the model server", STOP_SECONDS, progress)
            raise

    def _wait(self, pid: int, port: int, files: ModelFiles, progress: Progress) -> ModelService:
        url = f"http://{process.HOST}:{port}"
        with progress.waiting(f"Starting the model server on port {port}") as clock:
            while True:
                health = _health(url) if process.listens(pid, port) else None
                if health is not None:
                    return _service(url, pid, port, files, health)
                if not process.is_ours(pid, self._mark):
                    shown = process.tail(self._log)
                    error = _PortTaken if IN_USE in shown else LocalStackError
                    raise error(
                        f"The model server ended while it was starting. The end of {self._log}:\n{shown}",
                        "Install the package's group `local` (pip install 'mnemosyne-library[local]') and run the "
                        "command again.",
                    )
                if clock.seconds > START_SECONDS:
                    raise LocalStackError(
                        f"The model server has not answered within {START_SECONDS:.0f} s. The end of {self._log}:\n"
                        f"{process.tail(self._log)}",
                        "Free some memory or processor time and run the command again.",
                    )
                clock.tick()
                time.sleep(0.1)


def _health(url: str) -> dict[str, object] | None:
    """What ``/health`` says, or None while it does not answer."""
    try:
        with urllib.request.urlopen(f"{url}/health", timeout=2.0) as answer:  # noqa: S310 - our own server
            health: dict[str, object] = json.load(answer)
            return health
    except (urllib.error.URLError, OSError, ValueError):
        return None


def _service(url: str, pid: int, port: int, files: ModelFiles, health: dict[str, object]) -> ModelService:
    return ModelService(
        url=url,
        key=KEY,
        pid=pid,
        port=port,
        embedding_model=str(health["embedding_model"]),
        reranker_model=str(health["reranker_model"]),
        dimensions=int(str(health["dimensions"])),
        max_tokens=int(str(health["max_tokens"])),
        query_prefix=str(health["query_prefix"]),
        tokenizer_path=str(files.tokenizer),
    )


class _PortTaken(LocalStackError):
    """The port was free when we looked and taken when the server did."""
