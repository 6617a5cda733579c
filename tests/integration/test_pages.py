"""The pages over the real Neo4j."""

import io
import json
import re
from typing import Any

import pytest
from bs4 import BeautifulSoup
from django.contrib.auth.models import User
from django.core.files.base import ContentFile
from django.core.files.storage import default_storage
from django.test import Client
from PIL import Image

from library.services.search import SearchService
from tests.builder import Place, hex_uid, settle, unit
from tests.shared import case_file

SEARCH = "/library/search/"
CONCEPTS = "/library/concepts/"
NEXT_SIGN_IN = "/accounts/login/?next="


@pytest.fixture(autouse=True)
def patience(settings: Any) -> None:
    """A Neo4j that has just started plans its first queries for seconds; how long is not what is tested here."""
    settings.SEARCH_LEG_TIMEOUT = 30.0


@pytest.fixture
def reader(db: None) -> Client:
    """A caller who is signed in."""
    client = Client()
    client.force_login(User.objects.create_user("reader"))
    return client


def soup(content: bytes) -> BeautifulSoup:
    """The page as a browser has it."""
    return BeautifulSoup(content, "lxml")


def titles(content: bytes) -> list[str]:
    """The titles of the hits."""
    return [heading.get_text() for heading in soup(content).select(".hits h2")]


@pytest.mark.parametrize("path", [SEARCH, CONCEPTS, CONCEPTS + "abc/", "/library/images/abc/"])
def test_who_is_not_signed_in_is_sent_to_the_sign_in(db: None, client: Client, path: str) -> None:
    answer = client.get(path)
    assert (answer.status_code, answer.headers["Location"]) == (302, NEXT_SIGN_IN + path)


def test_signing_in_leads_back_to_the_search(db: None, client: Client) -> None:
    User.objects.create_user("reader", password="a long enough one")
    page = client.get(NEXT_SIGN_IN + SEARCH)
    assert page.status_code == 200
    wrong = client.post(NEXT_SIGN_IN + SEARCH, {"username": "reader", "password": "x"})
    assert "The user name or the password is wrong." in wrong.content.decode()
    right = client.post(NEXT_SIGN_IN + SEARCH, {"username": "reader", "password": "a long enough one"})
    assert (right.status_code, right.headers["Location"]) == (302, SEARCH)
    assert client.post("/accounts/logout/").headers["Location"] == "/accounts/login/"


def test_the_root_leads_to_the_search(client: Client) -> None:
    assert client.get("/").headers["Location"] == SEARCH
    assert client.get("/library/").headers["Location"] == SEARCH


@pytest.mark.neo4j
def test_the_form_stands_before_there_is_a_query(reader: Client, graph: None) -> None:
    place = Place("manuals")
    page = soup(reader.get(SEARCH).content)
    names = [field["name"] for field in page.select("form.search [name]")]
    assert names == [
        *("query", "library_uid", "library_type", "collection_uid"),
        *("strategy", "group_by", "limit", "rerank", "expand"),
    ]
    for field in page.select("form.search [name]"):
        assert page.find("label", attrs={"for": field["id"]}) is not None
    options = [(option["value"], option.get_text()) for option in page.select("[name=library_uid] option")]
    assert options == [("", "All libraries"), (place.library_uid, "manuals")]
    assert page.select(".hits") == []


@pytest.mark.neo4j
def test_the_page_shows_hits_with_their_words_marked_and_how_they_were_found(reader: Client, graph: None) -> None:
    place = Place("manuals")
    place.item("Lathe manual", ["The lathe feed rate is set under /opt/feed."])
    settle()
    answer = reader.get(SEARCH, {"query": "lathe rate", "rerank": "false"})
    assert answer.status_code == 200
    page = soup(answer.content)
    assert titles(answer.content) == ["Lathe manual"]
    assert [mark.get_text() for mark in page.select("mark")] == ["Lathe", "lathe", "rate"]
    legs = {row.th.get_text(): row.td.get_text() for row in page.select(".legs tbody tr")}  # type: ignore[union-attr]
    assert legs == {"vector": "skipped", "fulltext": "ok", "graph": "empty", "image": "empty", "rerank": "skipped"}
    parts = {row.th.get_text(): row.td.get_text() for row in page.select(".hits details tr")}  # type: ignore[union-attr]
    assert float(parts["rrf_components.fulltext"]) == pytest.approx(0.4, abs=1e-9)
    assert parts["rrf_components.fulltext"] == parts["fused_score"]
    assert parts["lexical_rank"] == "1"
    assert page.select_one("[role=status]") is not None
    assert page.select_one("[name=query]")["value"] == "lathe rate"  # type: ignore[index]


