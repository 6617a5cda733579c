"""The test stack: a real Neo4j and the real model server, started once a run, with data and ports of their own."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.conf import settings as django_settings
from pytest_django.fixtures import SettingsWrapper

from library.conf import index_config
from library.graph import schema, session
from library.models import AIModel, ModelAPI
from mnemosyne.local import stack as local_stack
from mnemosyne.local.state import ModelService, Neo4jService, Services

WIPE_QUERY = "MATCH (n) CALL (n) { DETACH DELETE n } IN TRANSACTIONS OF 5000 ROWS"


@pytest.fixture(scope="session")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Services]:
    """Neo4j and the model server. MNEMOSYNE_TEST_STATE_DIR names a folder whose services are kept between runs."""
    kept = os.environ.get("MNEMOSYNE_TEST_STATE_DIR")
    state_dir = Path(kept) if kept else tmp_path_factory.mktemp("stack")
    services = local_stack.start(state_dir, django_settings.MNEMOSYNE_CACHE_DIR)
    yield services
    if not kept:
        local_stack.stop(state_dir)


@pytest.fixture(scope="session")
def neo4j_service(stack: Services) -> Neo4jService:
    """Where the test Neo4j is."""
    assert stack.neo4j is not None
    return stack.neo4j


@pytest.fixture(scope="session")
def model_service(stack: Services) -> ModelService:
    """Where the test model server is."""
    assert stack.models is not None
    return stack.models


@pytest.fixture(autouse=True)
def media(settings: SettingsWrapper, tmp_path: Path) -> None:
    """Stored files go to the test's own folder."""
    settings.MEDIA_ROOT = tmp_path / "media"


@pytest.fixture
def neo4j(neo4j_service: Neo4jService, settings: SettingsWrapper) -> None:
    """The settings point to the test Neo4j; its content is whatever an earlier test left."""
    settings.NEO4J_URL = neo4j_service.url
    settings.NEO4J_USER = neo4j_service.user
    settings.NEO4J_PASSWORD = neo4j_service.password


@pytest.fixture
def empty_neo4j(neo4j: None) -> None:
    """A Neo4j without nodes, indexes and constraints."""
    session.run_schema(WIPE_QUERY)
    for row in session.read("SHOW CONSTRAINTS YIELD name", {}):
        session.run_schema(f"DROP CONSTRAINT {row['name']} IF EXISTS")
    for row in session.read("SHOW INDEXES YIELD name, type WHERE type <> 'LOOKUP'", {}):
        session.run_schema(f"DROP INDEX {row['name']} IF EXISTS")


@pytest.fixture
def graph(neo4j: None) -> None:
    """A Neo4j without nodes, with all indexes online, for vectors of the model server's size."""
    make_schema(384)
    session.run_schema(WIPE_QUERY)


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
