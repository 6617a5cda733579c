"""The real model server, asked over HTTP as the library and other clients ask it."""

import base64
import json
import signal
import time
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pytest
import requests
from django.conf import settings
from tokenizers import Tokenizer

from mnemosyne.local import process, stack
from mnemosyne.local.progress import Progress
from mnemosyne.local.state import ModelService

pytestmark = pytest.mark.models

QUERY = "how do generators give control back to the caller"
ABOUT_GENERATORS = (
    "A generator is a function that contains a yield expression. When it is called it returns an iterator. "
    "At every yield the function is suspended, its local state is kept, and the value goes to the caller."
)
ABOUT_BREAD = (
    "Knead the dough for ten minutes, then let it rise in a warm place. "
    "Bake the bread in a hot oven until the crust is brown and sounds hollow."
)
ABOUT_TIDES = "The tides are caused by the gravity of the moon and the sun, and by the turning of the earth."


def post(service: ModelService, path: str, body: object) -> requests.Response:
    return requests.post(f"{service.url}{path}", json=body, timeout=60)


def embed(service: ModelService, content: object, **more: object) -> list[list[float]]:
    answer = post(service, "/v1/embeddings", {"model": service.embedding_model, "input": content, **more})
    assert answer.status_code == 200, answer.text
    return [row["embedding"] for row in answer.json()["data"]]


def rerank(service: ModelService, query: object, documents: list[Any], **more: object) -> dict[str, Any]:
    answer = post(service, "/v1/rerank", {"query": query, "documents": documents, **more})
    assert answer.status_code == 200, answer.text
    content: dict[str, Any] = answer.json()
    return content


def scores(service: ModelService, query: str, documents: list[str]) -> list[float]:
    results = rerank(service, {"text": query}, [{"text": text} for text in documents])["results"]
    return [result["relevance_score"] for result in sorted(results, key=lambda result: result["index"])]


def refusal(service: ModelService, path: str, body: object, status: int) -> str:
    answer = post(service, path, body)
    assert answer.status_code == status, answer.text
    error = answer.json()["error"]
    assert set(error) == {"message", "type"}
    return str(error["message"])


def test_an_embedding_has_length_1_and_the_stated_size(model_service: ModelService) -> None:
    (vector,) = embed(model_service, ABOUT_BREAD)
    assert len(vector) == model_service.dimensions == 384
    assert np.linalg.norm(vector) == pytest.approx(1.0, abs=1e-5)


def test_the_answer_has_openais_shape(model_service: ModelService) -> None:
    answer = post(model_service, "/v1/embeddings", {"model": "bge-small-en-v1.5", "input": ["one", "two words"]}).json()
    assert answer["object"] == "list"
    assert answer["model"] == "bge-small-en-v1.5"
    assert [(row["object"], row["index"]) for row in answer["data"]] == [("embedding", 0), ("embedding", 1)]
    assert answer["usage"] == {"prompt_tokens": 3 + 4, "total_tokens": 3 + 4}  # each with a mark at both ends


def test_base64_carries_the_same_numbers_as_float(model_service: ModelService) -> None:
    (plain,) = embed(model_service, ABOUT_BREAD)
    (coded,) = embed(model_service, ABOUT_BREAD, encoding_format="base64")
    assert isinstance(coded, str)
    assert np.frombuffer(base64.b64decode(coded), dtype="<f4").tolist() == plain


def test_a_text_has_the_same_vector_alone_and_among_others_of_any_length(model_service: ModelService) -> None:
    (alone,) = embed(model_service, ABOUT_BREAD)
    among = embed(model_service, ["short", ABOUT_BREAD, "long " * 600, ABOUT_TIDES])
    assert among[1] == alone


def test_a_text_longer_than_the_model_reads_is_cut_at_512_tokens(model_service: ModelService) -> None:
    beginning = "word " * 510
    (cut,), (whole,) = embed(model_service, beginning + "and more"), embed(model_service, beginning)
    assert cut == whole
    usage = post(model_service, "/v1/embeddings", {"input": "word " * 2000}).json()["usage"]
    assert usage["prompt_tokens"] == 512


def test_texts_of_like_meaning_are_nearer_than_others(model_service: ModelService) -> None:
    query, generators, bread = np.array(
        embed(model_service, [model_service.query_prefix + QUERY, ABOUT_GENERATORS, ABOUT_BREAD])
    )
    assert query @ generators > query @ bread + 0.1


def test_the_tokenizer_that_is_handed_out_counts_as_the_server_does(model_service: ModelService) -> None:
    tokenizer: Any = Tokenizer.from_file(model_service.tokenizer_path)
    usage = post(model_service, "/v1/embeddings", {"input": ABOUT_GENERATORS}).json()["usage"]
    assert len(tokenizer.encode(ABOUT_GENERATORS).ids) == usage["total_tokens"]


@pytest.mark.parametrize(
    ("body", "status", "says"),
    [
        ({"input": ""}, 400, "input[0] is empty"),
        ({"input": []}, 400, "input is empty"),
        ({"input": ["fine", " \n "]}, 400, "input[1] is empty"),
        ({"input": ["x"] * 257}, 413, "257 texts, more than the 256 allowed"),
        ({"input": "x" * 200_001}, 413, "200001 characters"),
        ({"input": "x", "model": "gpt"}, 404, "no model 'gpt' for this route: it serves 'bge-small-en-v1.5'"),
        ({"input": "x", "dimensions": 256}, 400, "384 dimensions, not the 256 asked for"),
        ({"input": "x", "encoding_format": "int8"}, 400, "encoding_format"),
        ({"input": [1, 2, 3]}, 400, "string"),
        ({}, 400, "input"),
        ({"input": {"image": "iVBORw0KGgo="}}, 400, "reads text only"),
        ({"input": [{"text": "a cat", "image": "iVBORw0KGgo="}]}, 400, "reads text only"),
        ({"input": "data:image/png;base64,iVBORw0KGgo="}, 400, "reads text only"),
    ],
)
def test_what_cannot_be_embedded_is_refused_with_the_reason(
    model_service: ModelService, body: object, status: int, says: str
) -> None:
    assert says in refusal(model_service, "/v1/embeddings", body, status)


