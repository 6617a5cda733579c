"""How a score is explained."""

import re
from typing import Any

import pytest

from library.services.explain import adds_up, breakdown_rows, hit_lines, metric_rows, number
from library.services.types import SearchCandidate

BREAKDOWN: dict[str, Any] = {
    **{"semantic_rank": 2, "semantic_score": 0.75, "lexical_rank": 1, "lexical_score": 1.0},
    **{"graph_rank": None, "graph_score": None},
    "rrf_components": {"vector": 1 / 62, "fulltext": 1 / 61},
    **{"fusion_method": "rrf", "fused_score": 1 / 62 + 1 / 61, "fused_rank": 5},
    **{"rerank_score": 0.25, "rerank_rank": 2, "graph_path": None},
}


def candidate(**changes: Any) -> SearchCandidate:
    return SearchCandidate("c", score_breakdown={**BREAKDOWN, **changes})


def test_every_leg_that_found_a_hit_has_a_line_then_the_sum_then_the_ranks() -> None:
    assert hit_lines(candidate()) == [
        "vector    semantic_rank 2  semantic_score 0.75  rrf_components.vector 0.01612903226",
        "fulltext  lexical_rank 1  lexical_score 1  rrf_components.fulltext 0.01639344262",
        "fused_score 0.03252247488 = sum of rrf_components 0.03252247488 (adds up)",
        "fusion_method rrf  fused_rank 5 -> rerank_rank 2  rerank_score 0.25  (up 3)",
    ]


@pytest.mark.parametrize(
    ("before", "after", "moved"), [(5, 2, "  (up 3)"), (2, 5, "  (down 3)"), (3, 3, ""), (None, 1, "")]
)
def test_a_move_by_the_reranker_is_told(before: int | None, after: int, moved: str) -> None:
    line = hit_lines(candidate(fused_rank=before, rerank_rank=after))[-1]
    assert line == f"fusion_method rrf  fused_rank {before} -> rerank_rank {after}  rerank_score 0.25{moved}"


def test_a_rerank_score_of_zero_is_a_score() -> None:
    assert "rerank_rank 2  rerank_score 0" in hit_lines(candidate(rerank_score=0.0))[-1]
    assert hit_lines(candidate(rerank_score=None, rerank_rank=None))[-1].endswith("fused_rank 5  not re-ranked")


def test_a_sum_that_is_not_the_fused_score_is_called_out() -> None:
    wrong = candidate(fused_score=0.04)
    assert not adds_up(wrong)
    assert "(DIFFERS by -0.00748)" in hit_lines(wrong)[2]
    assert adds_up(candidate(fused_score=BREAKDOWN["fused_score"] + 9e-10))
    assert not adds_up(candidate(fused_score=BREAKDOWN["fused_score"] + 2e-9))


def test_a_leg_without_a_name_of_its_own_in_the_breakdown_is_shown_all_the_same() -> None:
    lines = hit_lines(candidate(rrf_components={"seeded": 0.5}, fused_score=0.5))
    assert "seeded    rrf_components.seeded 0.5" in lines


def test_the_path_is_the_last_line() -> None:
    assert hit_lines(candidate(graph_path=["Kiln", "Glaze", "MENTIONS"]))[-1] == "graph_path Kiln → Glaze → MENTIONS"


def test_a_candidate_without_a_breakdown_has_nothing_to_explain() -> None:
    bare = SearchCandidate("c")
    assert (hit_lines(bare), adds_up(bare)) == ([], False)


def test_rows_are_named_as_in_the_contract_and_leave_out_what_is_unknown() -> None:
    rows = dict(breakdown_rows({**BREAKDOWN, "graph_path": ("A", "MENTIONS")}))
    assert "graph_rank" not in rows
    assert rows["rrf_components.vector"] == "0.01612903226"
    assert rows["graph_path"] == "A → MENTIONS"
    assert (rows["semantic_rank"], rows["fusion_method"]) == ("2", "rrf")


def test_numbers_have_ten_digits_that_count() -> None:
    assert number(1 / 61) == "0.01639344262"
    assert number(1e-12) == "1e-12"
    assert all(re.fullmatch(r"[\d.]+", value) for _, value in metric_rows({"total_time_ms": 1234.567, "count": 3}))
    assert metric_rows({"total_time_ms": 1234.567, "x_count": 3}) == [("total_time_ms", "1234.6"), ("x_count", "3")]
