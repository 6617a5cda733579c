"""Targets and the page of the figures."""

import pytest

from benchmarks.report import BEGIN, END, replaced
from benchmarks.targets import Target, with_growth


def test_a_target_reads_its_figure_and_judges_it() -> None:
    at_most, at_least = Target("x", ("small", "ratio"), most=1.0), Target("y", ("small", "recall"), least=0.97)
    results = {"small": {"ratio": 1.2, "recall": 0.98}}

    assert at_most.value(results) == 1.2
    assert not at_most.is_met(1.2)
    assert at_most.is_met(1.0)
    assert at_least.is_met(0.98)
    assert not at_least.is_met(0.9)
    assert at_most.value({}) is None


def test_growth_is_large_over_small() -> None:
    sizes = {size: {"latency": {"p50_ms": {"hybrid": ms}}} for size, ms in (("small", 10.0), ("large", 25.0))}

    assert with_growth(sizes)["growth"] == {"hybrid": 2.5}


def test_only_what_stands_between_the_marks_is_replaced() -> None:
    page = f"before\n{BEGIN}\nold\n{END}\nafter\n"

    made = replaced(page, "| new |\n")

    assert made.startswith("before\n") and made.endswith("after\n")
    assert "| new |" in made and "old" not in made
    assert replaced(made, "| new |\n") == made


def test_a_page_without_marks_is_refused() -> None:
    with pytest.raises(ValueError, match="begin"):
        replaced("no marks", "x")
