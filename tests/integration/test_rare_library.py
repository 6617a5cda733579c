"""A library that holds one chunk in a hundred loses nothing: every leg fills its limit from inside the scope."""

import random
from typing import Any

import pytest

from library.services.requests import build_request
from library.services.retrieval import RETRIEVERS
from library.services.retrievers.base import RetrievalQuery
from library.services.search import SearchService
from library.services.types import Scope
from tests.builder import Place, chunk_uid, hex_uid, settle, write
from tests.fakes import fake_models, record_models

pytestmark = [pytest.mark.neo4j, pytest.mark.django_db]

COMMON, RARE = 2970, 30
LIMIT = 20

CHUNKS_QUERY = """
MATCH (k:Collection {uid: $collection_uid})
MATCH (t:Concept {key: 'granite'})
UNWIND $rows AS row
CREATE (k)-[:CONTAINS]->(i:Item {uid: row.item, title: row.title, status: 'ready', library_uid: $library_uid,
    library_type: $library_type, collection_uid: $collection_uid})
CREATE (i)-[:HAS_CHUNK]->(c:Chunk {uid: row.chunk, chunk_index: 0, text: row.text, text_preview: row.text,
    title: row.title, item_uid: row.item, library_uid: $library_uid, library_type: $library_type,
    collection_uid: $collection_uid})
CREATE (c)-[:MENTIONS {weight: 0.5}]->(t)
WITH c, row CALL db.create.setNodeVectorProperty(c, 'embedding', row.vector)
"""


def rows(place: Place, count: int, chance: random.Random) -> list[dict[str, Any]]:
    made = []
    for number in range(count):
        item = hex_uid(f"{place.library} {number}")
        vector = [chance.gauss(0.0, 1.0) for _ in range(384)]
        text = f"Granite sample {number} from quarry {chance.randrange(50)}."
        made.append({"item": item, "chunk": chunk_uid(item), "title": f"Rock {number}", "text": text, "vector": vector})
    return made


def cosine(one: list[float], other: list[float]) -> float:
    def dot(a: list[float], b: list[float]) -> float:
        return sum(x * y for x, y in zip(a, b, strict=True))

    return float(dot(one, other) / (dot(one, one) * dot(other, other)) ** 0.5)


def test_a_library_of_one_percent_fills_every_leg(graph: None, db: None) -> None:
    chance = random.Random(20)
    common, rare = Place("common"), Place("rare")
    common.concept("Granite")
    rare.concept("Granite")
    write(CHUNKS_QUERY, rows=rows(common, COMMON, chance), **common.scope)
    inside = rows(rare, RARE, chance)
    write(CHUNKS_QUERY, rows=inside, **rare.scope)
    settle()
    record_models()
    scope = Scope(frozenset({rare.library_uid}))
    known = {row["chunk"] for row in inside}
    agreed = 0
    for _ in range(10):
        vector = [chance.gauss(0.0, 1.0) for _ in range(384)]
        query = RetrievalQuery.of(
            "granite quarry", vector=vector, vector_top_k=LIMIT, fulltext_top_k=LIMIT, graph_top_k=LIMIT
        )
        for leg in ("vector", "fulltext", "graph"):
            hits = RETRIEVERS[leg].retrieve(query, scope, 30.0)
            assert len(hits) == LIMIT, leg
            assert {hit.chunk_uid for hit in hits} <= known, leg
            assert all(hit.score > 0 for hit in hits), leg
        found = {hit.chunk_uid for hit in RETRIEVERS["vector"].retrieve(query, scope, 30.0)}
        exact = sorted(inside, key=lambda row: -cosine(vector, row["vector"]))[:LIMIT]
        agreed += len(found & {row["chunk"] for row in exact})
    assert agreed >= 0.99 * 10 * LIMIT
    with fake_models(vector):
        request = build_request("granite quarry", library_uid=rare.library_uid, limit=LIMIT)
        response = SearchService().search(request)
    assert len(response.candidates) == LIMIT
    assert {candidate.chunk_uid for candidate in response.candidates} <= known
