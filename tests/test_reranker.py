"""The reranker client against every answer that services are known to give; only the far end is faked."""

import json
from typing import Any

import pytest
import requests
import responses

from library.exceptions import ModelError, ModelRefused, ModelTimeout, ModelUnavailable, NotConfigured
from library.models import AIModel, ModelAPI
from library.services.reranker import RerankerClient
from library.services.types import SearchCandidate
from library.services.usage import UsageRecord
from tests.shared import case_file

URL = "http://synesis.test/v1/rerank"


def answer(name: str) -> Any:
    return json.loads(case_file("fake_rerank.json").read_text())[name]


def candidates(count: int) -> list[SearchCandidate]:
    return [
        SearchCandidate(
            chunk_uid=f"d{n}", item_title=f"Title {n}", text=f"t{n}", text_preview="cut", score=1 / (60 + n)
        )
        for n in range(count)
    ]


@pytest.fixture
def usage() -> list[UsageRecord]:
    return []


@pytest.fixture
def client(usage: list[UsageRecord]) -> RerankerClient:
    api = ModelAPI(name="fake", api_type="synesis", base_url="http://synesis.test", api_key="secret")
    return RerankerClient(AIModel(pk=1, api=api, name="qwen", role="reranker"), usage.append)


def order(found: list[SearchCandidate]) -> list[str]:
    return [candidate.chunk_uid for candidate in found]


@responses.activate
def test_what_is_sent_is_title_and_whole_text_under_the_instruction(client: RerankerClient) -> None:
    responses.post(URL, json=answer("unsorted"))
    client.rerank("how to", candidates(4), instruction="Find manuals.", top_n=3)
    request = responses.calls[0].request
    assert request.headers["Authorization"] == "Bearer secret"
    assert json.loads(request.body or "") == {
        "model": "qwen",
        "query": {"text": "how to"},
        "documents": [{"text": f"Title {n}\nt{n}"} for n in range(4)],
        "instruction": "Find manuals.",
        "top_n": 4,
    }


@responses.activate
@pytest.mark.parametrize(
    ("case", "count", "expected"),
    [
        ("top2_of_4_sorted", 4, ["d3", "d1", "d0", "d2"]),
        ("unsorted", 4, ["d2", "d3", "d1", "d0"]),
        ("document_null", 3, ["d2", "d0", "d1"]),
        ("document_string", 3, ["d2", "d0", "d1"]),
        ("document_object", 3, ["d2", "d0", "d1"]),
        ("key_score", 3, ["d2", "d0", "d1"]),
        ("bare_list", 3, ["d2", "d0", "d1"]),
        ("key_data", 3, ["d2", "d0", "d1"]),
        ("logits", 3, ["d1", "d0", "d2"]),
        ("all_equal", 3, ["d0", "d1", "d2"]),
    ],
)
def test_answers_that_can_be_used(client: RerankerClient, case: str, count: int, expected: list[str]) -> None:
    responses.post(URL, json=answer(case))
    found = client.rerank("q", candidates(count))
    assert order(found) == expected
    assert {candidate.text for candidate in found} == {f"t{n}" for n in range(count)}


@responses.activate
@pytest.mark.parametrize(
    "case", ["index_too_big", "index_minus_one", "index_repeated", "index_string", "score_null", "empty_results"]
)
def test_answers_that_cannot_be_trusted(client: RerankerClient, case: str, usage: list[UsageRecord]) -> None:
    responses.post(URL, json=answer(case))
    with pytest.raises(ModelError):
        client.rerank("q", candidates(4))
    assert [(record.purpose, record.status) for record in usage] == [("reranking", "error")]


@responses.activate
@pytest.mark.parametrize(
    ("fault", "error"),
    [
        ({"body": requests.ConnectionError("refused")}, ModelUnavailable),
        ({"body": requests.ReadTimeout("30 s")}, ModelTimeout),
        ({"status": 503, "json": {"detail": "loading"}}, ModelUnavailable),
        ({"status": 429, "json": {}}, ModelUnavailable),
        ({"status": 200, "json": {"error": "overloaded"}}, ModelUnavailable),
        ({"status": 200, "body": '{"results": [{"index": 0, "relev'}, ModelError),
        ({"status": 200, "body": "<html><h1>Gateway timed out</h1></html>"}, ModelError),
        ({"status": 302, "headers": {"Location": "http://elsewhere.test/"}}, ModelRefused),
    ],
)
def test_a_failing_service_is_one_family_of_errors(
    client: RerankerClient, fault: dict[str, Any], error: type[ModelError]
) -> None:
    responses.post(URL, **fault)
    with pytest.raises(error):
        client.rerank("q", candidates(2))


@responses.activate
def test_a_refused_key_is_logged_as_an_error(client: RerankerClient, caplog: pytest.LogCaptureFixture) -> None:
    responses.post(URL, status=401, json={"error": {"message": "bad key"}})
    with pytest.raises(ModelRefused):
        client.rerank("q", candidates(2))
    assert [record.levelname for record in caplog.records] == ["ERROR"]
    assert "secret" not in caplog.text


@responses.activate
def test_a_busy_service_is_asked_again_after_retry_after(client: RerankerClient) -> None:
    responses.post(URL, status=503, headers={"Retry-After": "0"})
    responses.post(URL, json=answer("unsorted"))
    assert order(client.rerank("q", candidates(4))) == ["d2", "d3", "d1", "d0"]


