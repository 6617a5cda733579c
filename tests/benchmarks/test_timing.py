"""Sides asked in turn, and what their times say."""

import pytest

from benchmarks.timing import Ask, Times, alternate, medians, overlap, percentile


def test_who_is_asked_first_moves_on() -> None:
    asked: list[str] = []

    def side(name: str) -> Ask:
        def ask(question: int) -> list[str]:
            asked.append(name)
            return [name]

        return ask

    alternate({"a": side("a"), "b": side("b")}, [0, 1])

    assert asked == ["a", "b", "b", "a"]


def test_a_question_that_one_side_failed_counts_for_none() -> None:
    times = {"a": Times({0: 10.0, 1: 30.0}), "b": Times({1: 5.0}, {0: "boom"})}

    assert medians(times) == {"a": 30.0, "b": 5.0}


def test_no_common_question_is_an_error_that_says_why() -> None:
    with pytest.raises(ValueError, match="boom"):
        medians({"a": Times({0: 10.0}), "b": Times({}, {0: "boom"})})


def test_a_failing_side_is_recorded_and_the_others_go_on() -> None:
    def fail(question: int) -> list[str]:
        raise RuntimeError(f"no {question}")

    times = alternate({"good": lambda question: [question], "bad": fail}, [7])

    assert times["good"].answers == {7: [7]}
    assert times["bad"].failed == {7: "RuntimeError: no 7"}
    assert times["bad"].ms == {}


def test_percentile_and_overlap() -> None:
    assert percentile([float(n) for n in range(1, 101)], 0.95) == 95.0
    assert overlap(["a", "x"], ["a", "b"]) == 0.5
    assert overlap([], []) == 1.0
