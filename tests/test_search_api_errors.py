"""What the REST API refuses, and how: one shape, the field named, never a 500."""

from typing import Any

import pytest
from django.test import Client

from tests.api_client import CONCEPTS, SEARCH, post, token_client


@pytest.fixture
def api(db: None) -> Client:
    """A caller with a token."""
    return token_client()


BAD = [
    ({"query": "q", "limit": 0}, "limit"),
    ({"query": "q", "limit": -1}, "limit"),
    ({"query": "q", "limit": "abc"}, "limit"),
    ({"query": "q", "limit": 1e9}, "limit"),
    ({"query": "q", "limit": ""}, "limit"),
    ({"query": "q", "limit": 1.5}, "limit"),
    ({"query": "q", "limit": True}, "limit"),
    ({"query": "q", "limit": [1, 2]}, "limit"),
    ({"query": "q", "limit": "9" * 5000}, "limit"),
    ({"query": "q", "offset": -1}, "offset"),
    ({"query": "q", "offset": 10**30}, "offset"),
    ({"query": "q", "page": 0}, "page"),
    ({"query": "q", "page": 999999}, "page"),
    ({"query": "q", "qurey": "x"}, "qurey"),
    ({"query": ""}, "query"),
    ({"query": "   "}, "query"),
    ({"query": None}, "query"),
    ({"query": ["q"]}, "query"),
    ({"query": "a\x00b"}, "query"),
    ({"query": "q" * 4001}, "query"),
    ({}, "query"),
    ({"query": "q", "library_type": "cookery"}, "library_type"),
    ({"query": "q", "strategy": "magic"}, "strategy"),
    ({"query": "q", "fusion": "cold"}, "fusion"),
    ({"query": "q", "search_types": []}, "search_types"),
    ({"query": "q", "search_types": "vector"}, "search_types"),
    ({"query": "q", "search_types": ["telepathy"]}, "search_types"),
    ({"query": "q", "graph_max_depth": 99}, "graph_max_depth"),
    ({"query": "q", "rerank": "perhaps"}, "rerank"),
    ({"query": "q", "group_by": "shelf"}, "group_by"),
    ({"query": "q", "expand": -1}, "expand"),
    ({"query": "q", "expand": 6}, "expand"),
    ({"query": "q", "expand": "1e9"}, "expand"),
    ({"query": "q", "facets": "perhaps"}, "facets"),
]


@pytest.mark.parametrize(("body", "field"), BAD)
def test_a_bad_value_is_400_and_names_its_field(api: Client, body: dict[str, Any], field: str) -> None:
    answer = post(api, body)
    assert answer.status_code == 400
    error = answer.json()["error"]
    assert error["code"] == "invalid"
    assert list(error["fields"]) == [field]
    assert field in error["message"]


@pytest.mark.parametrize(
    ("raw", "code"),
    [
        ("{", "parse_error"),
        ('{"query": NaN}', "parse_error"),
        ("[" * 100_000, "parse_error"),
        ('{"query": "q", "limit": ' + "9" * 5000 + "}", "parse_error"),
        ('"query"', "invalid"),
        ("[]", "invalid"),
        ('{"query": "a", "query": "b"}', "invalid"),
        ('{"query": "\\ud800"}', "invalid"),
        ('{"query": "q", "limit": 1e999}', "invalid"),
    ],
)
def test_a_bad_body_is_400_in_the_same_shape(api: Client, raw: str, code: str) -> None:
    answer = post(api, raw)
    assert answer.status_code == 400
    assert answer.json()["error"]["code"] == code


def test_bytes_that_are_no_utf8_are_400(api: Client) -> None:
    answer = api.post(SEARCH, b'{"query": "\xff"}', content_type="application/json")
    assert (answer.status_code, answer.json()["error"]["code"]) == (400, "parse_error")


@pytest.mark.parametrize("path", [CONCEPTS + "?limit=1&limit=2", CONCEPTS + "?q=a&q=b", SEARCH + "?limit=5"])
def test_repeated_and_misplaced_parameters_are_400(api: Client, path: str) -> None:
    answer = post(api, {"query": "q"}, path) if path.startswith(SEARCH) else api.get(path)
    assert answer.status_code == 400
    assert answer.json()["error"]["code"] == "invalid"
    (field,) = answer.json()["error"]["fields"]
    assert field in path


def test_a_repeated_field_of_a_form_is_400(api: Client) -> None:
    answer = api.post(SEARCH, {"query": "q", "limit": ["1", "2"]})
    assert (answer.status_code, answer.json()["error"]["fields"]) == (400, {"limit": ["given more than once"]})


def test_a_huge_body_is_refused_by_its_length(api: Client) -> None:
    answer = post(api, {"query": "q" * 2_000_000})
    assert (answer.status_code, answer.json()["error"]["code"]) == (413, "too_large")


@pytest.mark.parametrize(
    ("method", "content_type", "status", "code"),
    [("get", "", 405, "method_not_allowed"), ("post", "text/plain", 415, "unsupported_media_type")],
)
def test_other_refusals_have_the_same_shape(
    api: Client, method: str, content_type: str, status: int, code: str
) -> None:
    answer = api.get(SEARCH) if method == "get" else api.post(SEARCH, b"q", content_type=content_type)
    assert answer.status_code == status
    assert set(answer.json()) == {"error"}
    assert (answer.json()["error"]["code"], answer.json()["error"]["fields"]) == (code, {})


def test_with_neo4j_away_the_answer_is_503_and_repeats_no_driver_text(
    api: Client, settings: Any, unused_port: int
) -> None:
    settings.NEO4J_URL = f"bolt://127.0.0.1:{unused_port}"
    search = post(api, {"query": "turbine", "include_images": False})
    assert (search.status_code, search.json()["error"]["code"]) == (503, "search_unavailable")
    concepts = api.get(CONCEPTS)
    assert (concepts.status_code, concepts.json()["error"]["code"]) == (503, "graph_unavailable")
    for answer in (search, concepts):
        assert str(unused_port).encode() not in answer.content
