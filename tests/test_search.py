"""The search as a whole, against a real Neo4j."""

import json
import time
from collections.abc import Iterator
from typing import Any

import pytest
import requests
import responses

from library.exceptions import EmbeddingUnavailable, InvalidRequest, SearchUnavailable
from library.models import LLMUsage
from library.services.requests import build_request
from library.services.retrieval import RETRIEVERS
from library.services.retrievers.base import RetrievalQuery
from library.services.search import SearchService
from library.services.types import Scope, SearchCandidate, SearchRequest, SearchResponse
from tests.builder import Place, chunk_uid, relate, settle, unit, write
from tests.fakes import EMBEDDINGS_URL, RERANK_URL, fake_models, record_models

pytestmark = [pytest.mark.neo4j, pytest.mark.django_db]


@pytest.fixture
def workshop(graph: None) -> Place:
    """Ten items: vectors ever farther from the query's, words and concepts that lead to some of them only."""
    place = Place("workshop")
    for number in range(8):
        place.item(f"Note {number}", [f"Plain words about subject {number}."], [unit(1.0, number / 4)])
    lathe = place.item("Lathe manual", ["The lathe turns at a set feed."], [unit(0.0, 1.0)])
    remote = place.item("Remote", ["Nothing of the query stands here."], [unit(0.0, 0.0, 1.0)])
    place.concept("Lathe", {chunk_uid(lathe): 1.0})
    place.concept("Swarf", {chunk_uid(remote): 1.0})
    relate("Lathe", "Swarf", 0.9)
    settle()
    return place


@pytest.fixture
def models(db: None) -> Iterator[responses.RequestsMock]:
    record_models()
    with fake_models(unit(1.0)) as mock:
        yield mock


def search(query: str, **given: Any) -> SearchResponse:
    """By reciprocal rank fusion, whose numbers can be worked out by hand."""
    return SearchService().search(build_request(query, **{"fusion": "rrf", **given}))


def titles(response: SearchResponse) -> list[str]:
    return [candidate.item_title for candidate in response.candidates]


def test_a_hybrid_search_fuses_all_legs(workshop: Place, models: responses.RequestsMock) -> None:
    response = search("lathe", vector_top_k=5)
    assert set(titles(response)) == {"Note 0", "Note 1", "Note 2", "Note 3", "Note 4", "Lathe manual", "Remote"}
    assert titles(response)[0] == "Lathe manual"
    best = response.candidates[0]
    assert best.score_breakdown["lexical_rank"] == best.score_breakdown["graph_rank"] == 1
    assert best.score_breakdown["semantic_rank"] is None
    assert best.score == pytest.approx(2 / 61)
    assert best.score_breakdown["graph_path"] == ["Lathe", "MENTIONS"]
    assert [candidate.rank for candidate in response.candidates] == list(range(1, 8))
    assert response.total_candidates == 5 + 1 + 2
    assert response.search_types_used == ["vector", "fulltext", "graph"]
    assert {name: report.status for name, report in response.legs.items()} == {
        "vector": "ok",
        "fulltext": "ok",
        "graph": "ok",
        "image": "empty",
        "rerank": "skipped",
    }
    assert not response.degraded
    assert not response.reranker_used


def test_a_hit_by_related_concepts_is_lost_without_the_graph_leg(
    workshop: Place, models: responses.RequestsMock
) -> None:
    with_graph = search("lathe", vector_top_k=5)
    remote = next(candidate for candidate in with_graph.candidates if candidate.item_title == "Remote")
    assert remote.source == "graph"
    assert remote.score_breakdown["graph_path"] == ["Lathe", "Swarf", "MENTIONS"]
    without = search("lathe", vector_top_k=5, search_types=["vector", "fulltext"])
    assert "Remote" not in titles(without)
    assert without.legs["graph"].status == "skipped"
    assert "Remote" not in titles(search("lathe", vector_top_k=5, graph_max_depth=0))


def test_images_come_by_vector_and_by_concept(workshop: Place, models: responses.RequestsMock) -> None:
    item = workshop.item("Album")
    workshop.concept("Lathe")
    near = workshop.image(item, "near by vector", unit(1.0))
    depicted = workshop.image(item, "depicts a lathe", None, depicts=["Lathe"])
    settle()
    found = {image.image_uid: image.source for image in search("lathe").images}
    assert found == {near: "vector", depicted: "graph"}
    assert search("lathe", include_images=False).images == []


