"""The strategies, and what falls back to what, against a real Neo4j."""

import math
from collections.abc import Iterator
from typing import Any

import pytest
import requests
import responses

from library.exceptions import EmbeddingUnavailable, GraphTimeout
from library.services.requests import build_request
from library.services.search import SearchService
from library.services.types import SearchResponse
from tests.builder import Place, chunk_uid, settle, unit
from tests.fakes import EMBEDDINGS_URL, fake_models, record_models

pytestmark = [pytest.mark.neo4j, pytest.mark.django_db]


@pytest.fixture
def shelf(graph: None) -> Place:
    """Words and vectors that disagree: the best match by words is the farthest by vector."""
    place = Place("shelf")
    place.item("Kiln", ["kiln kiln kiln glaze"], [unit(1.0, 3.0)])
    place.item("Glaze", ["a glaze for the kiln, long and with many other words in it"], [unit(1.0, 0.5)])
    place.item("Clay", ["clay is dug by the river"], [unit(1.0, 0.1)])
    place.item("Fault", ["The firing stopped with code E11000 at cone six."], [unit(0.0, 1.0)])
    settle()
    return place


@pytest.fixture
def models(db: None) -> Iterator[responses.RequestsMock]:
    record_models()
    with fake_models(unit(1.0)) as mock:
        yield mock


def search(query: str, **given: Any) -> SearchResponse:
    return SearchService().search(build_request(query, **given))


def titles(response: SearchResponse) -> list[str]:
    return [candidate.item_title for candidate in response.candidates]


def test_lexical_first_ranks_what_has_the_words_by_vector(shelf: Place, models: responses.RequestsMock) -> None:
    response = search("kiln glaze", strategy="lexical_first")
    assert titles(response) == ["Glaze", "Kiln"]
    first, second = (candidate.score_breakdown for candidate in response.candidates)
    assert (first["semantic_rank"], first["lexical_rank"]) == (1, 2)
    assert (second["semantic_rank"], second["lexical_rank"], second["lexical_score"]) == (2, 1, 1.0)
    assert first["fusion_method"] == "lexical_first"
    assert first["fused_score"] == pytest.approx((1 + 1 / math.sqrt(1.25)) / 2, abs=1e-4)
    assert math.fsum(first["rrf_components"].values()) == pytest.approx(first["fused_score"], abs=1e-9)
    assert response.legs["fulltext"].count == response.legs["vector"].count == 2
    assert titles(search("kiln glaze", strategy="lexical"))[0] == "Kiln"
    assert titles(search("kiln glaze", strategy="semantic"))[0] == "Clay"


def test_lexical_first_without_an_embedding_is_lexical(shelf: Place, db: None) -> None:
    record_models()
    with responses.RequestsMock() as mock:
        mock.add("POST", EMBEDDINGS_URL, body=requests.ConnectionError("refused"))
        response = search("kiln glaze", strategy="lexical_first")
    assert titles(response)[0] == "Kiln"
    assert response.degraded
    assert response.legs["vector"].status == "skipped"


def test_lexical_first_shows_ten_where_the_caller_does_not_say() -> None:
    assert build_request("kiln", strategy="lexical_first").limit == 10
    assert build_request("kiln", strategy="lexical_first", limit=30).limit == 30


def test_a_code_is_looked_up_by_its_letters(shelf: Place, models: responses.RequestsMock) -> None:
    response = search("E11000")
    assert response.search_strategy.startswith("lexical")
    assert titles(response) == ["Fault"]


def test_a_code_that_is_nowhere_falls_back_to_hybrid(shelf: Place, models: responses.RequestsMock) -> None:
    response = search("E11999")
    assert response.search_strategy == "hybrid"
    assert "it found nothing" in response.strategy_reason
    assert any("-> hybrid" in warning for warning in response.warnings)
    assert titles(response)[0] == "Clay"


def test_hybrid_without_vectors_says_that_it_came_down_to_lexical(shelf: Place, db: None) -> None:
    record_models()
    with responses.RequestsMock() as mock:
        mock.add("POST", EMBEDDINGS_URL, body=requests.ConnectionError("refused"))
        response = search("how is the kiln glazed by hand")
        assert response.search_strategy == "lexical"
        assert "hybrid -> lexical" in response.strategy_reason
        with pytest.raises(EmbeddingUnavailable):
            search("how is the kiln glazed by hand", strategy="semantic")


