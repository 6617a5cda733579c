"""The REST API over the real Neo4j; without a model service, so that what is found is found by words and concepts."""

import json
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from library.api.serializers import SearchInput
from library.services.search import SearchService
from library.services.types import LegReport, SearchCandidate, SearchRequest, SearchResponse
from tests.api_client import CONCEPTS, SEARCH, post, token_client
from tests.builder import Place, chunk_uid, hex_uid, settle

RESPONSE_FIELDS = {
    *("query", "candidates", "images", "total_candidates", "search_time_ms", "reranker_used", "reranker_model"),
    *("search_types_used", "search_strategy", "strategy_confidence", "strategy_reason", "legs", "metrics"),
    *("degraded", "warnings", "cached", "no_good_match", "facets"),
}
CANDIDATE_FIELDS = {
    *("chunk_uid", "item_uid", "item_title", "library_type", "text_preview", "chunk_s3_key", "chunk_index"),
    *("score", "source", "metadata", "rank", "score_breakdown"),
}
METRIC_FIELDS = {
    *("total_time_ms", "embedding_time_ms", "semantic_time_ms", "lexical_time_ms", "graph_time_ms"),
    *("image_time_ms", "fusion_time_ms", "rerank_time_ms", "semantic_results_count", "lexical_results_count"),
    *("graph_results_count", "image_results_count", "final_results_count"),
}


def _refuse(constant: str) -> Any:
    raise AssertionError(f"{constant} in the output")


def strict(content: bytes) -> Any:
    """JSON as a strict reader takes it: NaN and Infinity are errors."""
    return json.loads(content, parse_constant=_refuse)


@pytest.fixture
def api(db: None) -> Client:
    """A caller with a token."""
    return token_client()


@pytest.fixture
def manual(graph: None) -> Place:
    """Case 1's document and another."""
    place = Place("manuals")
    place.item("Lathe manual", ["The lathe feed rate is set under /opt/feed and written in C++."])
    place.item("Turbine notes", ["A turbine blade is balanced before it runs."])
    settle()
    return place