def test_scope_to_a_collection_gives_its_nearest_and_nothing_else(graph: None, models: responses.RequestsMock) -> None:
    notes, reports = Place("desk", collection="notes"), Place("desk", collection="reports")
    for number in range(10):
        notes.item(f"note {number}", [f"turbine {number}"], [unit(1.0, number / 100)])
        reports.item(f"report {number}", [f"turbine {number}"], [unit(1.0, 1 + number / 10)])
    settle()
    for strategy in ("semantic", "hybrid"):
        response = search("turbine", collection_uid=reports.collection_uid, limit=5, strategy=strategy)
        assert len(response.candidates) == 5
        assert all(title.startswith("report") for title in titles(response))
    semantic = search("turbine", collection_uid=reports.collection_uid, limit=5, strategy="semantic")
    assert titles(semantic) == [f"report {number}" for number in range(5)]


def test_allowed_libraries_bound_every_leg(workshop: Place, models: responses.RequestsMock) -> None:
    other = Place("other", "music")
    other.item("Lathe song", ["A song of the lathe."], [unit(1.0)])
    settle()
    request = build_request("lathe", allowed_library_uids=frozenset({other.library_uid}))
    assert titles(SearchService().search(request)) == ["Lathe song"]
    nothing = SearchService().search(build_request("lathe", allowed_library_uids=frozenset()))
    assert nothing.candidates == []
    assert not nothing.degraded
    hidden = build_request(
        "lathe", library_uid=workshop.library_uid, allowed_library_uids=frozenset({other.library_uid})
    )
    assert SearchService().search(hidden).candidates == []


class Slow:
    """A retriever that takes its time before it asks the real one."""

    def __init__(self, name: str, seconds: float) -> None:
        self._name = name
        self._seconds = seconds

    def retrieve(self, query: RetrievalQuery, scope: Scope, timeout: float) -> list[Any]:
        time.sleep(self._seconds)
        return RETRIEVERS[self._name].retrieve(query, scope, timeout)


def test_legs_run_side_by_side(workshop: Place, models: responses.RequestsMock) -> None:
    search("lathe")
    service = SearchService({**RETRIEVERS, **{leg: Slow(leg, 0.3) for leg in ("vector", "fulltext", "graph")}})
    started = time.perf_counter()
    response = service.search(build_request("lathe", include_images=False))
    assert time.perf_counter() - started < 0.5
    assert all(response.legs[leg].time_ms >= 300 for leg in ("vector", "fulltext", "graph"))


def test_a_leg_beyond_its_budget_costs_its_own_hits_only(
    workshop: Place, models: responses.RequestsMock, settings: Any
) -> None:
    search("lathe")
    settings.SEARCH_LEG_TIMEOUT = 0.5
    service = SearchService({**RETRIEVERS, "vector": Slow("vector", 2.0)})
    started = time.perf_counter()
    response = service.search(build_request("lathe"))
    assert time.perf_counter() - started < 1.5
    assert response.legs["vector"].status == "timeout"
    assert response.degraded
    assert any(warning.startswith("vector:") for warning in response.warnings)
    assert titles(response)[0] == "Lathe manual"


def test_a_defect_in_a_leg_is_shown_and_logged(
    workshop: Place, models: responses.RequestsMock, caplog: pytest.LogCaptureFixture
) -> None:
    class Broken:
        def retrieve(self, query: RetrievalQuery, scope: Scope, timeout: float) -> list[SearchCandidate]:
            raise RuntimeError("secret detail")

    response = SearchService({**RETRIEVERS, "graph": Broken()}).search(build_request("lathe"))
    assert response.legs["graph"].status == "error"
    assert "secret" not in response.legs["graph"].reason
    assert "secret detail" in caplog.text


def test_no_embedding_leaves_full_text_and_graph(workshop: Place, db: None) -> None:
    record_models()
    with responses.RequestsMock() as mock:
        mock.add("POST", EMBEDDINGS_URL, body=requests.ConnectionError("refused"))
        response = search("lathe")
    assert titles(response)[0] == "Lathe manual"
    assert response.legs["vector"].status == "skipped"
    assert "cannot be reached" in response.legs["vector"].reason
    assert response.legs["fulltext"].status == response.legs["graph"].status == "ok"
    assert response.degraded


