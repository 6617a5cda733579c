"""The one door to Cypher: one driver per process, reads with a budget that the server keeps, retried writes."""

import os
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final, TypeVar, cast

import neo4j
from neo4j import GraphDatabase, ManagedTransaction, NotificationMinimumSeverity, Query, Record
from neo4j.exceptions import AuthError, DriverError, Neo4jError, ServiceUnavailable, SessionExpired
from neomodel import db

from library.conf import GraphConfig, graph_config
from library.exceptions import GraphError, GraphTimeout, GraphUnavailable

T = TypeVar("T")
Row = Record

# Neo4j's own names for "your time was up" (status codes of Neo.ClientError / Neo.TransientError).
_TIMEOUT_CODES: Final = ("TransactionTimedOut", "TransactionTimedOutClientConfiguration")

_lock = threading.Lock()
_current: tuple[int, GraphConfig] | None = None


def driver() -> neo4j.Driver:
    """The process's driver, made at first use, and anew after a fork or a change of settings."""
    global _current
    wanted = (os.getpid(), graph_config())
    with _lock:
        if _current != wanted or db.driver is None:
            if _current is not None and _current[0] == wanted[0] and db.driver is not None:
                db.driver.close()
            db.set_connection(driver=_connect(wanted[1]))
            _current = wanted
        return cast(neo4j.Driver, db.driver)


def close() -> None:
    """Close the process's driver; the next query opens a new one."""
    global _current
    with _lock:
        if db.driver is not None and _current is not None and _current[0] == os.getpid():
            db.driver.close()
        db.driver = None
        _current = None


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

    `timeout` in seconds is kept by the server, which cancels the query. Auto-commit costs one round trip where a
    managed transaction costs three. A pooled connection that died while idle is retried once, for reads only.
    Raises `GraphTimeout`, `GraphUnavailable`, `GraphError`.
    """
    statement = Query(query, timeout=timeout)
    with _translated():
        try:
            return _run(statement, parameters)
        except (ServiceUnavailable, SessionExpired):
            return _run(statement, parameters)


def _run(statement: Query, parameters: Mapping[str, Any]) -> list[Record]:
    database = graph_config().database
    with driver().session(database=database, default_access_mode=neo4j.READ_ACCESS) as session:
        return list(session.run(statement, dict(parameters)))


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
