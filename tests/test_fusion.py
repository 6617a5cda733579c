"""Fusion, by numbers worked out by hand."""

import math
import os
import subprocess
import sys

import pytest

from library.services.fusion import (
    linear_fusion,
    reciprocal_rank_fusion,
    weighted_reciprocal_rank_fusion,
)
from library.services.normalise import divide_by_highest, min_max
from library.services.types import SearchCandidate


def ranked(source: str, *names: str, scores: tuple[float, ...] | None = None) -> list[SearchCandidate]:
    given = scores if scores is not None else tuple(1.0 / n for n in range(1, len(names) + 1))
    return [
        SearchCandidate(chunk_uid=name, score=score, source=source) for name, score in zip(names, given, strict=True)
    ]


def scores(fused: list[SearchCandidate]) -> dict[str, float]:
    return {candidate.chunk_uid: round(candidate.score, 7) for candidate in fused}


def test_rrf_gives_the_worked_example_of_the_contract() -> None:
    fused = reciprocal_rank_fusion(
        [ranked("vector", "doc1", "doc2", "doc3"), ranked("fulltext", "doc1", "doc4", "doc2")]
    )
    assert [candidate.chunk_uid for candidate in fused] == ["doc1", "doc2", "doc4", "doc3"]
    assert scores(fused) == {"doc1": 0.0327869, "doc2": 0.0320020, "doc4": 0.0161290, "doc3": 0.0158730}


def test_rank_counts_from_one_and_a_missing_chunk_has_no_rank() -> None:
    fused = reciprocal_rank_fusion([ranked("vector", "A", "B", "C"), ranked("fulltext", "D", "C", "E")])
    assert list(scores(fused).items()) == [
        ("C", 0.0320020),
        ("A", 0.0163934),
        ("D", 0.0163934),
        ("B", 0.0161290),
        ("E", 0.0158730),
    ]


TIES_SCRIPT = """
from library.services.fusion import reciprocal_rank_fusion as rrf
from library.services.normalise import divide_by_highest, min_max
from library.services.types import SearchCandidate as C
lists = [[C(chunk_uid=n, source=s) for n in names] for s, names in (("vector", "YX"), ("fulltext", "XY"))]
print([(c.chunk_uid, round(c.score, 7)) for c in rrf(lists)], rrf(lists)[:1][0].chunk_uid)
"""


def test_ties_are_broken_by_uid_in_every_process() -> None:
    seen = {
        subprocess.run(
            [sys.executable, "-c", TIES_SCRIPT],
            env={**os.environ, "PYTHONHASHSEED": str(seed)},
            capture_output=True,
            text=True,
            check=True,
        ).stdout.strip()
        for seed in range(20)
    }
    assert seen == {"[('X', 0.0325225), ('Y', 0.0325225)] X"}


def test_a_repeated_chunk_counts_once_at_its_best_rank() -> None:
    fused = reciprocal_rank_fusion([ranked("vector", "A", "B", "A")])
    assert scores(fused) == {"A": round(1 / 61, 7), "B": round(1 / 62, 7)}


def test_components_add_up_to_the_fused_score_and_name_the_leading_leg() -> None:
    fused = weighted_reciprocal_rank_fusion(
        [ranked("vector", "A", "B"), ranked("fulltext", "B", "A"), ranked("graph", "A")],
        {"vector": 0.7, "fulltext": 0.3, "graph": 0.1},
        k=10,
    )
    for candidate in fused:
        parts = candidate.score_breakdown["rrf_components"]
        assert math.isclose(math.fsum(parts.values()), candidate.score_breakdown["fused_score"], abs_tol=1e-12)
    best = fused[0]
    assert best.chunk_uid == "A"
    assert best.source == "vector"
    assert best.score_breakdown["semantic_rank"] == 1
    assert best.score_breakdown["lexical_rank"] == 2
    assert best.score_breakdown["graph_rank"] == 1
    assert best.score == pytest.approx(0.7 / 11 + 0.3 / 12 + 0.1 / 11, abs=1e-12)


def test_weights_change_the_order_where_they_should() -> None:
    lists = [ranked("vector", "A", "B"), ranked("fulltext", "B", "A")]
    first = [weighted_reciprocal_rank_fusion(lists, {"vector": w})[0].chunk_uid for w in (2.0, 0.5)]
    assert first == ["A", "B"]


def test_linear_fusion_stretches_each_list() -> None:
    fused = linear_fusion(
        [ranked("vector", "A", "B", "C", scores=(0.9, 0.6, 0.5)), ranked("fulltext", "C", "B", scores=(8.0, 2.0))],
        {"vector": 0.6, "fulltext": 0.4},
    )
    # A: .6 x 1; B: .6 x .25 + .4 x 0; C: .6 x 0 + .4 x 1
    assert scores(fused) == {"A": 0.6, "C": 0.4, "B": 0.15}
    assert fused[0].score_breakdown["fusion_method"] == "linear"


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ([], []),
        ([3.0], [1.0]),
        ([2.0, 2.0], [1.0, 1.0]),
        ([0.0, 0.0], [0.0, 0.0]),
        ([4.0, 1.0, 2.0], [1.0, 0.0, 1 / 3]),
    ],
)
def test_min_max_of_degenerate_lists(given: list[float], expected: list[float]) -> None:
    assert min_max(given) == expected


@pytest.mark.parametrize(
    ("given", "expected"), [([0.0, 0.0], [0.0, 0.0]), ([7.5, 3.0], [1.0, 0.4]), ([], []), ([-1.0], [0.0])]
)
def test_dividing_by_the_highest_never_divides_by_zero(given: list[float], expected: list[float]) -> None:
    assert divide_by_highest(given) == expected


def test_scores_of_zero_keep_order_by_uid() -> None:
    fused = linear_fusion([ranked("fulltext", "B", "A", scores=(0.0, 0.0))], {})
    assert [(candidate.chunk_uid, candidate.score) for candidate in fused] == [("A", 0.0), ("B", 0.0)]


def test_nothing_fuses_to_nothing() -> None:
    assert reciprocal_rank_fusion([[], []]) == []


def test_graph_path_moves_into_the_breakdown() -> None:
    hit = SearchCandidate(chunk_uid="A", source="graph", score=1.0, metadata={"graph_path": ["Lathe", "MENTIONS"]})
    fused = reciprocal_rank_fusion([[hit]])
    assert fused[0].score_breakdown["graph_path"] == ["Lathe", "MENTIONS"]
    assert "graph_path" not in fused[0].metadata
