"""Highlighting and the JSON form of answers."""

import json
from collections import OrderedDict
from datetime import UTC, datetime

import pytest

from library.services.present import (
    as_plain,
    legs_line,
    one_line,
    passage_segments,
    place,
    printable,
    query_words,
    segments,
)
from library.services.present import marked as marked_at
from library.services.types import SearchCandidate


def marked(text: str, query: str) -> str:
    """The text with brackets around what is highlighted."""
    return "".join(f"[{s.text}]" if s.hit else s.text for s in segments(text, query_words(query)))


@pytest.mark.parametrize(
    ("text", "query", "shown"),
    [
        ("The lathe turns.", "lathe", "The [lathe] turns."),
        ("Lathes and LATHE", "lathe", "[Lathes] and [LATHE]"),
        ("Generators yield", "generator yields", "[Generators] [yield]"),
        ("studies", "study", "[studies]"),
        ("glass bus us", "glas bu u", "glass bus us"),
        ("blade & rotor", "amp", "blade & rotor"),
        ("&amp; amp", "amp", "&[amp]; [amp]"),
        ("</mark><script>", "mark", "</[mark]><script>"),
        ("lather", "lathe", "lather"),
        ("the cat", "the cat", "the [cat]"),
        ("the cat", "the", "[the] cat"),
        ("Cafe\u0301 noir", "café", "[Cafe\u0301] noir"),
        ("Café noir", "cafe\u0301", "[Café] noir"),
        ("STRASSE straße", "straße", "[STRASSE] [straße]"),
        ("ﬁne İstanbul", "fine", "[ﬁne] İstanbul"),
        ("शिक्षा का घर", "शिक्षा", "[शिक्षा] का घर"),
        ("שָׁלוֹם רב", "שלום", "[שָׁלוֹם] רב"),
        ("\u1110\u1166\u1109\u1173\u1110\u1173 1", "테스트", "[\u1110\u1166\u1109\u1173\u1110\u1173] 1"),
        ("nothing", "", "nothing"),
        ("", "query", ""),
        ("a {{ 7|add:7 }}", "{{ 7|add:7 }}", "a {{ [7]|[add]:[7] }}"),
    ],
)
def test_whole_words_of_the_query_are_highlighted(text: str, query: str, shown: str) -> None:
    assert marked(text, query) == shown


@pytest.mark.parametrize("text", ["<b>amp &amp; mark</b>", "a\u0301b\u0301 \u0301", "ﬁ ß İ 😀 x", "\r\n tab\t"])
def test_the_pieces_put_together_are_the_text(text: str) -> None:
    pieces = segments(text, query_words("amp mark x b ß"))
    assert "".join(piece.text for piece in pieces) == text
    assert all(piece.text for piece in pieces)


@pytest.mark.parametrize(
    ("highlights", "shown"),
    [
        ([(0, 2), (4, 6)], "[ab]cd[ef]"),
        ([[0, 6]], "[abcdef]"),
        ([(2, 4), (3, 5), (4, 5)], "ab[cd][e]f"),
        ([(-1, 2), (3, 3), (5, 4), (5, 7), (9, 12)], "abcdef"),
        ([], "abcdef"),
    ],
)
def test_highlights_that_do_not_fit_the_text_are_passed_over(highlights: list[tuple[int, int]], shown: str) -> None:
    assert "".join(f"[{s.text}]" if s.hit else s.text for s in marked_at("abcdef", highlights)) == shown


def hit(text: str, start: int, end: int, *highlights: tuple[int, int]) -> SearchCandidate:
    """A candidate whose passage is a part of its text."""
    passage = {"text": text[start:end], "start": start, "highlights": highlights}
    return SearchCandidate("c", text=text, text_preview="preview", metadata={"passage": passage})


@pytest.mark.parametrize(
    ("candidate", "shown"),
    [
        (hit("a lathe turns", 0, 13, (2, 7)), "a [lathe] turns"),
        (hit("a lathe turns", 2, 7, (0, 5)), "… [lathe] …"),
        (hit("a lathe turns \n", 2, 13, (0, 5)), "… [lathe] turns"),
        (hit("", 0, 0), "preview"),
        (SearchCandidate("c", text_preview="<b>"), "<b>"),
    ],
)
def test_a_passage_is_shown_with_its_words_and_where_the_chunk_goes_on(candidate: SearchCandidate, shown: str) -> None:
    pieces = passage_segments(candidate)
    assert "".join(f"[{piece.text}]" if piece.hit else piece.text for piece in pieces) == shown


def test_what_steers_a_terminal_is_left_out() -> None:
    assert printable("a\x1b[31mb\x9b2J\u202ec\x7f") == "a [31mb 2J c "
    assert one_line(" a\r\n\x1b b\u0301\u00a0ß ") == "a b\u0301 ß"


def test_numbers_that_json_cannot_carry_become_null() -> None:
    plain = as_plain({"a": float("nan"), "b": [float("inf"), -float("inf"), 0.0, 1]})
    assert json.loads(json.dumps(plain, allow_nan=False)) == {"a": None, "b": [None, None, 0.0, 1]}


def test_containers_become_json_types() -> None:
    value = OrderedDict(a=(1, 2), b=frozenset({"y", "x"}), c=datetime(2026, 1, 2, 3, 4, tzinfo=UTC))
    assert as_plain(value) == {"a": [1, 2], "b": ["x", "y"], "c": "2026-01-02T03:04:00+00:00"}


def test_what_has_no_json_form_is_an_error_and_not_a_guess() -> None:
    with pytest.raises(TypeError, match="bytes"):
        as_plain({"a": b"x"})


def test_the_legs_are_told_on_one_line() -> None:
    legs = {
        "vector": {"status": "ok", "reason": "", "time_ms": 3.14, "count": 12},
        "graph": {"status": "timeout", "reason": "too late", "time_ms": 2000.0, "count": 0},
        "rerank": {"status": "skipped", "reason": "not asked for", "time_ms": 0.0, "count": 0},
    }
    assert legs_line(legs.items()) == (
        "vector ok 12 in 3.1 ms; graph timeout 0 in 2000.0 ms (too late); rerank skipped (not asked for)"
    )


@pytest.mark.parametrize(
    ("metadata", "shown"),
    [
        ({}, ""),
        ({"section": "A", "page": 3}, "A, page 3"),
        ({"section": "", "page": 0}, "page 0"),
        ({"page": None}, ""),
    ],
)
def test_the_place_names_what_is_known(metadata: dict[str, object], shown: str) -> None:
    assert place(metadata) == shown
