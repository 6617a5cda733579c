"""The test stack: a real Neo4j and the real model server, started once a run, with data and ports of their own."""

import os
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.conf import settings as django_settings
from django.core.cache import cache
from pytest_django.fixtures import Settings

from library.conf import index_config
from library.graph import schema, session
from library.models import AIModel, ModelAPI
from library.services.breaker import BREAKER
from library.services.warmup import warm_up
from mnemosyne.local import stack as local_stack
from mnemosyne.local.state import ModelService, Neo4jService, Services

WIPE_QUERY = "MATCH (n) CALL (n) { DETACH DELETE n } IN TRANSACTIONS OF 5000 ROWS"


@pytest.fixture(scope="session")
def state_dir(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Where the test stack lives. MNEMOSYNE_TEST_STATE_DIR names a folder whose services are kept between runs."""
    kept = os.environ.get("MNEMOSYNE_TEST_STATE_DIR")
    folder = Path(kept) if kept else tmp_path_factory.mktemp("stack")
    yield folder
    session.close()
    if not kept:
        local_stack.stop(folder)


@pytest.fixture(scope="session")
def neo4j_service(state_dir: Path) -> Neo4jService:
    """The test Neo4j, started at first use."""
    services = local_stack.start(state_dir, django_settings.MNEMOSYNE_CACHE_DIR, models=False)
    assert services.neo4j is not None
    return services.neo4j


@pytest.fixture(scope="session")
def model_service(state_dir: Path) -> ModelService:
    """The test model server, started at first use."""
    services = local_stack.start(state_dir, django_settings.MNEMOSYNE_CACHE_DIR, neo4j=False)
    assert services.models is not None
    return services.models


@pytest.fixture(scope="session")
def stack(neo4j_service: Neo4jService, model_service: ModelService) -> Services:
    """Both."""
    return Services(neo4j_service, model_service)


@pytest.fixture(autouse=True)
def media(settings: Settings, tmp_path: Path) -> None:
    """Stored files go to the test's own folder; what is read from pictures does not depend on the machine."""
    settings.MEDIA_ROOT = tmp_path / "media"
    settings.INGEST_OCR = "off"


@pytest.fixture(autouse=True)
def empty_cache() -> None:
    """No test is answered out of another one's cache."""
    cache.clear()


@pytest.fixture(autouse=True)
def closed_circuits() -> None:
    """No test suffers from a service that another one let hang."""
    BREAKER.reset()


@pytest.fixture
def neo4j(neo4j_service: Neo4jService, settings: Settings) -> None:
    """The settings point to the test Neo4j; its content is whatever an earlier test left."""
    settings.NEO4J_URL = neo4j_service.url
    settings.NEO4J_USER = neo4j_service.user
    settings.NEO4J_PASSWORD = neo4j_service.password


@pytest.fixture
def empty_neo4j(neo4j: None, db: None) -> None:
    """A Neo4j without nodes, indexes and constraints; and Django's database."""
    session.run_schema(WIPE_QUERY)
    for row in session.read("SHOW CONSTRAINTS YIELD name", {}):
        session.run_schema(f"DROP CONSTRAINT {row['name']} IF EXISTS")
    for row in session.read("SHOW INDEXES YIELD name, type WHERE type <> 'LOOKUP'", {}):
        session.run_schema(f"DROP INDEX {row['name']} IF EXISTS")


_warmed: set[str] = set()


@pytest.fixture
def graph(neo4j: None, db: None, settings: Settings) -> None:
    """A Neo4j without nodes, with all indexes online, for vectors of the model server's size; and Django's database.

    A server that has just started plans its first queries slowly; that is no part of what the tests measure.
    """
    make_schema(384)
    session.run_schema(WIPE_QUERY)
    if settings.NEO4J_URL not in _warmed:
        warm_up(384)
        _warmed.add(settings.NEO4J_URL)


def make_schema(dimensions: int) -> None:
    """All constraints and indexes, for vectors of a size; what differs is made anew."""
    list(schema.setup(dimensions, index_config(), rebuild=True))
    list(schema.wait_online())


@pytest.fixture
def system_models(db: None, model_service: ModelService) -> None:
    """Records of the real model server."""
    api = ModelAPI.objects.create(name="test models", api_type="synesis", base_url=model_service.url)
    AIModel.objects.create(
        api=api,
        name=model_service.embedding_model,
        role="embedding",
        is_system=True,
        dimensions=model_service.dimensions,
        max_tokens=model_service.max_tokens,
        tokenizer_path=model_service.tokenizer_path,
    )
    AIModel.objects.create(api=api, name=model_service.reranker_model, role="reranker", is_system=True)


@pytest.fixture
def unused_port() -> int:
    """A port of this machine that nothing listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
