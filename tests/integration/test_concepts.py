"""Concepts by API and page over the real Neo4j: counts, scope, bounded graphs."""

from collections.abc import Sequence
from typing import Any

import pytest
from bs4 import BeautifulSoup
from django.contrib.auth.models import User
from django.test import Client

from library.graph import browse, session
from library.graph.concept_graph import concept_graph
from library.services.types import Scope
from tests.builder import Place, chunk_uid, hex_uid, relate, write

CONCEPTS = "/api/v1/library/concepts/"
PAGES = "/library/concepts/"
REFERENCE_QUERY = """
MATCH (i:Item {uid: $item_uid}) MATCH (k:Concept {key: toLower($name)})
MERGE (i)-[r:REFERENCES]->(k) SET r.weight = $weight
"""

pytestmark = pytest.mark.neo4j


@pytest.fixture
def reader(db: None) -> Client:
    """A caller who is signed in."""
    client = Client()
    client.force_login(User.objects.create_user("reader"))
    return client


def concept_uid(name: str) -> str:
    """The uid of a concept that the builder made."""
    return hex_uid(f"concept {name}")


def refer(item_uid: str, name: str, weight: float = 1.0) -> None:
    """An item refers to a concept."""
    write(REFERENCE_QUERY, item_uid=item_uid, name=name, weight=weight)


@pytest.fixture
def two_libraries(graph: None) -> tuple[Place, Place]:
    """'Gear' in both libraries; 'Lathe' in the first only, 'Dragon' in the second only."""
    manuals, tales = Place("manuals"), Place("tales", "fiction")
    lathe = manuals.item("Lathe manual", ["gear one", "gear two", "gear three"])
    dragon = tales.item("The dragon", ["a gear of gold"])
    manuals.concept("Gear", {chunk_uid(lathe, n): 0.5 + n / 10 for n in range(3)}, aliases=["cogwheel"])
    tales.concept("Gear", {chunk_uid(dragon): 0.9})
    manuals.concept("Lathe", {chunk_uid(lathe, 0): 0.7})
    tales.concept("Dragon", {chunk_uid(dragon): 1.0})
    refer(lathe, "Gear", 0.4)
    manuals.image(lathe, "a drawn gear", depicts=["Gear"])
    relate("Gear", "Lathe", 0.8)
    relate("Dragon", "Gear", 0.6)
    relate("Lathe", "Dragon", 0.3)
    return manuals, tales


def test_concepts_come_by_name_with_their_counts(reader: Client, two_libraries: tuple[Place, Place]) -> None:
    body = reader.get(CONCEPTS).json()
    assert (body["count"], body["offset"], body["limit"]) == (3, 0, 50)
    assert [(row["name"], row["chunk_count"], row["item_count"], row["image_count"]) for row in body["results"]] == [
        ("Dragon", 1, 0, 0),
        ("Gear", 4, 1, 1),
        ("Lathe", 1, 0, 0),
    ]
    assert body["results"][1]["aliases"] == ["cogwheel"]
    assert body["results"][1]["uid"] == concept_uid("Gear")


@pytest.mark.parametrize(
    ("chosen", "expected"),
    [
        ({"library_uid": hex_uid("manuals")}, [("Gear", 3, 1, 1), ("Lathe", 1, 0, 0)]),
        ({"library_type": "fiction"}, [("Dragon", 1, 0, 0), ("Gear", 1, 0, 0)]),
        ({"library_uid": hex_uid("manuals"), "library_type": "fiction"}, []),
        ({"library_type": "film"}, []),
        ({"library_uid": "no such"}, []),
    ],
)
def test_a_scope_hides_and_counts_what_lies_in_it_only(
    reader: Client, two_libraries: tuple[Place, Place], chosen: dict[str, str], expected: list[Any]
) -> None:
    body = reader.get(CONCEPTS, chosen).json()
    shown = [(row["name"], row["chunk_count"], row["item_count"], row["image_count"]) for row in body["results"]]
    assert shown == expected
    assert body["count"] == len(expected)


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("gea", ["Gear"]),
        ("  GEAR ", ["Gear"]),
        ("ea", ["Gear"]),
        ("cog", ["Gear"]),
        ("x", []),
        ("a", ["Dragon", "Gear", "Lathe"]),
        ("' OR 1=1 //", []),
        ("*", []),
        ("ｇｅａｒ", ["Gear"]),
    ],
)
def test_a_name_is_looked_for_inside_names_and_aliases(
    reader: Client, two_libraries: tuple[Place, Place], text: str, names: Sequence[str]
) -> None:
    assert [row["name"] for row in reader.get(CONCEPTS, {"q": text}).json()["results"]] == names


