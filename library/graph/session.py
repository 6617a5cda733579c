"""The one door to Cypher: one driver per process, reads with a budget that the server keeps, retried writes."""

import math
import os
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Final, TypeVar

import neo4j
from neo4j import GraphDatabase, ManagedTransaction, NotificationMinimumSeverity, Query, Record
from neo4j.exceptions import AuthError, DriverError, Neo4jError, ServiceUnavailable, SessionExpired
from neo4j.vector import Vector
from neomodel import db

from library.conf import GraphConfig, graph_config
from library.exceptions import GraphError, GraphTimeout, GraphUnavailable
from library.threads import DaemonPool, may_hang

T = TypeVar("T")
Row = Record

# Neo4j's own names for "your time was up" (status codes of Neo.ClientError / Neo.TransientError).
_TIMEOUT_CODES: Final = ("TransactionTimedOut", "TransactionTimedOutClientConfiguration")

# The server cancels a query when its time is up and says so; that answer is worth waiting a moment for.
_GRACE: Final = 0.15
# A server that hangs says nothing, and the driver would wait for two minutes: its reads are waited for from outside.
_readers: Final = DaemonPool(32, "graph-read")
# A server compiles a query that it sees for the first time, and throws the work away where the query's time is up
# before: one that has just started, and is busy, would never have a plan. So it gets one run with plenty of time.
_COMPILE_SECONDS: Final = 120.0
_compiler: Final = DaemonPool(1, "graph-compile")
_compiled_at: Final[dict[str, float]] = {}


@dataclass(slots=True)
class _Connection:
    """The process's one driver, and what it was made of."""

    lock: threading.Lock = field(default_factory=threading.Lock)
    config: GraphConfig | None = None
    driver: neo4j.Driver | None = None
    # Drivers of the parent process: kept, because closing them here would end its connections.
    inherited: list[neo4j.Driver] = field(default_factory=list)


_connection: Final = _Connection()


def driver() -> neo4j.Driver:
    """The process's driver, made at first use, and anew after a fork or a change of settings."""
    config = graph_config()
    with _connection.lock:
        if _connection.driver is None or _connection.config != config or db.driver is not _connection.driver:
            if _connection.driver is not None:
                _connection.driver.close()
            _connection.driver = _connect(config)
            _connection.config = config
            # Not by set_connection(): it asks the server for its version, and all would wait for one that hangs.
            db.driver = _connection.driver
        return _connection.driver


def close() -> None:
    """Close the process's driver; the next query opens a new one."""
    with _connection.lock:
        if _connection.driver is not None:
            _connection.driver.close()
        db.driver = _connection.driver = None


def _leave_to_parent() -> None:
    _connection.lock = threading.Lock()
    if _connection.driver is not None:
        _connection.inherited.append(_connection.driver)
        db.driver = _connection.driver = None


os.register_at_fork(after_in_child=_leave_to_parent)


def _connect(config: GraphConfig) -> neo4j.Driver:
    return GraphDatabase.driver(
        config.url,
        auth=(config.user, config.password) if config.password else None,
        max_connection_pool_size=config.pool_size,
        connection_timeout=config.connection_timeout,
        connection_acquisition_timeout=config.connection_timeout,
        # A connection idle for longer is probed before use, so that a restarted server costs no failed query.
        liveness_check_timeout=30.0,
        max_transaction_retry_time=15.0,
        notifications_min_severity=NotificationMinimumSeverity.OFF,
        telemetry_disabled=True,
    )


@contextmanager
def _translated() -> Iterator[None]:
    """Turn the driver's errors into the library's, without Neo4j's text: that goes to the log by `__cause__`."""
    try:
        yield
    except (ServiceUnavailable, SessionExpired) as error:
        raise GraphUnavailable("Neo4j cannot be reached") from error
    except AuthError as error:
        raise GraphUnavailable("Neo4j refused the user name or password") from error
    except Neo4jError as error:
        if error.code is not None and error.code.rsplit(".", 1)[-1] in _TIMEOUT_CODES:
            raise GraphTimeout("Neo4j cancelled the query: its time was up") from error
        raise GraphError("Neo4j refused a query") from error
    except DriverError as error:
        raise GraphUnavailable("the connection to Neo4j failed") from error


def read(query: str, parameters: Mapping[str, Any], timeout: float | None = None) -> list[Record]:
    """Rows of one auto-commit read.

    `timeout` in seconds is kept by the server, which cancels the query, and by us where the server hangs. Auto-commit
    costs one round trip where a managed transaction costs three. A pooled connection that died while idle is retried
    once, for reads only. Raises `GraphTimeout`, `GraphUnavailable`, `GraphError`.
    """
    if timeout is None:
        return _read(query, parameters, None)
    deadline = time.monotonic() + timeout
    if may_hang():
        return _read(query, parameters, deadline)
    rows = _readers.submit(_read, query, parameters, deadline)
    try:
        return rows.result(timeout + _GRACE)
    except TimeoutError:
        rows.cancel()
        raise GraphTimeout("Neo4j did not answer in time") from None


def native_vector(values: Sequence[float] | None) -> Vector | None:
    """A vector as Neo4j's own type, of 32-bit floats: half the cost of a list of numbers, to send and to read."""
    return None if values is None else Vector.from_native(values, "f32")


def read_listed(query: str, parameters: Mapping[str, Any], timeout: float | None = None) -> list[list[Any]]:
    """Rows of a read that collects them into one list of lists; raises as `read` does.

    For rows by the dozen in every search: sent one by one they cost twice as much, on both sides.
    """
    found = read(query, parameters, timeout)
    return list(found[0][0]) if found else []


def _read(query: str, parameters: Mapping[str, Any], deadline: float | None) -> list[Record]:
    try:
        return _read_or_retry(query, parameters, deadline)
    except GraphTimeout:
        _compile(query, parameters)
        raise


def _compile(query: str, parameters: Mapping[str, Any]) -> None:
    """Have the server compile a query in the background, for the next who asks; not again within the same time."""
    now = time.monotonic()
    if now - _compiled_at.get(query, -math.inf) < _COMPILE_SECONDS:
        return
    _compiled_at[query] = now
    _compiler.submit(_read_or_retry, query, parameters, now + _COMPILE_SECONDS)


def _read_or_retry(query: str, parameters: Mapping[str, Any], deadline: float | None) -> list[Record]:
    with _translated():
        try:
            return _run(query, parameters, deadline)
        except (ServiceUnavailable, SessionExpired):
            if deadline is not None and time.monotonic() >= deadline:
                raise
            return _run(query, parameters, deadline)


def _run(query: str, parameters: Mapping[str, Any], deadline: float | None) -> list[Record]:
    # Never below a millisecond: Neo4j reads 0 as 'no limit'.
    timeout = None if deadline is None else max(0.001, deadline - time.monotonic())
    database = graph_config().database
    with driver().session(database=database, default_access_mode=neo4j.READ_ACCESS) as session:
        return list(session.run(Query(query, timeout=timeout), dict(parameters)))


def write(work: Callable[[ManagedTransaction], T]) -> T:
    """Run `work` in one write transaction, retried by the driver on deadlock or a lost leader.

    `work` may run more than once: it must only touch the transaction. Raises as `read` does.
    """
    with _translated(), driver().session(database=graph_config().database) as session:
        return session.execute_write(work)


def run_schema(query: str) -> list[Record]:
    """Run one schema statement in its own transaction. Raises as `read` does."""
    with _translated(), driver().session(database=graph_config().database) as session:
        return list(session.run(query))
