"""What each search moves in the metrics."""

from collections.abc import Mapping
from typing import Any

import pytest
from prometheus_client import REGISTRY

from library import metrics
from library.models import AIModel, ModelAPI
from library.services.types import LegReport, SearchResponse


def snapshot() -> dict[tuple[str, tuple[tuple[str, str], ...]], float]:
    """All samples of ours."""
    return {
        (sample.name, tuple(sorted(sample.labels.items()))): sample.value
        for family in REGISTRY.collect()
        for sample in family.samples
        if sample.name.startswith("mnemosyne_") and not sample.name.endswith("_created")
    }


def moved(before: Mapping[Any, float]) -> dict[str, Any]:
    """What changed, without the buckets: 'name{label=value}' -> by how much."""
    found: dict[str, Any] = {}
    for (name, labels), value in snapshot().items():
        change = value - before.get((name, labels), 0.0)
        if change and not name.endswith("_bucket"):
            shown = ",".join(f"{key}={label}" for key, label in labels)
            found[f"{name}{{{shown}}}" if shown else name] = pytest.approx(change)
    return found


def response(**legs: LegReport) -> SearchResponse:
    """A response with these legs."""
    return SearchResponse(
        query="q",
        candidates=[],
        images=[],
        total_candidates=0,
        search_time_ms=250.0,
        reranker_used=False,
        reranker_model=None,
        search_types_used=[],
        search_strategy="hybrid",
        strategy_confidence=1.0,
        strategy_reason="",
        legs=legs,
        metrics={"fusion_time_ms": 2.0},
        degraded=False,
        warnings=[],
    )


def test_a_search_moves_each_leg_that_ran_by_one() -> None:
    before = snapshot()
    legs = {
        "vector": LegReport("ok", "", 10.0, 50),
        "fulltext": LegReport("empty", "", 4.0, 0),
        "graph": LegReport("timeout", "late", 2000.0, 0),
        "image": LegReport("skipped", "not part of this search"),
        "rerank": LegReport("ok", "", 30.0, 32),
    }
    metrics.record_search(response(**legs), "technical")
    assert moved(before) == {
        "mnemosyne_search_requests_total{library_type=technical,search_type=vector}": 1,
        "mnemosyne_search_requests_total{library_type=technical,search_type=fulltext}": 1,
        "mnemosyne_search_requests_total{library_type=technical,search_type=graph}": 1,
        "mnemosyne_search_duration_seconds_count{search_type=vector}": 1,
        "mnemosyne_search_duration_seconds_sum{search_type=vector}": 0.01,
        "mnemosyne_search_duration_seconds_count{search_type=fulltext}": 1,
        "mnemosyne_search_duration_seconds_sum{search_type=fulltext}": 0.004,
        "mnemosyne_search_duration_seconds_count{search_type=graph}": 1,
        "mnemosyne_search_duration_seconds_sum{search_type=graph}": 2.0,
        "mnemosyne_search_candidates_total_count{search_type=vector}": 1,
        "mnemosyne_search_candidates_total_sum{search_type=vector}": 50,
        "mnemosyne_search_candidates_total_count{search_type=fulltext}": 1,
        "mnemosyne_search_candidates_total_count{search_type=graph}": 1,
        "mnemosyne_fusion_duration_seconds_count": 1,
        "mnemosyne_fusion_duration_seconds_sum": 0.002,
        "mnemosyne_search_total_duration_seconds_count": 1,
        "mnemosyne_search_total_duration_seconds_sum": 0.25,
    }


@pytest.mark.parametrize("kind", [None, "cookery", "", "<script>", "a" * 32])
def test_only_a_known_type_becomes_a_label(kind: str | None) -> None:
    before = snapshot()
    metrics.observe_leg("vector", kind, 0.1, 3)
    assert moved(before)["mnemosyne_search_requests_total{library_type=all,search_type=vector}"] == 1


def test_an_unknown_leg_or_status_is_an_error() -> None:
    with pytest.raises(ValueError, match="search_type"):
        metrics.observe_leg("telepathy", None, 0.1, 3)
    with pytest.raises(ValueError, match="status"):
        metrics.record_rerank(None, "fine", 0.1, 3)


def test_only_the_name_of_a_model_record_becomes_a_label(db: None) -> None:
    api = ModelAPI.objects.create(name="a", base_url="http://a.test")
    AIModel.objects.create(api=api, name="ranker", role="reranker")
    before = snapshot()
    metrics.record_rerank("ranker", "success", 0.5, 32)
    metrics.record_rerank("something else", "timeout", 30.0, 20)
    metrics.record_rerank(None, "skipped", 0.0, 0)
    assert moved(before) == {
        "mnemosyne_rerank_requests_total{model_name=ranker,status=success}": 1,
        "mnemosyne_rerank_requests_total{model_name=none,status=timeout}": 1,
        "mnemosyne_rerank_requests_total{model_name=none,status=skipped}": 1,
        "mnemosyne_rerank_duration_seconds_count{model_name=ranker}": 1,
        "mnemosyne_rerank_duration_seconds_sum{model_name=ranker}": 0.5,
        "mnemosyne_rerank_duration_seconds_count{model_name=none}": 1,
        "mnemosyne_rerank_duration_seconds_sum{model_name=none}": 30.0,
        "mnemosyne_rerank_candidates_count": 2,
        "mnemosyne_rerank_candidates_sum": 52,
    }


@pytest.mark.parametrize("family", ["mnemosyne_search_candidates_total", "mnemosyne_rerank_candidates"])
def test_counts_have_the_buckets_of_the_contract(family: str) -> None:
    metrics.observe_leg("image", None, 0.1, 3)
    edges = {
        sample.labels["le"]
        for collected in REGISTRY.collect()
        for sample in collected.samples
        if sample.name == f"{family}_bucket"
    }
    assert edges == {"0.0", "1.0", "5.0", "10.0", "20.0", "50.0", "100.0", "200.0", "+Inf"}


def test_all_eight_families_are_exposed() -> None:
    shown = metrics.exposition().decode()
    for family, kind in {
        "mnemosyne_search_requests_total": "counter",
        "mnemosyne_search_duration_seconds": "histogram",
        "mnemosyne_search_candidates_total": "histogram",
        "mnemosyne_fusion_duration_seconds": "histogram",
        "mnemosyne_rerank_requests_total": "counter",
        "mnemosyne_rerank_duration_seconds": "histogram",
        "mnemosyne_rerank_candidates": "histogram",
        "mnemosyne_search_total_duration_seconds": "histogram",
    }.items():
        assert f"# TYPE {family} {kind}\n" in shown