def test_a_short_vector_degrades_and_a_vector_search_says_503(workshop: Place, db: None) -> None:
    record_models()
    with fake_models([0.1, 0.2, 0.3]):
        response = search("lathe")
        assert response.degraded
        assert "3 dimensions, the index has 384" in response.legs["vector"].reason
        assert titles(response)[0] == "Lathe manual"
        with pytest.raises(EmbeddingUnavailable, match="setup_models"):
            search("lathe", strategy="semantic")


def test_no_model_at_all_is_said(workshop: Place, db: None) -> None:
    response = search("lathe")
    assert "setup_models" in response.legs["vector"].reason
    assert response.legs["rerank"].reason == "no reranker is configured"


def test_no_leg_at_all_is_an_error(
    neo4j: None, models: responses.RequestsMock, settings: Any, unused_port: int
) -> None:
    settings.NEO4J_URL = f"bolt://127.0.0.1:{unused_port}"
    with pytest.raises(SearchUnavailable, match="Neo4j"):
        search("lathe")


@pytest.mark.parametrize(
    "fault",
    [
        {"body": requests.ConnectionError("refused")},
        {"body": requests.ReadTimeout("30 s")},
        {"status": 503, "json": {"detail": "loading"}},
        {"status": 429, "json": {}},
        {"body": "<html><head><title>504</title></head></html>"},
        {"json": {"error": "overloaded"}},
        {"body": '{"results": [{"index": 0, "relevance_sc'},
        {"json": {"results": []}},
        {"json": {"results": [{"index": 99, "relevance_score": 0.9}]}},
    ],
)
def test_a_failing_reranker_keeps_the_fused_order(workshop: Place, db: None, fault: dict[str, Any]) -> None:
    record_models(reranker=True)
    with fake_models(unit(1.0), fault):
        response = search("lathe", limit=5)
        fused = search("lathe", limit=5, rerank=False)
    assert titles(response) == titles(fused)
    assert len(response.candidates) == 5
    assert not response.reranker_used
    assert response.reranker_model is None
    assert response.degraded
    assert response.legs["rerank"].status in ("error", "timeout")
    assert len([warning for warning in response.warnings if warning.startswith("rerank:")]) == 1


def test_reranking_sorts_and_shows_old_and_new_rank(workshop: Place, db: None) -> None:
    record_models(reranker=True)
    results = [{"index": 2, "relevance_score": 0.9}, {"index": 0, "relevance_score": 0.2}]
    with fake_models(unit(1.0), {"json": {"results": results}}) as mock:
        response = search("lathe", limit=5)
        fused = search("lathe", limit=5, rerank=False)
        sent = [call.request for call in mock.calls if call.request.url == RERANK_URL]
    assert len(sent) == 1
    assert b"documentation" in (sent[0].body or b"")
    assert titles(response)[:3] == [titles(fused)[2], titles(fused)[0], titles(fused)[1]]
    best = response.candidates[0].score_breakdown
    assert (best["fused_rank"], best["rerank_rank"], best["rerank_score"]) == (3, 1, 0.9)
    assert response.candidates[0].score == 0.9
    assert response.reranker_model == "fake-reranker"
    assert {row.purpose: row.status for row in LLMUsage.objects.all()} == {
        "embedding": "success",
        "reranking": "success",
    }


def test_the_library_s_own_instruction_stands_before_the_query(workshop: Place, models: responses.RequestsMock) -> None:
    write("MATCH (l:Library {uid: $uid}) SET l.embedding_instruction = 'Own: '", uid=workshop.library_uid)
    search("lathe", library_uid=workshop.library_uid)
    search("lathe")
    bodies = [call.request.body for call in models.calls]
    assert b'"Own: lathe"' in (bodies[0] or b"")
    assert b'"Represent this sentence for searching relevant passages: lathe"' in (bodies[1] or b"")


def test_pages_never_overlap(workshop: Place, models: responses.RequestsMock) -> None:
    whole = titles(search("lathe subject", limit=10))
    pages = [titles(search("lathe subject", limit=3, offset=offset)) for offset in (0, 3, 6, 9)]
    assert [title for page in pages for title in page] == whole
    assert [c.rank for c in search("lathe subject", limit=3, offset=3).candidates] == [4, 5, 6]