@pytest.mark.parametrize("fusion", ["rrf", "weighted_rrf", "linear"])
def test_every_fusion_explains_its_scores(shelf: Place, models: responses.RequestsMock, fusion: str) -> None:
    response = search("kiln glaze", fusion=fusion, strategy="hybrid")
    assert len(response.candidates) == 4
    for candidate in response.candidates:
        breakdown = candidate.score_breakdown
        assert breakdown["fusion_method"] == fusion
        assert math.fsum(breakdown["rrf_components"].values()) == pytest.approx(breakdown["fused_score"], abs=1e-9)
        assert candidate.score == breakdown["fused_score"]


def test_weights_of_the_settings_change_the_order(shelf: Place, models: responses.RequestsMock, settings: Any) -> None:
    firsts = []
    for vector, fulltext in ((5.0, 0.01), (0.01, 5.0)):
        settings.SEARCH_WEIGHT_VECTOR, settings.SEARCH_WEIGHT_FULLTEXT = vector, fulltext
        firsts.append(titles(search("kiln glaze", fusion="weighted_rrf", strategy="hybrid"))[0])
    assert firsts == ["Clay", "Kiln"]


class TestResults:
    """What is made of the ranked list."""

    @pytest.fixture
    def books(self, graph: None) -> Place:
        place = Place("books", "fiction", "novels")
        texts = [f"Chapter {number}: the lighthouse stood there." for number in range(5)]
        place.item("Long book", texts, [unit(1.0, number / 10) for number in range(5)])
        place.item("Short book", ["One lighthouse."], [unit(1.0, 2.0)])
        other = Place("songs", "music")
        other.item("Song", ["The lighthouse song."], [unit(1.0, 1.0)])
        settle()
        return place

    def test_one_an_item_counts_the_others(self, books: Place, models: responses.RequestsMock) -> None:
        response = search("lighthouse", group_by="item", strategy="semantic")
        assert titles(response) == ["Long book", "Song", "Short book"]
        assert [candidate.metadata["other_chunks"] for candidate in response.candidates] == [4, 0, 0]
        assert [candidate.rank for candidate in response.candidates] == [1, 2, 3]
        second = search("lighthouse", group_by="item", strategy="semantic", limit=1, offset=1)
        assert titles(second) == ["Song"]

    def test_context_is_the_chunks_around(self, books: Place, models: responses.RequestsMock) -> None:
        response = search("lighthouse", strategy="semantic", expand=1, library_uid=books.library_uid)
        by_index = {c.chunk_index: c.metadata["context"] for c in response.candidates if c.item_title == "Long book"}
        assert [near["chunk_index"] for near in by_index[0]] == [1]
        assert [near["chunk_index"] for near in by_index[2]] == [1, 3]
        assert by_index[0][0]["text"] == "Chapter 1: the lighthouse stood there."
        assert "context" not in search("lighthouse").candidates[0].metadata

    def test_facets_count_all_candidates_whatever_the_page(self, books: Place, models: responses.RequestsMock) -> None:
        facets = search("lighthouse", limit=1, facets=True).facets
        assert facets is not None
        assert [(count.label, count.count) for count in facets.libraries] == [("books", 6), ("songs", 1)]
        assert [(count.value, count.count) for count in facets.library_types] == [("fiction", 6), ("music", 1)]
        assert [(count.label, count.count) for count in facets.collections] == [("novels", 6), ("general", 1)]
        assert search("lighthouse").facets is None

    def test_a_passage_has_the_offsets_of_the_words(self, books: Place, models: responses.RequestsMock) -> None:
        for candidate in search("the lighthouses").candidates:
            passage = candidate.metadata["passage"]
            shown = [passage["text"][start:end] for start, end in passage["highlights"]]
            assert shown == ["lighthouse"]

    def test_nonsense_has_no_good_match(self, books: Place, models: responses.RequestsMock, settings: Any) -> None:
        settings.SEARCH_RELEVANCE_FLOOR = 0.999
        place = Place("far")
        assert search("xqzt", library_uid=books.library_uid, strategy="hybrid").no_good_match is False
        assert search("xqzt", library_uid=place.library_uid, strategy="hybrid").no_good_match is True
        place.item("Far", ["Nothing near."], [unit(0.0, 1.0)])
        settle()
        assert search("xqzt", library_uid=place.library_uid, strategy="hybrid").no_good_match is True
        assert search("nothing near", library_uid=place.library_uid, strategy="hybrid").no_good_match is False