@responses.activate
def test_a_retry_after_beyond_the_timeout_is_not_waited_for(client: RerankerClient) -> None:
    responses.post(URL, status=503, headers={"Retry-After": "3600"})
    with pytest.raises(ModelUnavailable):
        client.rerank("q", candidates(4))
    assert len(responses.calls) == 1


@responses.activate
def test_nothing_to_rank_calls_nothing(client: RerankerClient) -> None:
    assert client.rerank("q", []) == []
    assert len(responses.calls) == 0


@responses.activate
def test_usage_counts_documents_and_tokens(client: RerankerClient, usage: list[UsageRecord]) -> None:
    responses.post(URL, json={**answer("unsorted"), "usage": {"total_tokens": 42}})
    client.rerank("q", candidates(4))
    assert [(record.status, record.inputs, record.tokens) for record in usage] == [("success", 4, 42)]


@responses.activate
def test_scored_candidates_carry_their_score(client: RerankerClient) -> None:
    responses.post(URL, json=answer("top2_of_4_sorted"))
    found = client.rerank("q", candidates(4))
    assert [candidate.score_breakdown.get("rerank_score") for candidate in found] == [0.9, 0.4, None, None]
    assert found[2].score == pytest.approx(1 / 60)


def client_of(api_type: str, usage: list[UsageRecord], **given: Any) -> RerankerClient:
    api = ModelAPI(name="fake", api_type=api_type, base_url="http://synesis.test")
    return RerankerClient(AIModel(pk=1, api=api, name="m", role="reranker", **given), usage.append)


@responses.activate
def test_cohere_s_shape(usage: list[UsageRecord]) -> None:
    billed = {"results": [{"index": 1, "relevance_score": 0.98}], "meta": {"tokens": {"input_tokens": 11}}}
    responses.post(URL, json=billed)
    found = client_of("cohere", usage).rerank("q", candidates(2), instruction="Find manuals.")
    assert order(found) == ["d1", "d0"]
    assert json.loads(responses.calls[0].request.body or "") == {
        "model": "m",
        "query": "q",
        "documents": ["Title 0\nt0", "Title 1\nt1"],
        "top_n": 2,
        "return_documents": False,
    }
    assert usage[0].tokens == 11


@responses.activate
def test_tei_s_shape(usage: list[UsageRecord]) -> None:
    responses.post("http://synesis.test/rerank", json=[{"index": 1, "score": 0.7}, {"index": 0, "score": 0.2}])
    assert order(client_of("tei", usage).rerank("q", candidates(2))) == ["d1", "d0"]
    assert json.loads(responses.calls[0].request.body or "") == {
        "query": "q",
        "texts": ["Title 0\nt0", "Title 1\nt1"],
        "raw_scores": False,
        "truncate": True,
    }


def test_a_protocol_that_does_not_exist_names_those_that_do(usage: list[UsageRecord]) -> None:
    with pytest.raises(NotConfigured, match="synesis, cohere, tei"):
        client_of("grpc", usage)


@responses.activate
def test_a_picture_is_sent_where_the_model_takes_one(usage: list[UsageRecord]) -> None:
    responses.post(URL, json={"results": [{"index": 0, "relevance_score": 0.5}]})
    client_of("synesis", usage, supports_images=True).rerank("q", candidates(1), query_image=b"png")
    assert json.loads(responses.calls[0].request.body or "")["query"] == {"text": "q", "image": "cG5n"}
    for refusing in (client_of("synesis", usage), client_of("cohere", usage, supports_images=True)):
        with pytest.raises(ModelError, match="takes no images"):
            refusing.rerank("q", candidates(1), query_image=b"png")
    assert len(responses.calls) == 1


def scoring(limit: int, sizes: list[int]) -> Any:
    """A service that takes at most `limit` documents and scores each by the number in its text."""

    def answer_to(request: requests.PreparedRequest) -> tuple[int, dict[str, str], str]:
        texts = [document["text"] for document in json.loads(request.body or "")["documents"]]
        if len(texts) > limit:
            return 413, {}, "{}"
        sizes.append(len(texts))
        results = [{"index": n, "relevance_score": float(text.rpartition("t")[2])} for n, text in enumerate(texts)]
        return 200, {}, json.dumps({"results": results})

    return answer_to


@responses.activate
@pytest.mark.parametrize(("max_batch", "largest"), [(32, 32), (100, 25)])
def test_batches_keep_global_positions(usage: list[UsageRecord], max_batch: int, largest: int) -> None:
    sizes: list[int] = []
    responses.add_callback("POST", URL, scoring(32, sizes))
    found = client_of("synesis", usage, max_batch=max_batch).rerank("q", candidates(100))
    assert order(found) == [f"d{n}" for n in reversed(range(100))]
    assert max(sizes) == largest


@responses.activate
def test_a_document_is_cut_to_the_model_s_length(usage: list[UsageRecord]) -> None:
    responses.post(URL, json={"results": [{"index": 0, "relevance_score": 0.5}]})
    long = SearchCandidate(chunk_uid="d0", text="x" * 10_000)
    client_of("synesis", usage, max_tokens=100).rerank("q", [long])
    assert json.loads(responses.calls[0].request.body or "")["documents"] == [{"text": "x" * 400}]


@responses.activate
def test_a_service_that_hangs_costs_one_timeout(client: RerankerClient) -> None:
    responses.post(URL, body=requests.ReadTimeout("30 s"))
    with pytest.raises(ModelTimeout):
        client.rerank("q", candidates(2))
    with pytest.raises(ModelUnavailable, match="left alone"):
        client.rerank("q", candidates(2))
    assert len(responses.calls) == 1