@pytest.mark.neo4j
def test_a_filter_holds_the_search_and_stays_chosen(reader: Client, graph: None) -> None:
    Place("manuals").item("Lathe manual", ["The lathe turns."])
    tales = Place("tales", "fiction")
    tales.item("The lathe's tale", ["A lathe dreamt of wood."])
    settle()
    for chosen in (
        {"library_uid": tales.library_uid},
        {"library_type": "fiction"},
        {"collection_uid": tales.collection_uid},
    ):
        answer = reader.get(SEARCH, {"query": "lathe", "rerank": "false", **chosen})
        assert titles(answer.content) == ["The lathe's tale"]
        ((name, value),) = chosen.items()
        selected = soup(answer.content).select_one(f"[name={name}] option[selected]")
        assert selected is not None
        assert selected["value"] == value


@pytest.mark.neo4j
def test_pages_of_results_follow_each_other(reader: Client, graph: None) -> None:
    place = Place("manuals")
    for number in range(5):
        place.item(f"Manual {number}", ["The lathe turns."])
    settle()
    query: str | None = "?query=lathe&limit=2&rerank=false"
    seen: list[list[str]] = []
    while query is not None:
        answer = reader.get(SEARCH + query)
        seen.append(titles(answer.content))
        link = soup(answer.content).select_one("a[rel=next]")
        query = str(link["href"]) if link is not None else None
    assert [len(page) for page in seen] == [2, 2, 1]
    assert sorted(title for page in seen for title in page) == [f"Manual {number}" for number in range(5)]
    back = soup(answer.content).select_one("a[rel=prev]")
    assert back is not None
    assert titles(reader.get(SEARCH + str(back["href"])).content) == seen[1]


# --- case 26 --------------------------------------------------------------------------------------------------


@pytest.mark.neo4j
def test_text_of_documents_and_queries_never_becomes_markup(reader: Client, graph: None) -> None:
    heading, text = case_file("26_xss.md").read_text().strip().split("\n\n")
    title = heading.removeprefix("# ")
    place = Place("<script>alert(5)</script>", collection="<svg onload=alert(6)>")
    item = place.item(title, [text, "mark amp script svg add 7"])
    place.concept("<img src=x onerror=alert(7)> amp", {hex_uid(f"{item}#0"): 1.0})
    settle()
    for query in json.loads(case_file("26_queries.json").read_text()):
        answer = reader.get(SEARCH, {"query": query, "rerank": "false"})
        assert answer.status_code == 200, query
        page = soup(answer.content)
        assert page.select("script, img, svg") == [], query
        assert [name for tag in page.find_all() for name in tag.attrs if name.startswith("on")] == []
        words = {"turbine": {"turbine"}, "script": {"script"}, "mark": {"mark"}, "amp": {"amp"}}
        marked = {mark.get_text().lower() for mark in page.select("mark")}
        assert marked <= words.get(query, {"script", "alert", "3", "svg", "onload", "4", "7", "add"}), query
        for shown, whole in zip(page.select(".passage"), page.select(".hits h2"), strict=True):
            assert whole.get_text() == title
            assert shown.get_text() in (text, "mark amp script svg add 7")
        assert re.search(r"&(?!amp;|lt;|gt;|quot;|#x27;|#39;)", answer.content.decode()) is None, query
        assert page.select_one("[name=query]")["value"] == query  # type: ignore[index]


@pytest.mark.neo4j
@pytest.mark.parametrize("query", ["turbine", "mark", "{{ 7|add:7 }}"])
def test_the_hostile_document_is_found_and_shown_as_written(reader: Client, graph: None, query: str) -> None:
    heading, text = case_file("26_xss.md").read_text().strip().split("\n\n")
    Place("hostile").item(heading.removeprefix("# "), [text])
    settle()
    answer = reader.get(SEARCH, {"query": query, "rerank": "false"})
    (passage,) = soup(answer.content).select(".passage")
    assert passage.get_text() == text
    assert "{{ 7|add:7 }}" in passage.get_text()
    assert passage.select("mark") != []


@pytest.mark.neo4j
def test_every_page_forbids_scripts(reader: Client, graph: None) -> None:
    for path in (SEARCH, CONCEPTS, SEARCH + "?query=a&limit=0"):
        policy = reader.get(path).headers["Content-Security-Policy"]
        assert policy.startswith("default-src 'none'; style-src 'self'; img-src 'self'")
    assert "default-src 'none'" in Client().get("/accounts/login/").headers["Content-Security-Policy"]


def test_the_style_sheet_is_served(db: None, client: Client) -> None:
    answer = client.get("/static/library/library.css")
    assert (answer.status_code, answer.headers["Content-Type"]) == (200, 'text/css; charset="utf-8"')
    answer.close()


# --- case 37 --------------------------------------------------------------------------------------------------

