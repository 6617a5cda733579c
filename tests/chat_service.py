"""The far end of a chat service, faked behind a real port: what it says is told, how we speak to it is real."""

import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

# Answers that are none: the service never says anything; the service hangs up.
HANGS = object()
HANGS_UP = object()


def completion(content: Any, tokens: int = 40) -> str:
    """The body of a good answer."""
    body = {"choices": [{"message": {"role": "assistant", "content": content}}], "usage": {"total_tokens": tokens}}
    return json.dumps(body)


@dataclass
class ChatService:
    """Each answer in turn, the last one again and again: a model's words, (status, body), or one of the above.

    `refused_formats` are answered with HTTP 400, as servers do that do not know them.
    """

    answers: list[Any]
    refused_formats: tuple[str, ...] = ()
    delay: float = 0.0
    url: str = ""
    bodies: list[Any] = field(default_factory=list)
    keys: list[str] = field(default_factory=list)
    most_at_once: int = 0
    _at_once: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _over: threading.Event = field(default_factory=threading.Event)

    def answer(self, path: str, key: str, body: Any) -> tuple[int, str] | None:
        """Status and body, or None to hang up."""
        if path != "/v1/chat/completions":
            return 404, "{}"
        with self._lock:
            self.bodies.append(body)
            self.keys.append(key)
            self._at_once += 1
            self.most_at_once = max(self.most_at_once, self._at_once)
        try:
            time.sleep(self.delay)
            return self._said(body)
        finally:
            with self._lock:
                self._at_once -= 1

    def _said(self, body: Any) -> tuple[int, str] | None:
        if body.get("response_format", {}).get("type", "") in self.refused_formats:
            return 400, json.dumps({"error": {"message": "response_format is not supported"}})
        with self._lock:
            said = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if said is HANGS:
            self._over.wait(30)
        if said is HANGS or said is HANGS_UP:
            return None
        return said if isinstance(said, tuple) else (200, completion(said))

    def stop(self) -> None:
        """Let go of whoever hangs."""
        self._over.set()


@contextmanager
def chat_service(*answers: Any, refused_formats: tuple[str, ...] = (), delay: float = 0.0) -> Iterator[ChatService]:
    """A service on a port of its own that gives these answers."""
    service = ChatService(list(answers), refused_formats, delay)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            found = service.answer(self.path, self.headers.get("Authorization", ""), body)
            if found is None:
                self.close_connection = True
                return
            content = found[1].encode()
            self.send_response(found[0])
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, format: str, *args: Any) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    service.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    try:
        yield service
    finally:
        service.stop()
        server.shutdown()
        server.server_close()
        thread.join(5)
