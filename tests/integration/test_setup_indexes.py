"""`setup_neo4j_indexes`: made once, checked against the model, rebuilt on demand only."""

import json
from io import StringIO

import pytest
from django.core.management import CommandError, call_command

from library.conf import index_config
from library.exceptions import SchemaMismatch
from library.graph import schema
from library.models import AIModel, ModelAPI

pytestmark = [pytest.mark.neo4j, pytest.mark.django_db]
INDEXES = {
    "chunk_embedding_index",
    "image_embedding_index",
    "chunk_text_fulltext",
    "concept_name_fulltext",
    "item_title_fulltext",
}


def model(dimensions: int) -> AIModel:
    api = ModelAPI.objects.create(name="test", base_url="http://models.test")
    return AIModel.objects.create(api=api, name="m", role="embedding", is_system=True, dimensions=dimensions)


def run(*arguments: str) -> str:
    output = StringIO()
    call_command("setup_neo4j_indexes", *arguments, stdout=output)
    return output.getvalue()


@pytest.mark.usefixtures("empty_neo4j")
def test_everything_is_made_once_and_is_online() -> None:
    model(384)
    first = json.loads(run("--json"))
    assert {step["outcome"] for step in first["steps"]} == {"created"}
    assert {step["name"] for step in first["steps"]} >= INDEXES
    states = schema.existing_indexes()
    assert {states[name]["state"] for name in INDEXES} == {"ONLINE"}
    assert schema.index_dimensions() == {"chunk_embedding_index": 384, "image_embedding_index": 384}
    second = json.loads(run("--json"))
    assert {step["outcome"] for step in second["steps"]} == {"present"}
    assert len(second["steps"]) == 17


@pytest.mark.usefixtures("empty_neo4j")
def test_other_dimensions_are_refused_with_both_numbers_until_told_to_rebuild() -> None:
    record = model(384)
    run()
    record.dimensions = 8
    record.save()
    with pytest.raises(CommandError) as caught:
        run()
    assert caught.value.returncode == 1
    assert "chunk_embedding_index has 384 dimensions, the embedding model gives 8" in str(caught.value)
    assert "--rebuild" in str(caught.value)
    with pytest.raises(SchemaMismatch):
        schema.ensure(8, index_config())
    assert schema.index_dimensions()["chunk_embedding_index"] == 384
    output = run("--rebuild")
    assert "rebuilt vector index chunk_embedding_index" in output
    assert schema.index_dimensions() == {"chunk_embedding_index": 8, "image_embedding_index": 8}


@pytest.mark.usefixtures("neo4j")
def test_without_a_model_the_command_says_what_to_run() -> None:
    with pytest.raises(CommandError, match="setup_models"):
        run()


@pytest.mark.usefixtures("empty_neo4j")
def test_ensure_makes_what_is_missing() -> None:
    schema.ensure(384, index_config())
    assert schema.existing_indexes().keys() >= INDEXES