def test_pages_of_concepts_do_not_overlap(reader: Client, two_libraries: tuple[Place, Place]) -> None:
    shown = [reader.get(CONCEPTS, {"limit": 2, "offset": start}).json()["results"] for start in (0, 2, 4)]
    assert [[row["name"] for row in page] for page in shown] == [["Dragon", "Gear"], ["Lathe"], []]


def test_an_empty_permission_set_sees_nothing_and_runs_no_query(
    two_libraries: tuple[Place, Place], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(session, "read", lambda *_: pytest.fail("a query was run"))
    nothing = Scope(frozenset())
    assert browse.concepts(nothing, "", 0, 10) == browse.ConceptList((), 0)
    assert browse.concept(nothing, concept_uid("Gear")) is None
    assert browse.concept_detail(nothing, concept_uid("Gear")) is None
    assert browse.libraries(nothing) == ()
    assert browse.image_key(nothing, hex_uid("image a drawn gear")) is None
    assert concept_graph(nothing, concept_uid("Gear"), 1, 10) is None


def test_a_concept_of_a_hidden_library_does_not_exist(two_libraries: tuple[Place, Place]) -> None:
    manuals, tales = two_libraries
    allowed = Scope(frozenset({manuals.library_uid}))
    assert browse.concept_detail(allowed, concept_uid("Dragon")) is None
    assert browse.image_key(Scope(frozenset({tales.library_uid})), hex_uid("image a drawn gear")) is None
    assert browse.image_key(allowed, hex_uid("image a drawn gear")) == hex_uid("image a drawn gear") + ".png"
    detail = browse.concept_detail(allowed, concept_uid("Gear"))
    assert detail is not None
    assert [related.name for related in detail.related] == ["Lathe"]
    assert {passage.item_title for passage in detail.passages} == {"Lathe manual"}


def test_a_type_and_a_permission_must_hold_of_one_library(graph: None) -> None:
    # In the visible library of one type and the hidden library of another: not a concept of the other type.
    seen, hidden = Place("seen", "technical"), Place("hidden", "fiction")
    seen.concept("Shared")
    hidden.concept("Shared")
    allowed = frozenset({seen.library_uid})
    assert browse.concepts(Scope(allowed, "fiction"), "", 0, 10).total == 0
    assert browse.concepts(Scope(allowed, None, hidden.collection_uid), "", 0, 10).total == 0
    assert browse.concepts(Scope(allowed, "technical", seen.collection_uid), "", 0, 10).total == 1


def test_the_detail_shows_the_strongest_first(two_libraries: tuple[Place, Place]) -> None:
    detail = browse.concept_detail(Scope(), concept_uid("Gear"))
    assert detail is not None
    assert [passage.weight for passage in detail.passages] == [0.9, 0.7, 0.6, 0.5]
    assert [(item.title, item.weight) for item in detail.items] == [("Lathe manual", 0.4)]
    assert [(related.name, related.weight) for related in detail.related] == [("Lathe", 0.8), ("Dragon", 0.6)]
    assert [image.description for image in detail.images] == ["a drawn gear"]


def test_the_graph_has_nodes_and_each_edge_once(reader: Client, two_libraries: tuple[Place, Place]) -> None:
    body = reader.get(f"{CONCEPTS}{concept_uid('Gear')}/graph/").json()
    assert (body["uid"], body["depth"], body["truncated"]) == (concept_uid("Gear"), 1, False)
    assert [(node["name"], node["kind"], node["depth"]) for node in body["nodes"]] == [
        ("Gear", "concept", 0),
        ("Lathe", "concept", 1),
        ("Dragon", "concept", 1),
        ("Lathe manual", "item", 1),
    ]
    names = {node["uid"]: node["name"] for node in body["nodes"]}
    edges = {
        (edge["type"], *sorted((names[edge["source"]], names[edge["target"]])), edge["weight"])
        for edge in body["edges"]
    }
    assert len(body["edges"]) == 4
    assert edges == {
        ("RELATED_TO", "Gear", "Lathe", 0.8),
        ("RELATED_TO", "Dragon", "Gear", 0.6),
        ("RELATED_TO", "Dragon", "Lathe", 0.3),
        ("REFERENCES", "Gear", "Lathe manual", 0.4),
    }


def test_the_graph_stays_in_scope(reader: Client, two_libraries: tuple[Place, Place]) -> None:
    path = f"{CONCEPTS}{concept_uid('Gear')}/graph/"
    body = reader.get(path, {"library_type": "fiction", "depth": "3"}).json()
    assert [node["name"] for node in body["nodes"]] == ["Gear", "Dragon"]
    assert reader.get(f"{CONCEPTS}{concept_uid('Lathe')}/graph/", {"library_type": "fiction"}).status_code == 404


@pytest.mark.parametrize(
    ("depth", "names"), [(0, ["A"]), (1, ["A", "B"]), (2, ["A", "B", "C"]), (4, ["A", "B", "C", "D"])]
)
def test_the_graph_goes_as_deep_as_asked(reader: Client, graph: None, depth: int, names: list[str]) -> None:
    place = Place("chain")
    for name in "ABCD":
        place.concept(name)
    for one, other in ("AB", "BC", "CD"):
        relate(one, other)
    body = reader.get(f"{CONCEPTS}{concept_uid('A')}/graph/", {"depth": depth}).json()
    assert [node["name"] for node in body["nodes"]] == names
    assert len(body["edges"]) == len(names) - 1


def test_a_hub_shows_its_strongest_neighbours_only(reader: Client, graph: None) -> None:
    place = Place("hub")
    place.concept("Hub")
    for number in range(40):
        place.concept(f"Spoke {number:02}")
        relate("Hub", f"Spoke {number:02}", number / 100)
    path = f"{CONCEPTS}{concept_uid('Hub')}/graph/"
    names = [node["name"] for node in reader.get(path, {"depth": 4}).json()["nodes"]]
    assert names == ["Hub"] + [f"Spoke {number:02}" for number in range(39, 27, -1)]
    small = reader.get(path, {"limit": 3}).json()
    assert [node["name"] for node in small["nodes"]] == ["Hub", "Spoke 39", "Spoke 38"]
    assert small["truncated"] is True


@pytest.mark.parametrize(
    ("parameters", "field"), [("depth=-1", "depth"), ("depth=5", "depth"), ("limit=0", "limit"), ("x=1", "x")]
)
def test_bad_parameters_of_the_graph_are_named(reader: Client, neo4j: None, parameters: str, field: str) -> None:
    answer = reader.get(f"{CONCEPTS}abc/graph/?{parameters}")
    assert (answer.status_code, list(answer.json()["error"]["fields"])) == (400, [field])


def test_an_unknown_concept_is_404_in_the_api_and_on_the_page(reader: Client, graph: None) -> None:
    answer = reader.get(f"{CONCEPTS}{'0' * 32}/graph/")
    assert (answer.status_code, answer.json()["error"]["code"]) == (404, "not_found")
    assert reader.get(f"{PAGES}{'0' * 32}/").status_code == 404


def test_the_pages_list_concepts_and_lead_to_each(reader: Client, two_libraries: tuple[Place, Place]) -> None:
    page = BeautifulSoup(reader.get(PAGES, {"q": "gear"}).content, "lxml")
    (row,) = page.select("table tbody tr")
    assert [cell.get_text() for cell in row.select("th, td")] == ["Gear", "", "4", "1", "1"]
    link = row.select_one("a")
    assert link is not None
    detail = BeautifulSoup(reader.get(str(link["href"])).content, "lxml")
    assert detail.h1 is not None
    assert detail.h1.get_text() == "Gear"
    assert [found.get_text() for found in detail.select(".chips a")] == ["Lathe", "Dragon"]
    assert [found.get_text() for found in detail.select("#passages ~ ol h3")] == ["The dragon"] + ["Lathe manual"] * 3
    assert [found["alt"] for found in detail.select(".images img")] == ["a drawn gear"]


def test_pages_of_the_list_follow_each_other(reader: Client, two_libraries: tuple[Place, Place]) -> None:
    first = BeautifulSoup(reader.get(PAGES, {"limit": "2"}).content, "lxml")
    link = first.select_one("a[rel=next]")
    assert link is not None
    second = BeautifulSoup(reader.get(PAGES + str(link["href"])).content, "lxml")
    assert [cell.get_text() for cell in second.select("tbody th")] == ["Lathe"]
    assert second.select_one("a[rel=next]") is None