def test_a_query_of_stop_words_is_looked_up_in_the_texts(workshop: Place, models: responses.RequestsMock) -> None:
    workshop.item("The Of", ["Nothing."])
    assert titles(search("the of", strategy="lexical")) == ["The Of", "Remote"]
    assert set(titles(search("THE", strategy="lexical"))) == {"The Of", "Lathe manual", "Remote"}
    assert search("into", strategy="lexical").candidates == []


@pytest.mark.parametrize("query", ["😀", "!!!", "-"])
def test_text_without_a_word_is_no_error(workshop: Place, models: responses.RequestsMock, query: str) -> None:
    assert search(query, strategy="lexical").candidates == []
    assert search(query).legs["fulltext"].status == "empty"


@pytest.mark.parametrize(
    ("given", "field"),
    [
        ({"query": ""}, "query"),
        ({"query": "   "}, "query"),
        ({"limit": 0}, "limit"),
        ({"limit": 10**9}, "limit"),
        ({"offset": -1}, "offset"),
        ({"strategy": "best"}, "strategy"),
        ({"fusion": "sum"}, "fusion"),
        ({"search_types": []}, "search_types"),
        ({"search_types": ["sql"]}, "search_types"),
        ({"library_type": "secret"}, "library_type"),
        ({"graph_max_depth": 99}, "graph_max_depth"),
    ],
)
def test_bad_parameters_name_their_field(given: dict[str, Any], field: str) -> None:
    with pytest.raises(InvalidRequest) as caught:
        SearchRequest(**{"query": "x", **given})
    assert caught.value.field == field


class TestSettings:
    """Each of the seven settings of the contract changes what a search does."""

    def test_search_vector_top_k(self, workshop: Place, models: responses.RequestsMock, settings: Any) -> None:
        settings.SEARCH_VECTOR_TOP_K = 3
        assert search("lathe").legs["vector"].count == 3

    def test_search_fulltext_top_k(self, workshop: Place, models: responses.RequestsMock, settings: Any) -> None:
        settings.SEARCH_FULLTEXT_TOP_K = 2
        assert search("subject").legs["fulltext"].count == 2

    def test_search_graph_max_depth(self, workshop: Place, models: responses.RequestsMock, settings: Any) -> None:
        counts = []
        for depth in (0, 1):
            settings.SEARCH_GRAPH_MAX_DEPTH = depth
            counts.append(search("lathe").legs["graph"].count)
        assert counts == [1, 2]

    def test_search_rrf_k(self, workshop: Place, models: responses.RequestsMock, settings: Any) -> None:
        settings.SEARCH_RRF_K = 9
        assert search("lathe", strategy="lexical").candidates[0].score == pytest.approx(1 / 10)

    def test_search_default_limit(self, workshop: Place, models: responses.RequestsMock, settings: Any) -> None:
        settings.SEARCH_DEFAULT_LIMIT = 4
        assert len(search("lathe").candidates) == 4

    def test_reranker_max_candidates(self, workshop: Place, db: None, settings: Any) -> None:
        settings.RERANKER_MAX_CANDIDATES = 3
        record_models(reranker=True)
        with fake_models(unit(1.0), {"json": {"results": [{"index": 2, "relevance_score": 0.9}]}}) as mock:
            response = search("lathe")
            sent = next(call.request for call in mock.calls if call.request.url == RERANK_URL)
        assert len(json.loads(sent.body or "")["documents"]) == 3
        assert response.legs["rerank"].count == 3

    def test_reranker_timeout(self, workshop: Place, db: None, settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
        settings.RERANKER_TIMEOUT = 0.25
        record_models(reranker=True)
        seen: list[float] = []

        def post(session: Any, url: str, *, timeout: tuple[float, float], **given: Any) -> requests.Response:
            if url == RERANK_URL:
                seen.append(timeout[1])
                raise requests.ReadTimeout
            return real(session, url, timeout=timeout, **given)

        real = requests.Session.post
        with fake_models(unit(1.0)):
            monkeypatch.setattr(requests.Session, "post", post)
            response = search("lathe")
        assert response.legs["rerank"].status == "timeout"
        assert len(seen) == 1
        assert 0 < seen[0] <= 0.25