def test_a_body_that_is_too_large_is_refused(model_service: ModelService) -> None:
    assert "more than the" in refusal(model_service, "/v1/embeddings", {"input": "x" * 17_000_000}, 413)


def test_a_route_that_does_not_exist_answers_in_the_same_shape(model_service: ModelService) -> None:
    assert "Not Found" in refusal(model_service, "/v1/chat", {}, 404)


def test_the_models_and_their_health_are_told(model_service: ModelService) -> None:
    names = [row["id"] for row in requests.get(f"{model_service.url}/v1/models", timeout=10).json()["data"]]
    assert names == [model_service.embedding_model, model_service.reranker_model]
    health = requests.get(f"{model_service.url}/health", timeout=10).json()
    assert health["status"] == "ok"
    assert health["inputs"] == ["text"]


def test_the_passage_that_answers_comes_first(model_service: ModelService) -> None:
    documents = [{"text": ABOUT_BREAD}, {"text": ABOUT_GENERATORS}, {"text": ABOUT_TIDES}]
    answer = rerank(model_service, {"text": QUERY}, documents)
    assert answer["results"][0]["index"] == 1
    assert answer["model"] == model_service.reranker_model
    found = [result["relevance_score"] for result in answer["results"]]
    assert found == sorted(found, reverse=True)
    assert all(0.0 <= value <= 1.0 for value in found)
    assert answer["usage"]["total_tokens"] > 50


def test_plain_strings_score_as_text_objects_do(model_service: ModelService) -> None:
    objects = rerank(model_service, {"text": QUERY}, [{"text": ABOUT_BREAD}, {"text": ABOUT_TIDES}])
    strings = rerank(model_service, QUERY, [ABOUT_BREAD, ABOUT_TIDES])
    assert strings["results"] == objects["results"]


def test_top_n_keeps_the_best(model_service: ModelService) -> None:
    documents = [ABOUT_BREAD, ABOUT_GENERATORS, ABOUT_TIDES]
    every = rerank(model_service, QUERY, documents)["results"]
    assert rerank(model_service, QUERY, documents, top_n=2)["results"] == every[:2]
    assert rerank(model_service, QUERY, documents, top_n=10)["results"] == every


def test_a_passages_score_does_not_depend_on_its_neighbours_or_on_the_cache(model_service: ModelService) -> None:
    text = ABOUT_TIDES + f" Measured at {time.time_ns()}."  # a text that the cache has not seen
    first = scores(model_service, QUERY, [ABOUT_BREAD, text])[1]
    assert scores(model_service, QUERY, [text, ABOUT_GENERATORS, text])[0::2] == [first, first]


def test_the_whole_passage_is_read_however_long_it_is(model_service: ModelService) -> None:
    filler = ABOUT_BREAD + " "
    long = filler * 60
    without, late = scores(model_service, QUERY, [long, long + ABOUT_GENERATORS])
    assert late > without + 0.1


def test_the_instruction_is_echoed_and_said_to_have_no_effect(model_service: ModelService) -> None:
    documents = [ABOUT_BREAD, ABOUT_GENERATORS]
    plain = rerank(model_service, QUERY, documents)
    instructed = rerank(model_service, QUERY, documents, instruction="Prefer recipes.")
    assert instructed["instruction"] == "Prefer recipes."
    assert "no effect" in instructed["instruction_note"]
    assert instructed["results"] == plain["results"]


@pytest.mark.parametrize(
    ("body", "status", "says"),
    [
        ({"query": {"text": "q", "image": "iVBORw0KGgo="}, "documents": ["d"]}, 400, "query has an image"),
        ({"query": "q", "documents": ["d", {"image": "iVBORw0KGgo="}]}, 400, "documents[1] has an image"),
        ({"query": "", "documents": ["d"]}, 400, "query is empty"),
        ({"query": "q", "documents": []}, 400, "documents is empty"),
        ({"query": "q", "documents": ["d", {"text": ""}]}, 400, "documents[1] is empty"),
        ({"query": "q", "documents": ["d"] * 257}, 413, "257 texts"),
        ({"query": "q", "documents": ["d"], "top_n": 0}, 400, "top_n"),
        ({"query": "q", "documents": ["d"], "model": "gpt"}, 404, "late-interaction"),
        ({"documents": ["d"]}, 400, "query"),
    ],
)
def test_what_cannot_be_ranked_is_refused_with_the_reason(
    model_service: ModelService, body: object, status: int, says: str
) -> None:
    assert says in refusal(model_service, "/v1/rerank", body, status)


def test_the_server_starts_once_and_is_started_anew_after_it_was_killed(tmp_path: Path) -> None:
    quiet = Progress(quiet=True)

    def start() -> ModelService:
        services = stack.start(tmp_path, settings.MNEMOSYNE_CACHE_DIR, neo4j=False, progress=quiet)
        assert services.models is not None
        return services.models

    try:
        first = start()
        assert start() == first
        assert json.loads((tmp_path / "services.json").read_text())["models"]["url"] == first.url
        psutil.Process(first.pid).send_signal(signal.SIGKILL)
        while process.is_ours(first.pid, f"--state={tmp_path}"):
            time.sleep(0.01)
        assert start().pid != first.pid
    finally:
        assert stack.stop(tmp_path, quiet) == ["model server"]
    assert process.marked(f"--state={tmp_path}") == []