BAD = [
    *[("query=q&limit=" + value, "limit") for value in ("0", "-1", "abc", "1e9", "", "201", "1.5", "%00")],
    *[("query=q&offset=" + value, "offset") for value in ("-1", "abc", "", "1001", "9" * 400)],
    *[("query=q&expand=" + value, "expand") for value in ("-1", "abc", "", "6", "1.5")],
    ("query=q&group_by=shelf", "group_by"),
    *[("query=q&page=" + value, "page") for value in ("0", "-1", "999999")],
    *[(f"query=q&{name}=1&{name}=2", name) for name in ("limit", "offset", "library_uid", "group_by", "expand")],
    ("query=a&query=b", "query"),
    ("query=", "query"),
    ("query=%20%20", "query"),
    ("query=a%00b", "query"),
    ("query=" + "q" * 4001, "query"),
    ("limit=0", "limit"),
    ("query=q&library_type=cookery", "library_type"),
    ("query=q&strategy=magic", "strategy"),
    ("query=q&rerank=perhaps", "rerank"),
    ("query=q&qurey=x", "qurey"),
]


@pytest.mark.neo4j
@pytest.mark.parametrize(("parameters", "field"), BAD)
def test_a_bad_parameter_is_400_and_named_and_the_form_stays(
    reader: Client, neo4j: None, parameters: str, field: str
) -> None:
    answer = reader.get(f"{SEARCH}?{parameters}")
    assert answer.status_code == 400
    page = soup(answer.content)
    problem = page.select_one("[role=alert]")
    assert problem is not None
    assert f"{field}:" in problem.get_text()
    assert page.select_one("form.search [name=query]") is not None
    assert page.select(".hits") == []


@pytest.mark.neo4j
@pytest.mark.parametrize(
    ("parameters", "field"),
    [
        ("offset=-1", "offset"),
        ("limit=abc", "limit"),
        ("limit=1&limit=2", "limit"),
        ("library_type=x", "library_type"),
        ("q=a%00", "q"),
        ("page=0", "page"),
    ],
)
def test_the_concept_list_refuses_the_same(reader: Client, neo4j: None, parameters: str, field: str) -> None:
    answer = reader.get(f"{CONCEPTS}?{parameters}")
    assert answer.status_code == 400
    problem = soup(answer.content).select_one("[role=alert]")
    assert problem is not None
    assert f"{field}:" in problem.get_text()


def test_with_neo4j_away_the_pages_say_so(reader: Client, settings: Any, unused_port: int) -> None:
    settings.NEO4J_URL = f"bolt://127.0.0.1:{unused_port}"
    for path in (SEARCH + "?query=lathe", CONCEPTS, CONCEPTS + "abc/"):
        answer = reader.get(path)
        assert answer.status_code == 503, path
        problem = soup(answer.content).select_one("[role=alert]")
        assert problem is not None
        assert str(unused_port) not in answer.content.decode()
    assert reader.get(SEARCH).status_code == 200


@pytest.mark.neo4j
def test_pages_take_no_other_method(reader: Client, neo4j: None) -> None:
    assert reader.post(SEARCH, {"query": "q"}).status_code == 405
    assert reader.head(SEARCH).status_code == 200


def test_the_service_is_not_called_before_there_is_a_query(
    reader: Client, monkeypatch: pytest.MonkeyPatch, settings: Any, unused_port: int
) -> None:
    settings.NEO4J_URL = f"bolt://127.0.0.1:{unused_port}"
    monkeypatch.setattr(SearchService, "search", lambda *_: pytest.fail("searched"))
    assert reader.get(SEARCH + "?library_type=film").status_code == 200


# --- pictures -------------------------------------------------------------------------------------------------


@pytest.mark.neo4j
def test_a_picture_is_shown_where_it_is_one(reader: Client, graph: None) -> None:
    place = Place("art", "art")
    item = place.item("Blue square", ["A blue square."])
    uid = place.image(item, "a blue square", unit(1.0))
    fake = place.image(item, "a page called .png", unit(1.0))
    drawn = io.BytesIO()
    Image.new("RGB", (2, 2), "blue").save(drawn, "PNG")
    default_storage.save(f"{uid}.png", ContentFile(drawn.getvalue()))
    default_storage.save(f"{fake}.png", ContentFile(b"<html><script>alert(1)</script>"))
    answer = reader.get(f"/library/images/{uid}/")
    assert (answer.status_code, answer.headers["Content-Type"]) == (200, "image/png")
    assert answer.content == drawn.getvalue()
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
    assert "private" in answer.headers["Cache-Control"]
    assert reader.get(f"/library/images/{fake}/").status_code == 404
    assert reader.get(f"/library/images/{hex_uid('no such')}/").status_code == 404