class TestQueryLanguage:
    """Operators hold for the hits of every leg."""

    @pytest.fixture
    def notes(self, graph: None) -> Place:
        place = Place("notes")
        texts = {
            "Salt": "The salt kiln was fired at night.",
            "Gas": "The gas kiln was salted, then fired.",
            "Wood": "A kiln that burns wood.",
        }
        for number, (title, text) in enumerate(texts.items()):
            item = place.item(title, [text], [unit(1.0, number / 10)])
            place.concept("Kiln")
            place.image(item, f"{title} kiln picture", unit(1.0, number / 10), depicts=["Kiln"])
            place.concept("Kiln", {chunk_uid(item): 1.0})
        settle()
        return place

    @pytest.mark.parametrize("leg", ["vector", "fulltext", "graph"])
    @pytest.mark.parametrize(
        ("query", "expected"),
        [
            ('"salt kiln"', {"Salt"}),
            ('kiln -"salt kiln"', {"Gas", "Wood"}),
            ("kiln -salt", {"Gas", "Wood"}),
            ("kiln +salted", {"Gas"}),
            ("kiln title:wood", {"Wood"}),
            ("kiln +fired -gas", {"Salt"}),
            ("kiln", {"Salt", "Gas", "Wood"}),
            ('"kiln salt"', set()),
            ('kiln "of the', {"Salt", "Gas", "Wood"}),
        ],
    )
    def test_operators(
        self, notes: Place, models: responses.RequestsMock, leg: str, query: str, expected: set[str]
    ) -> None:
        response = search(query, search_types=[leg], include_images=False)
        assert set(titles(response)) == expected
        if leg == "vector":
            assert len(response.candidates) == len(expected)

    @pytest.mark.parametrize(
        ("query", "expected"),
        [
            ("kiln picture", 3),
            ("kiln picture -gas", 2),
            ('"wood kiln"', 1),
            ("kiln +title:salt", 1),
            ("kiln title:salt", 1),
        ],
    )
    def test_operators_hold_for_pictures(
        self, notes: Place, models: responses.RequestsMock, query: str, expected: int
    ) -> None:
        assert len(search(query).images) == expected

    def test_what_is_ignored_is_said(self, notes: Place, models: responses.RequestsMock) -> None:
        response = search("kiln~2 author:me")
        assert len(response.warnings) == 2
        assert len(response.candidates) == 3
        only = search("-kiln")
        assert only.candidates == []
        assert any("not wanted" in warning for warning in only.warnings)


def test_facets_that_cannot_be_read_cost_the_facets_only(
    shelf: Place, models: responses.RequestsMock, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(uids: list[str], timeout: float) -> Any:
        raise GraphTimeout("its time was up")

    monkeypatch.setattr("library.services.results.facet_counts", broken)
    response = search("kiln glaze", facets=True)
    assert response.facets is None
    assert response.degraded
    assert len(response.candidates) == 4
    assert any("facets" in warning for warning in response.warnings)


def test_concepts_of_the_nearest_passages_lead_to_what_no_word_or_vector_of_the_query_finds(
    graph: None, models: responses.RequestsMock, settings: Any
) -> None:
    place = Place("films")
    song = place.item("Song", ["The ballad was written by Ada Quill."], [unit(1.0)])
    writer = place.item("Writer", ["Born in a mill town."], [unit(0.0, 1.0)])
    for number in range(5):
        place.item(f"Other {number}", ["Other things."], [unit(1.0, 1 + number)])
    place.concept("Ada Quill", {chunk_uid(song): 0.8, chunk_uid(writer): 1.0})
    settle()
    asked = {"vector_top_k": 3, "include_images": False}
    response = search("who wrote the ballad", **asked)
    found = next(candidate for candidate in response.candidates if candidate.item_title == "Writer")
    assert found.source == "graph"
    assert found.score_breakdown["graph_path"] == ["Song", "Ada Quill", "MENTIONS"]
    assert response.legs["graph"].count == 1
    settings.SEARCH_GRAPH_SEED_HITS = 0
    assert "Writer" not in titles(search("who wrote the ballad", **asked))
    settings.SEARCH_GRAPH_SEED_HITS = 2
    assert "Writer" not in titles(search("who wrote the ballad", **asked, search_types=["vector", "fulltext"]))
    hidden = build_request("who wrote the ballad", **asked, allowed_library_uids=frozenset({"0"}))
    assert SearchService().search(hidden).candidates == []
