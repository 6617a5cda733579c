"""The embedding client against every answer that services are known to give; only the far end is faked."""

import json
from typing import Any

import pytest
import responses
from requests import PreparedRequest

from library.exceptions import ModelError, ModelRefused
from library.models import AIModel, ModelAPI
from library.services.embeddings import EmbeddingClient
from library.services.usage import UsageRecord
from tests.shared import case_file

URL = "http://synesis.test/v1/embeddings"


def answer(name: str) -> Any:
    return json.loads(case_file("fake_embeddings.json").read_text())[name]


def make_client(dimensions: int, usage: list[UsageRecord], max_batch: int = 32) -> EmbeddingClient:
    api = ModelAPI(name="fake", base_url="http://synesis.test/v1")
    model = AIModel(pk=1, api=api, name="bge", role="embedding", dimensions=dimensions, max_batch=max_batch)
    return EmbeddingClient(model, usage.append)


@pytest.fixture
def usage() -> list[UsageRecord]:
    return []


@responses.activate
@pytest.mark.parametrize("case", ["out_of_order", "no_index"])
def test_each_input_gets_its_own_vector(case: str, usage: list[UsageRecord]) -> None:
    responses.post(URL, json=answer(case))
    vectors = make_client(4, usage).embed_passages(["a", "b", "c"])
    assert vectors == [[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0]]


@responses.activate
@pytest.mark.parametrize("case", ["two_for_three", "same_index_twice", "empty_data", "error_in_200"])
def test_a_wrong_number_of_vectors_is_an_error(case: str, usage: list[UsageRecord]) -> None:
    responses.post(URL, json=answer(case))
    with pytest.raises(ModelError):
        make_client(4, usage).embed_passages(["a", "b", "c"])


@responses.activate
@pytest.mark.parametrize("case", ["zero", "null_item", "null_vector"])
def test_a_vector_that_is_none_is_an_error(case: str, usage: list[UsageRecord]) -> None:
    responses.post(URL, json=answer(case))
    with pytest.raises(ModelError):
        make_client(8, usage).embed_query("a", "")
    assert [record.status for record in usage] == ["error"]


@responses.activate
def test_a_wrong_size_names_both_numbers(usage: list[UsageRecord]) -> None:
    responses.post(URL, json=answer("dim_short"))
    with pytest.raises(ModelError, match="3 dimensions, the index has 8"):
        make_client(8, usage).embed_query("a", "")


@responses.activate
def test_base64_is_read(usage: list[UsageRecord]) -> None:
    responses.post(URL, json=answer("base64"))
    assert make_client(4, usage).embed_query("a", "") == [1.0, -0.5, 0.25, 0.0]


@responses.activate
def test_the_instruction_stands_before_the_query(usage: list[UsageRecord]) -> None:
    responses.post(URL, json=answer("base64"))
    make_client(4, usage).embed_query("lathe", "Find: ")
    body = json.loads(responses.calls[0].request.body or "")
    assert body == {"model": "bge", "input": ["Find: lathe"], "encoding_format": "float"}


def limited(limit: int, sizes: list[int], poison: str = "") -> Any:
    """A service that takes at most `limit` inputs and refuses any batch that holds `poison`."""

    def answer_to(request: PreparedRequest) -> tuple[int, dict[str, str], str]:
        texts = json.loads(request.body or "")["input"]
        if len(texts) > limit or poison in texts:
            return 413, {}, "{}"
        sizes.append(len(texts))
        data = [{"index": n, "embedding": [float(text), 1.0]} for n, text in enumerate(texts)]
        return 200, {}, json.dumps({"data": data})

    return answer_to


@responses.activate
@pytest.mark.parametrize(("max_batch", "largest"), [(32, 32), (100, 25)])
def test_batches_are_held_to_the_limit_or_halved(
    max_batch: int, largest: int, usage: list[UsageRecord], settings: Any
) -> None:
    settings.EMBEDDING_BATCH_SIZE = 100
    sizes: list[int] = []
    responses.add_callback("POST", URL, limited(32, sizes))
    vectors = make_client(2, usage, max_batch=max_batch).embed_passages([str(n) for n in range(100)])
    assert [vector[0] for vector in vectors] == [float(n) for n in range(100)]
    assert max(sizes) == largest


@responses.activate
def test_one_text_refused_alone_is_an_error(usage: list[UsageRecord]) -> None:
    responses.add_callback("POST", URL, limited(32, [], poison="7"))
    with pytest.raises(ModelRefused):
        make_client(2, usage).embed_passages([str(n) for n in range(10)])
