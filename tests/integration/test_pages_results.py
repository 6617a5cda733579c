"""What the search page shows of an answer: passages, facets, grouping, context, notices and the parts of a score."""

import json
import math
import unicodedata
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import pytest
from bs4 import BeautifulSoup, Tag
from django.contrib.auth.models import User
from django.test import Client

from tests.api_client import post
from tests.builder import Place, settle, unit
from tests.fakes import fake_models, record_models

pytestmark = [pytest.mark.neo4j, pytest.mark.django_db]

SEARCH = "/library/search/"


@pytest.fixture
def reader(settings: Any) -> Client:
    """A caller who is signed in."""
    settings.SEARCH_LEG_TIMEOUT = 30.0
    client = Client()
    client.force_login(User.objects.create_user("reader"))
    return client


@pytest.fixture
def shelf(graph: None) -> Place:
    """Two libraries of two types; one item has three chunks with the word."""
    place = Place("manuals & <notes>")
    place.item("Lathe manual", ["A lathe turns.", "The lathe stops, the lathe waits.", "Oil the lathe."])
    place.item("Wood turning", ["Wood on a lathe."])
    Place("tales", "fiction", "old").item("A tale", ["A lathe dreamt."])
    settle()
    return place


def get(client: Client, **parameters: Any) -> BeautifulSoup:
    answer = client.get(SEARCH, {"rerank": "false", **parameters})
    assert answer.status_code == 200
    return BeautifulSoup(answer.content, "lxml")


def follow(client: Client, link: Tag) -> BeautifulSoup:
    answer = client.get(SEARCH + str(link["href"]))
    assert answer.status_code == 200
    return BeautifulSoup(answer.content, "lxml")


def parameters_of(link: Tag) -> dict[str, str]:
    return dict(parse_qsl(urlsplit(str(link["href"])).query, keep_blank_values=True))


def titles(page: BeautifulSoup) -> list[str]:
    return [heading.get_text() for heading in page.select(".hits h2")]


def facets(page: BeautifulSoup) -> dict[str, list[tuple[str, str]]]:
    """Label and count of each value, by facet."""
    return {
        group.h2.get_text(): [  # type: ignore[union-attr]
            (link.select_one(".label").get_text(), link.select_one(".count").get_text())  # type: ignore[union-attr]
            for link in group.select("a")
        ]
        for group in page.select(".facets section")
    }


def facet_link(page: BeautifulSoup, label: str) -> Tag:
    return next(link for link in page.select(".facets a") if label in link.get_text())


def test_facets_count_all_candidates_and_are_links(reader: Client, shelf: Place) -> None:
    page = get(reader, query="lathe", limit="1")
    assert facets(page) == {
        "Library": [("manuals & <notes>", "4"), ("tales", "1")],
        "Type": [("Technical", "4"), ("Fiction", "1")],
        "Collection": [("general", "4"), ("old", "1")],
    }
    held = follow(reader, facet_link(page, "Fiction"))
    assert titles(held) == ["A tale"]
    assert facets(held)["Library"] == [("tales", "1")]


def test_a_facet_keeps_the_other_parameters_and_starts_at_the_first_page(reader: Client, shelf: Place) -> None:
    page = get(reader, query="lathe", limit="2", strategy="lexical", group_by="item", offset="1")
    link = facet_link(page, "manuals")
    assert parameters_of(link) == {
        **{"rerank": "false", "query": "lathe", "limit": "2", "strategy": "lexical", "group_by": "item"},
        "library_uid": shelf.library_uid,
    }
    both = follow(reader, facet_link(follow(reader, link), "general"))
    assert both.select_one("[name=library_uid] option[selected]")["value"] == shelf.library_uid  # type: ignore[index]
    assert both.select_one("[name=collection_uid] option[selected]")["value"] == shelf.collection_uid  # type: ignore[index]


def test_a_chosen_facet_is_marked_and_its_link_lets_go_of_it(reader: Client, shelf: Place) -> None:
    page = get(reader, query="lathe", library_uid=shelf.library_uid)
    (chosen,) = page.select(".facets a[aria-current]")
    assert "manuals" in chosen.get_text()
    assert parameters_of(chosen) == {"rerank": "false", "query": "lathe"}
    assert len(titles(follow(reader, chosen))) == 5


def test_without_candidates_there_are_no_facets(reader: Client, shelf: Place) -> None:
    page = get(reader, query="xylophone")
    assert page.select(".facets") == []
    assert "Nothing found" in page.get_text()
    assert "No good match" not in page.get_text()


