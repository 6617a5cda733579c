"""`manage.py search` in full: --explain with numbers that can be added up, grouping, context, facets."""

import json
import math
import re
from collections.abc import Iterator
from io import StringIO
from typing import Any

import pytest
from django.core.management import call_command
from requests import PreparedRequest

from library.services.types import SearchResponse
from tests.builder import Place, chunk_uid, settle, unit
from tests.fakes import RERANK_URL, fake_models, record_models

pytestmark = [pytest.mark.neo4j, pytest.mark.django_db]

# What the fake reranker gives to whom: what is fused to the third place becomes the first.
RELEVANCE = {"slept": 0.9, "salt": 0.3, "cone six": 0.2, "of ash": 0.1}
HIT = re.compile(r"^ {0,2}(\d+)\. (.+)$")
PART = re.compile(r"rrf_components\.(\w+) (\S+)")


@pytest.fixture
def shelf(graph: None, db: None, settings: Any) -> Iterator[Place]:
    """Four chunks of three items, that words, vectors and a concept each find some of."""
    settings.SEARCH_LEG_TIMEOUT = 30.0
    # Ranks that can be worked out by hand.
    settings.SEARCH_FUSION = "rrf"
    settings.SEARCH_GRAPH_SEED_HITS = 0
    place = Place("shelf")
    book = place.item(
        "Handbook",
        ["The kiln is fired with salt.", "A glaze runs in the kiln at cone six.", "Clay waits."],
        [unit(1.0, 0.2), unit(1.0, 3.0), None],
    )
    place.item("Glaze recipes", ["A glaze of ash."], [unit(1.0, 0.1)])
    tale = Place("tales", "fiction").item("The potter", ["He slept beside the fire."], [None])
    place.concept("Kiln", {chunk_uid(tale): 1.0, chunk_uid(book): 0.5})
    settle()
    record_models(reranker=True)
    with fake_models(unit(1.0)) as mock:
        mock.add_callback("POST", RERANK_URL, reranked)
        yield place


def reranked(request: PreparedRequest) -> tuple[int, dict[str, str], str]:
    """The answer of a reranker that looks for the words of `RELEVANCE`."""
    documents = json.loads(request.body or "")["documents"]
    texts = [document if isinstance(document, str) else document["text"] for document in documents]
    scores = [next(score for words, score in RELEVANCE.items() if words in text) for text in texts]
    results = [{"index": index, "relevance_score": score, "score": score} for index, score in enumerate(scores)]
    return 200, {}, json.dumps({"results": results})


def run(*arguments: str) -> str:
    out = StringIO()
    call_command("search", *arguments, stdout=out, stderr=out, no_color=True)
    return out.getvalue()


def as_json(*arguments: str) -> dict[str, Any]:
    return dict(json.loads(run(*arguments, "--json")))


def hits(text: str) -> list[tuple[str, str]]:
    """Title and printed text of each hit."""
    found: list[tuple[str, str]] = []
    for line in text.splitlines():
        heading = HIT.match(line)
        if heading is not None:
            assert int(heading[1]) == len(found) + 1
            found.append((heading[2], ""))
        elif found:
            found[-1] = (found[-1][0], f"{found[-1][1]}{line}\n")
    return found


def value(text: str, name: str) -> str:
    found = re.search(rf"\b{name} (\S+)", text)
    assert found is not None, (name, text)
    return found[1]


@pytest.mark.usefixtures("shelf")
@pytest.mark.parametrize("fusion", ["rrf", "weighted_rrf", "linear"])
def test_the_parts_of_every_hit_add_up_to_its_fused_score(fusion: str) -> None:
    query = ("kiln glaze", "--strategy", "hybrid", "--fusion", fusion)
    printed, plain = hits(run(*query, "--explain")), as_json(*query)["candidates"]
    assert len(printed) == len(plain) == 4
    legs = set()
    for (title, text), hit in zip(printed, plain, strict=True):
        parts = {leg: float(part) for leg, part in PART.findall(text)}
        fused = float(value(text, "fused_score"))
        assert math.fsum(parts.values()) == pytest.approx(fused, abs=1e-9)
        assert "(adds up)" in text
        breakdown = hit["score_breakdown"]
        assert title == hit["item_title"]
        assert parts == pytest.approx(breakdown["rrf_components"], abs=1e-9)
        assert fused == pytest.approx(breakdown["fused_score"], abs=1e-9)
        assert value(text, "fusion_method") == fusion
        for name in ("semantic", "lexical", "graph"):
            if breakdown[f"{name}_rank"] is not None:
                assert int(value(text, f"{name}_rank")) == breakdown[f"{name}_rank"]
                assert float(value(text, f"{name}_score")) == pytest.approx(breakdown[f"{name}_score"], abs=1e-9)
        legs |= set(parts)
    assert legs == {"vector", "fulltext", "graph"}


