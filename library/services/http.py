"""JSON over HTTP to model services: timeouts, bounded retries, one family of errors."""

import logging
import os
import threading
import time
from dataclasses import dataclass, field
from typing import Any, Final

import requests
from requests.adapters import HTTPAdapter

from library.exceptions import ModelError, ModelRefused, ModelTimeout, ModelUnavailable
from library.models import ModelAPI

log = logging.getLogger(__name__)

CONNECT_TIMEOUT: Final = 3.0
_POOL_SIZE: Final = 32
_RETRIED: Final = frozenset({429, 502, 503, 504})
_FIRST_PAUSE: Final = 0.2

_lock = threading.Lock()
_sessions: dict[int, requests.Session] = {}


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A model service: its address without /v1, and its key."""

    base_url: str
    api_key: str = field(default="", repr=False)

    @classmethod
    def of(cls, api: ModelAPI, caller_jwt: str = "") -> "Endpoint":
        """The service of a record; with the caller's own JWT for a key where the record says so and there is one."""
        return cls(api.base_url, caller_jwt if api.forward_auth and caller_jwt else api.api_key)

    def url(self, path: str) -> str:
        """The address of `path`, whether or not the base already ends in /v1."""
        base = self.base_url.rstrip("/")
        if base.endswith("/v1") and path.startswith("/v1/"):
            base = base.removesuffix("/v1")
        return base + path


def _session() -> requests.Session:
    """The process's session: connections are pooled, and never shared across a fork."""
    pid = os.getpid()
    with _lock:
        if pid not in _sessions:
            session = requests.Session()
            adapter = HTTPAdapter(pool_connections=4, pool_maxsize=_POOL_SIZE)
            session.mount("http://", adapter)
            session.mount("https://", adapter)
            _sessions[pid] = session
        return _sessions[pid]


def post_json(endpoint: Endpoint, path: str, body: object, timeout: float, retries: int = 1) -> Any:
    """POST `body` as JSON and return the decoded answer.

    `timeout` in seconds bounds the call with its retries; 429 and 502-504 are retried at most `retries` times,
    after Retry-After or a short pause, where the time left allows it. Raises `ModelTimeout`, `ModelUnavailable`,
    `ModelRefused` (4xx) or `ModelError` (an answer that is no JSON).
    """
    deadline = time.monotonic() + timeout
    for attempt in range(retries + 1):
        response = _post(endpoint, path, body, deadline)
        pause = _pause(response, attempt)
        last = attempt == retries or time.monotonic() + pause >= deadline
        if response.status_code not in _RETRIED or last:
            return _decoded(endpoint, response)
        time.sleep(pause)
    raise AssertionError("unreachable")


def _post(endpoint: Endpoint, path: str, body: object, deadline: float) -> requests.Response:
    left = deadline - time.monotonic()
    if left <= 0:
        raise ModelTimeout("the model service did not answer in time")
    headers = {"Authorization": f"Bearer {endpoint.api_key}"} if endpoint.api_key else {}
    try:
        return _session().post(
            endpoint.url(path),
            json=body,
            headers=headers,
            timeout=(min(CONNECT_TIMEOUT, left), left),
            allow_redirects=False,
        )
    except requests.Timeout as error:
        raise ModelTimeout("the model service did not answer in time") from error
    except requests.RequestException as error:
        raise ModelUnavailable("the model service cannot be reached") from error


def _pause(response: requests.Response, attempt: int) -> float:
    """Seconds to wait before the next try: Retry-After where it is a number, else a growing pause."""
    try:
        return max(0.0, float(response.headers.get("Retry-After", "")))
    except ValueError:
        return _FIRST_PAUSE * 2.0**attempt


def _decoded(endpoint: Endpoint, response: requests.Response) -> Any:
    status = response.status_code
    if status in (401, 403):
        log.error("%s refused the key of its API record (HTTP %d)", endpoint.base_url, status)
        raise ModelRefused(f"the model service refused the key of its API record (HTTP {status})", status)
    if not 200 <= status < 300:
        # The address is for the log: what callers are shown names no host of the operator's.
        log.warning("%s answered HTTP %d%s", endpoint.base_url, status, _said(response))
    if status == 429 or status >= 500:
        raise ModelUnavailable(f"the model service answered HTTP {status}{_said(response)}")
    if not 200 <= status < 300:
        raise ModelRefused(f"the model service answered HTTP {status}{_said(response)}", status)
    try:
        answer = response.json()
    except ValueError as error:
        raise ModelError("the model service gave an answer that is not JSON") from error
    if isinstance(answer, dict) and answer.get("error"):
        raise ModelUnavailable(f"the model service answered with an error{_said(response)}")
    return answer


def _said(response: requests.Response) -> str:
    """The service's own words, shortened, where it gave any as JSON."""
    try:
        error = response.json().get("error")
    except (ValueError, AttributeError):
        return ""
    text = error.get("message") if isinstance(error, dict) else error
    return f": {text[:200]}" if isinstance(text, str) and text else ""