def test_results_can_be_shown_by_item_and_back(reader: Client, shelf: Place) -> None:
    page = get(reader, query="lathe", limit="10")
    assert titles(page).count("Lathe manual") == 3
    passages, items = page.select(".toggle a")
    assert (passages.get("aria-current"), items.get("aria-current")) == ("true", None)
    by_item = follow(reader, items)
    assert sorted(titles(by_item)) == ["A tale", "Lathe manual", "Wood turning"]
    (many,) = [hit for hit in by_item.select("article") if "Lathe manual" in hit.get_text()]
    assert "2 more passages of this item" in many.get_text()
    assert by_item.select_one("[name=group_by] option[selected]")["value"] == "item"  # type: ignore[index]
    assert by_item.select_one("details.options")["open"] == ""  # type: ignore[index]
    assert len(titles(follow(reader, by_item.select(".toggle a")[0]))) == 5


def test_the_text_around_a_hit_is_shown_in_its_order(reader: Client, shelf: Place) -> None:
    page = get(reader, query="waits", expand="1")
    (around,) = page.select(".around")
    assert [part.get_text() for part in around.select("p")] == [
        "A lathe turns.",
        "The lathe stops, the lathe waits.",
        "Oil the lathe.",
    ]
    assert get(reader, query="waits").select(".around") == []


def test_the_passage_is_where_the_words_are_and_marks_them_in_any_form(reader: Client, graph: None) -> None:
    words = "Das Cafe\u0301 <b>an</b> der STRASSE & im ﬁnalen Schnee."
    Place("orte").item("Ort", ["Vorspann. " * 200 + words + " Nachspann." * 200])
    settle()
    page = get(reader, query="ort café straße finalen")
    (passage,) = page.select(".passage")
    assert words in passage.get_text()
    assert passage.get_text().startswith("… ")
    assert passage.get_text().endswith(" …")
    assert [mark.get_text() for mark in passage.select("mark")] == ["Cafe\u0301", "STRASSE", "ﬁnalen"]
    assert unicodedata.is_normalized("NFC", passage.get_text()) is False
    assert passage.select("b") == []


@pytest.mark.usefixtures("graph")
def test_what_is_nearest_but_not_near_is_called_no_good_match(reader: Client, settings: Any) -> None:
    Place("shelf").item("Glaze", ["A glaze of ash."], [unit(1.0, 0.5)])
    settle()
    record_models()
    notice = "No good match: the nearest passages are shown."
    with fake_models(unit(1.0)):
        assert notice not in get(reader, query="quux").get_text()
        settings.SEARCH_RELEVANCE_FLOOR = 0.99
        page = get(reader, query="quux")
        assert titles(page) == ["Glaze"]
        assert notice in [note.get_text() for note in page.select("[role=status]")]
        assert notice not in get(reader, query="glaze").get_text()


def test_warnings_are_shown(reader: Client, shelf: Place) -> None:
    page = get(reader, query="lathe author:smith <b>x</b>", strategy="lexical")
    (notice,) = page.select("[role=status]")
    (warning,) = notice.select("li")
    assert "author" in warning.get_text()
    assert notice.select("b") == []


def test_the_parts_of_a_score_and_the_measures_are_those_of_the_api(reader: Client, shelf: Place) -> None:
    page = get(reader, query="lathe", strategy="hybrid")
    answer = post(reader, {"query": "lathe", "strategy": "hybrid", "rerank": False}).json()
    for article, hit in zip(page.select(".hits article"), answer["candidates"], strict=True):
        rows = {row.th.get_text(): row.td.get_text() for row in article.select("details tr")}  # type: ignore[union-attr]
        parts = [float(value) for name, value in rows.items() if name.startswith("rrf_components.")]
        assert math.fsum(parts) == pytest.approx(float(rows["fused_score"]), abs=1e-9)
        breakdown = hit["score_breakdown"]
        assert float(rows["fused_score"]) == pytest.approx(breakdown["fused_score"], abs=1e-9)
        known = {name for name, value in breakdown.items() if value is not None and name != "rrf_components"}
        assert known <= set(rows)
        assert "The rrf_components add up to fused_score." in article.get_text()
    measures = [row.th.get_text() for row in page.select(".metrics tr")]  # type: ignore[union-attr]
    assert measures == list(json.loads(json.dumps(answer["metrics"])))