@pytest.mark.usefixtures("shelf")
def test_reranking_shows_the_old_and_the_new_rank() -> None:
    printed = hits(run("kiln glaze", "--strategy", "hybrid", "--explain"))
    ranks = [(int(value(text, "fused_rank")), int(value(text, "rerank_rank"))) for _, text in printed]
    assert ranks == [(3, 1), (1, 2), (4, 3), (2, 4)]
    assert [float(value(text, "rerank_score")) for _, text in printed] == [0.9, 0.3, 0.2, 0.1]
    assert "(up 2)" in printed[0][1]
    assert "(down 1)" in printed[1][1]
    fused = hits(run("kiln glaze", "--strategy", "hybrid", "--explain", "--no-rerank"))
    assert [int(value(text, "fused_rank")) for _, text in fused] == [1, 2, 3, 4]
    assert all("not re-ranked" in text for _, text in fused)


@pytest.mark.usefixtures("shelf")
def test_the_path_through_the_graph_is_shown() -> None:
    texts = dict(hits(run("kiln", "--strategy", "hybrid", "--explain")))
    assert "graph_path Kiln → MENTIONS" in texts["The potter"]
    assert "graph_path" not in texts["Glaze recipes"]


@pytest.mark.usefixtures("shelf")
def test_the_search_itself_is_explained() -> None:
    shown = run("How do I fix a kiln that cracks my glaze?", "--explain")
    plain = as_json("How do I fix a kiln that cracks my glaze?")
    assert value(shown, "search_strategy") == plain["search_strategy"] == "hybrid"
    assert float(value(shown, "strategy_confidence")) == pytest.approx(plain["strategy_confidence"], abs=0.005)
    assert f"strategy_reason {plain['strategy_reason']}" in shown
    assert value(shown, "question_type") == "procedural"
    assert value(shown, "reranker") == "fake-reranker"
    assert int(value(shown, "total_candidates")) == plain["total_candidates"]
    for name, leg in plain["legs"].items():
        found = re.search(rf"^leg {name} +(\w+) +([\d.]+) ms  count (\d+)", shown, re.MULTILINE)
        assert found is not None, name
        assert (found[1], int(found[3])) == (leg["status"], leg["count"])
    for name, measure in plain["metrics"].items():
        assert float(value(shown, name)) >= 0
        if name.endswith("_count"):
            assert float(value(shown, name)) == measure


@pytest.mark.usefixtures("shelf")
def test_lexical_first_shows_the_full_text_rank_that_it_did_not_add() -> None:
    printed = hits(run("kiln glaze", "--strategy", "lexical_first", "--no-rerank", "--explain"))
    assert printed != []
    for _, text in printed:
        parts = {leg: float(part) for leg, part in PART.findall(text)}
        assert parts["fulltext"] == 0
        assert parts["vector"] == pytest.approx(float(value(text, "fused_score")), abs=1e-9)
        assert int(value(text, "lexical_rank")) >= 1


def test_grouping_by_item_shows_its_best_passage_and_counts_the_others(shelf: Place) -> None:
    query = ("kiln glaze", "--strategy", "hybrid", "--no-rerank", "--group-by", "item")
    printed = hits(run(*query))
    assert sorted(title for title, _ in printed) == ["Glaze recipes", "Handbook", "The potter"]
    assert "1 more of this item" in dict(printed)["Handbook"]
    assert [hit["rank"] for hit in as_json(*query)["candidates"]] == [1, 2, 3]


def test_expand_shows_the_passages_around_a_hit_in_their_order(shelf: Place) -> None:
    ((_, text),) = hits(run("runs cone", "--strategy", "lexical", "--no-rerank", "--expand", "1"))
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    assert lines[1:4] == ["| The kiln is fired with salt.", "A glaze runs in the kiln at cone six.", "| Clay waits."]


def test_facets_count_all_candidates(shelf: Place) -> None:
    shown = run("kiln glaze", "--strategy", "hybrid", "--no-rerank", "--limit", "1", "--facets")
    assert "\nlibraries: shelf 3, tales 1\n" in shown
    assert "\nlibrary_types: technical 3, fiction 1\n" in shown
    assert "\ncollections: general 3, general 1\n" in shown
    assert "libraries:" not in run("kiln glaze", "--no-rerank")


def test_search_types_and_pictures_can_be_left_out(shelf: Place) -> None:
    found = as_json("kiln", "--no-rerank", "--search-types", "fulltext, graph", "--no-images")
    assert sorted(found["search_types_used"]) == ["fulltext", "graph"]
    assert found["legs"]["image"]["status"] == found["legs"]["vector"]["status"] == "skipped"


def test_no_good_match_is_said(shelf: Place, settings: Any) -> None:
    settings.SEARCH_RELEVANCE_FLOOR = 1.0
    notice = "No good match: the nearest passages are shown."
    assert run("quux flurb", "--strategy", "semantic", "--no-rerank").startswith(notice)
    assert notice not in run("kiln", "--strategy", "lexical", "--no-rerank")


def test_explain_changes_nothing_of_the_json(shelf: Place) -> None:
    names = SearchResponse.__dataclass_fields__
    found = as_json("kiln", "--no-rerank", "--explain")
    assert list(found) == list(names)


def test_what_a_document_holds_does_not_steer_the_terminal(shelf: Place) -> None:
    shelf.item("Bell\x07 and \x1b[31mred", ["Xylophone \x1b]0;owned\x07 \x9b2J keys"])
    settle()
    shown = run("xylophone", "--strategy", "lexical", "--no-rerank", "--explain")
    assert "Xylophone" in shown
    assert [character for character in shown if not character.isprintable() and character != "\n"] == []