class Canned:
    """Answers every search by one response and keeps the requests."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, **changes: Any) -> None:
        self.requests: list[SearchRequest] = []
        values: dict[str, Any] = {
            "query": "q",
            "candidates": [],
            "images": [],
            "total_candidates": 0,
            "search_time_ms": 1.5,
            "reranker_used": False,
            "reranker_model": None,
            "search_types_used": ["vector"],
            "search_strategy": "hybrid",
            "strategy_confidence": 0.5,
            "strategy_reason": "because",
            "legs": {"vector": LegReport("ok", "", 1.0, 1)},
            "metrics": {},
            "degraded": False,
            "warnings": [],
        }
        self.response = SearchResponse(**{**values, **changes})
        monkeypatch.setattr(SearchService, "search", self._search)

    def _search(self, request: SearchRequest) -> SearchResponse:
        self.requests.append(request)
        return self.response


@pytest.fixture(autouse=True)
def patience(settings: Any) -> None:
    """A Neo4j that has just started plans its first queries for seconds; how long is not what is tested here."""
    settings.SEARCH_LEG_TIMEOUT = 30.0


# --- who may ask --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("post", SEARCH),
        ("post", SEARCH + "vector/"),
        ("post", SEARCH + "fulltext/"),
        ("get", CONCEPTS),
        ("get", CONCEPTS + "abc/graph/"),
        ("get", "/api/v1/library/libraries/"),
    ],
)
def test_anonymous_callers_are_refused_and_told_how_to_sign_in(
    db: None, client: Client, method: str, path: str
) -> None:
    answer = getattr(client, method)(path)
    assert answer.status_code == 401
    assert answer.headers["WWW-Authenticate"] == "Token"
    assert answer.json()["error"]["code"] == "not_authenticated"


def test_a_wrong_token_is_refused(db: None, client: Client) -> None:
    answer = client.post(SEARCH, headers={"Authorization": "Token wrong"})
    assert answer.status_code == 401
    assert answer.json()["error"]["code"] == "authentication_failed"


def test_a_session_is_taken_but_only_with_a_csrf_token(monkeypatch: pytest.MonkeyPatch, db: None) -> None:
    Canned(monkeypatch)
    user = User.objects.create_user("reader")
    trusting, checking = Client(), Client(enforce_csrf_checks=True)
    trusting.force_login(user)
    checking.force_login(user)
    assert post(trusting, {"query": "q"}).status_code == 200
    refused = post(checking, {"query": "q"})
    assert refused.status_code == 403
    assert refused.json()["error"]["code"] == "permission_denied"


# --- the answer ---------------------------------------------------------------------------------------------


@pytest.mark.neo4j
def test_a_search_answers_with_every_field_of_the_contract(api: Client, manual: Place) -> None:
    answer = post(api, {"query": "lathe feed rate", "rerank": False, "fusion": "rrf"})
    assert answer.status_code == 200
    body = strict(answer.content)
    assert set(body) == RESPONSE_FIELDS
    assert set(body["legs"]) == {"vector", "fulltext", "graph", "image", "rerank"}
    assert all(set(leg) == {"status", "reason", "time_ms", "count"} for leg in body["legs"].values())
    assert set(body["metrics"]) == METRIC_FIELDS
    (hit,) = body["candidates"]
    assert set(hit) == CANDIDATE_FIELDS
    assert (hit["item_title"], hit["rank"], hit["source"]) == ("Lathe manual", 1, "fulltext")
    assert hit["chunk_uid"] == chunk_uid(hit["item_uid"])
    parts = hit["score_breakdown"]["rrf_components"]
    assert parts == {"fulltext": pytest.approx(1 / 61)}
    assert hit["score"] == pytest.approx(sum(parts.values()), abs=1e-9)


@pytest.mark.neo4j
def test_without_a_model_the_answer_is_degraded_and_says_why(api: Client, manual: Place) -> None:
    body = post(api, {"query": "turbine"}).json()
    assert [hit["item_title"] for hit in body["candidates"]] == ["Turbine notes"]
    assert body["degraded"] is True
    assert body["legs"]["vector"]["status"] == "skipped"
    assert "setup_models" in body["legs"]["vector"]["reason"]


@pytest.mark.neo4j
def test_a_search_by_vectors_only_without_a_model_is_unavailable_and_names_the_command(
    api: Client, manual: Place
) -> None:
    answer = post(api, {"query": "turbine"}, SEARCH + "vector/")
    assert answer.status_code == 503
    error = answer.json()["error"]
    assert error["code"] == "embedding_unavailable"
    assert "manage.py setup_models" in error["message"]
    assert error["fields"] == {}


@pytest.mark.neo4j
def test_the_fulltext_route_runs_the_fulltext_leg_only(api: Client, manual: Place) -> None:
    body = post(api, {"query": "turbine", "rerank": False}, SEARCH + "fulltext/").json()
    assert body["search_types_used"] == ["fulltext"]
    assert body["search_strategy"] == "lexical"
    assert [hit["item_title"] for hit in body["candidates"]] == ["Turbine notes"]


@pytest.mark.parametrize(
    ("route", "leg", "strategy"), [("vector", "vector", "semantic"), ("fulltext", "fulltext", "lexical")]
)
def test_a_route_of_one_leg_overrules_the_body(
    api: Client, monkeypatch: pytest.MonkeyPatch, route: str, leg: str, strategy: str
) -> None:
    canned = Canned(monkeypatch)
    body = {"query": "q", "strategy": "hybrid", "search_types": ["graph"], "limit": 3}
    assert post(api, body, f"{SEARCH}{route}/").status_code == 200
    (request,) = canned.requests
    assert (request.search_types, request.strategy, request.limit) == ([leg], strategy, 3)


def test_everything_the_body_gives_reaches_the_service(api: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    canned = Canned(monkeypatch)
    body = {
        **{"query": "  q ", "library_uid": "a", "library_type": "film", "collection_uid": "b"},
        **{"search_types": ["graph"], "limit": 7, "offset": 3, "vector_top_k": 8, "fulltext_top_k": 9},
        **{"graph_max_depth": 0, "rerank": False, "include_images": False, "strategy": "hybrid"},
        **{"fusion": "linear", "group_by": "item", "expand": 2, "facets": True},
    }
    assert post(api, body).status_code == 200
    assert canned.requests == [SearchRequest(**body)]  # type: ignore[arg-type]


def test_what_the_body_leaves_out_comes_from_the_settings(
    api: Client, monkeypatch: pytest.MonkeyPatch, settings: Any
) -> None:
    canned = Canned(monkeypatch)
    settings.SEARCH_DEFAULT_LIMIT = 11
    settings.SEARCH_GRAPH_MAX_DEPTH = 0
    post(api, {"query": "q", "limit": None})
    assert (canned.requests[0].limit, canned.requests[0].graph_max_depth) == (11, 0)
    assert canned.requests[0].rerank is True


def test_a_form_is_taken_as_json_is(api: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    canned = Canned(monkeypatch)
    api.post(SEARCH, {"query": "q", "search_types": ["vector", "graph"], "limit": "4"})
    assert canned.requests == [SearchRequest("q", search_types=["vector", "graph"], limit=4)]


def test_numbers_that_json_cannot_carry_become_null_and_the_whole_text_stays_inside(
    api: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    hit = SearchCandidate(
        "c1", score=float("nan"), text="secret", metadata={"highlights": [(0, 2)]}, score_breakdown={"a": float("inf")}
    )
    Canned(monkeypatch, candidates=[hit])
    (shown,) = strict(post(api, {"query": "q"}).content)["candidates"]
    assert (shown["score"], shown["score_breakdown"]) == (None, {"a": None})
    assert shown["metadata"] == {"highlights": [[0, 2]]}
    assert "text" not in shown


@pytest.mark.neo4j
def test_text_comes_back_raw(api: Client, graph: None) -> None:
    place = Place("hostile")
    text = "Turbine </mark><script>alert(2)</script> blade & \"rotor\" 'seal' {{ 7|add:7 }} notes."
    place.item("<img src=x onerror=alert(1)>", [text])
    settle()
    (hit,) = post(api, {"query": "turbine"}).json()["candidates"]
    assert hit["item_title"] == "<img src=x onerror=alert(1)>"
    assert hit["text_preview"] == text


# --- grouping, context, facets, relevance ---------------------------------------------------------------------


@pytest.fixture
def shelf(graph: None) -> Place:
    """Two libraries; one of the items has three chunks with the word."""
    place = Place("manuals")
    place.item("Lathe manual", ["A lathe turns.", "The lathe stops, the lathe waits.", "Oil the lathe."])
    place.item("Wood turning", ["Wood on a lathe."])
    Place("tales", "fiction").item("A tale", ["A lathe dreamt."])
    settle()
    return place


@pytest.mark.neo4j
def test_grouped_by_item_each_item_is_shown_once_with_the_number_of_its_other_chunks(api: Client, shelf: Place) -> None:
    found = post(api, {"query": "lathe", "rerank": False, "group_by": "item"}).json()["candidates"]
    others = {hit["item_title"]: hit["metadata"]["other_chunks"] for hit in found}
    assert others == {"Lathe manual": 2, "Wood turning": 0, "A tale": 0}
    assert [hit["rank"] for hit in found] == [1, 2, 3]


@pytest.mark.neo4j
def test_expand_gives_the_chunks_around_a_hit(api: Client, shelf: Place) -> None:
    (hit,) = post(api, {"query": "waits", "rerank": False, "expand": 1}).json()["candidates"]
    assert hit["metadata"]["context"] == [
        {"chunk_index": 0, "text": "A lathe turns."},
        {"chunk_index": 2, "text": "Oil the lathe."},
    ]


@pytest.mark.neo4j
def test_facets_count_the_candidates_of_all_pages_and_only_where_asked_for(api: Client, shelf: Place) -> None:
    body = {"query": "lathe", "rerank": False, "limit": 1}
    assert post(api, body).json()["facets"] is None
    found = post(api, {**body, "facets": True}).json()
    assert len(found["candidates"]) == 1
    assert found["facets"] == {
        "libraries": [
            {"value": shelf.library_uid, "label": "manuals", "count": 4},
            {"value": hex_uid("tales"), "label": "tales", "count": 1},
        ],
        "library_types": [
            {"value": "technical", "label": "technical", "count": 4},
            {"value": "fiction", "label": "fiction", "count": 1},
        ],
        "collections": [
            {"value": shelf.collection_uid, "label": "general", "count": 4},
            {"value": hex_uid("tales/general"), "label": "general", "count": 1},
        ],
    }
    scoped = post(api, {**body, "facets": True, "library_type": "fiction"}).json()["facets"]
    assert [found["value"] for found in scoped["libraries"]] == [hex_uid("tales")]


@pytest.mark.neo4j
def test_what_finds_nothing_has_no_good_match(api: Client, shelf: Place) -> None:
    found = post(api, {"query": "xylophone", "rerank": False, "facets": True}).json()
    assert (found["candidates"], found["no_good_match"]) == ([], True)
    assert found["facets"] == {"libraries": [], "library_types": [], "collections": []}
    assert post(api, {"query": "lathe", "rerank": False}).json()["no_good_match"] is False


@pytest.mark.neo4j
def test_a_passage_is_a_part_of_the_text_and_its_highlights_are_the_words(api: Client, graph: None) -> None:
    text = "Padding. " * 200 + "Das Cafe\u0301 an der STRASSE hat Gröſse." + " Padding." * 200
    Place("orte").item("Ort", [text])
    settle()
    (hit,) = post(api, {"query": "ort café straße", "rerank": False}).json()["candidates"]
    passage = hit["metadata"]["passage"]
    assert text[passage["start"] :].startswith(passage["text"])
    marked = [passage["text"][start:end] for start, end in passage["highlights"]]
    assert marked == ["Cafe\u0301", "STRASSE"]


def test_every_parameter_that_needs_telling_is_told_in_the_serializer() -> None:
    fields = SearchInput().fields
    asked = {name for name, field in SearchRequest.__dataclass_fields__.items() if field.compare}
    asked -= {"allowed_library_uids"}
    assert set(fields) == asked
    assert all(fields[name].help_text for name in ("group_by", "expand", "facets", "strategy", "fusion"))


@pytest.mark.neo4j
def test_libraries_are_listed_by_name_with_their_collections(api: Client, manual: Place) -> None:
    Place("fables", "fiction", "old")
    found = api.get("/api/v1/library/libraries/").json()["results"]
    assert found == [
        {
            "uid": hex_uid("fables"),
            "name": "fables",
            "library_type": "fiction",
            "collections": [{"uid": hex_uid("fables/old"), "name": "old"}],
        },
        {
            "uid": manual.library_uid,
            "name": "manuals",
            "library_type": "technical",
            "collections": [{"uid": manual.collection_uid, "name": "general"}],
        },
    ]
