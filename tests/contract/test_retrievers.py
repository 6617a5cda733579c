"""What every retriever keeps, against a real Neo4j: one suite for all of them."""

from typing import Any

import pytest

from library.exceptions import GraphUnavailable
from library.graph import session
from library.services.retrieval import RETRIEVERS
from library.services.retrievers.base import RetrievalQuery, Retriever
from library.services.retrievers.lucene import MAX_SCOPE_CLAUSES
from library.services.types import Scope
from tests.builder import Place, chunk_uid, hex_uid, settle, unit, write

pytestmark = pytest.mark.neo4j

NEAR, FAR = 60, 25
QUERY = RetrievalQuery.of(
    "turbine blade",
    vector=unit(1.0),
    vector_top_k=20,
    fulltext_top_k=20,
    graph_top_k=20,
    image_top_k=20,
)


FILL_QUERY = """
MATCH (k:Collection {uid: $collection_uid})
MATCH (t:Concept {key: 'turbine'})
UNWIND $rows AS row
CREATE (k)-[:CONTAINS]->(i:Item {uid: row.item, title: row.title, status: 'ready', library_uid: $library_uid,
    library_type: $library_type, collection_uid: $collection_uid})
CREATE (i)-[:HAS_CHUNK]->(c:Chunk {uid: row.chunk, chunk_index: 0, text: row.text, title: row.title,
    item_uid: row.item, library_uid: $library_uid, library_type: $library_type, collection_uid: $collection_uid})
CREATE (c)-[:MENTIONS {weight: 1.0}]->(t)
CREATE (i)-[:HAS_IMAGE]->(p:Image {uid: row.image, description: row.title})-[:DEPICTS {weight: 1.0}]->(t)
CREATE (p)-[:HAS_EMBEDDING]->(e:ImageEmbedding {uid: row.image + 'e', library_uid: $library_uid,
    library_type: $library_type, collection_uid: $collection_uid})
WITH c, e, row
CALL db.create.setNodeVectorProperty(c, 'embedding', row.vector)
CALL db.create.setNodeVectorProperty(e, 'embedding', row.vector)
"""


def fill(place: Place, count: int, first_angle: float) -> None:
    """Chunks and pictures that all speak of turbines, the later the farther from the query."""
    place.concept("Turbine")
    rows = []
    for number in range(count):
        item = hex_uid(f"{place.library}/{place.collection}/Turbine {number}")
        row = {"item": item, "chunk": chunk_uid(item), "image": hex_uid(f"image of {item}")}
        row |= {"title": f"Turbine {number}", "text": f"The turbine blade number {number} turns."}
        rows.append({**row, "vector": unit(1.0, first_angle + number / 100)})
    write(FILL_QUERY, rows=rows, **place.scope)


@pytest.fixture
def filled(graph: None) -> dict[str, Place]:
    places = {
        "near": Place("near", "technical"),
        "rare": Place("rare", "music", "reports"),
        "notes": Place("rare", "music", "notes"),
    }
    fill(places["near"], NEAR, 0.0)
    fill(places["rare"], FAR, 2.0)
    fill(places["notes"], 5, 1.0)
    settle()
    return places


@pytest.fixture(params=sorted(RETRIEVERS))
def retriever(request: pytest.FixtureRequest) -> Retriever[Any]:
    return RETRIEVERS[request.param]


def uid_of(hit: Any) -> str:
    return str(getattr(hit, "chunk_uid", None) or hit.image_uid)


def items_of(place: Place, count: int) -> set[str]:
    return {hex_uid(f"{place.library}/{place.collection}/Turbine {number}") for number in range(count)}


def test_scope_is_kept_when_library_is_rare(retriever: Retriever[Any], filled: dict[str, Place]) -> None:
    rare = filled["rare"]
    for scope in (
        Scope(frozenset({rare.library_uid}), None, rare.collection_uid),
        Scope(None, None, rare.collection_uid),
        Scope(frozenset({rare.library_uid, filled["near"].library_uid}), "music", rare.collection_uid),
    ):
        hits = retriever.retrieve(QUERY, scope, 5.0)
        assert len(hits) == 20
        assert {hit.item_uid for hit in hits} <= items_of(rare, FAR)
        assert all(hit.score > 0 for hit in hits)


def test_library_type_is_kept(retriever: Retriever[Any], filled: dict[str, Place]) -> None:
    hits = retriever.retrieve(QUERY, Scope(None, "music", None), 5.0)
    assert len(hits) == 20
    assert {hit.item_uid for hit in hits} <= items_of(filled["rare"], FAR) | items_of(filled["notes"], 5)


def test_order_is_by_score_then_uid_and_always_the_same(retriever: Retriever[Any], filled: dict[str, Place]) -> None:
    hits = retriever.retrieve(QUERY, Scope(), 5.0)
    keys = [(-hit.score, uid_of(hit)) for hit in hits]
    assert keys == sorted(keys)
    assert len(hits) == 20
    assert len(set(map(uid_of, hits))) == 20
    assert retriever.retrieve(QUERY, Scope(), 5.0) == hits


def test_nothing_may_be_seen_runs_no_query(retriever: Retriever[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session, "read", lambda *args: pytest.fail("a query was run"))
    assert retriever.retrieve(QUERY, Scope(frozenset()), 5.0) == []
    nothing = RetrievalQuery.of("!!!")
    assert retriever.retrieve(nothing, Scope(), 5.0) == []


def test_an_unknown_scope_finds_nothing(retriever: Retriever[Any], filled: dict[str, Place]) -> None:
    assert retriever.retrieve(QUERY, Scope(frozenset({hex_uid("no such library")})), 5.0) == []
    assert retriever.retrieve(QUERY, Scope(None, None, "x) OR (*:*"), 5.0) == []


def test_more_libraries_than_lucene_takes_clauses(retriever: Retriever[Any], filled: dict[str, Place]) -> None:
    rare = filled["rare"]
    many = {f"{number:032x}" for number in range(MAX_SCOPE_CLAUSES + 400)}
    few = retriever.retrieve(QUERY, Scope(frozenset({rare.library_uid})), 5.0)
    hits = retriever.retrieve(QUERY, Scope(frozenset({rare.library_uid, *many})), 5.0)
    assert list(map(uid_of, hits)) == list(map(uid_of, few))
    assert len(hits) == 20


def test_a_dead_server_is_an_error_and_not_an_empty_list(
    retriever: Retriever[Any], neo4j: None, settings: Any, unused_port: int
) -> None:
    settings.NEO4J_URL = f"bolt://127.0.0.1:{unused_port}"
    with pytest.raises(GraphUnavailable):
        retriever.retrieve(QUERY, Scope(), 5.0)
