"""What of a user's text reaches Lucene."""

import json

import pytest

from library.services.retrievers.lucene import (
    LISTED_SCOPE,
    MAX_SCOPE_CLAUSES,
    SafeText,
    safe_text,
    scoped_queries,
    text_clause,
)
from library.services.types import Scope
from tests.shared import case_file


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("lathe ++ AND (", ("lathe", "AND")),
        ("lathe /opt/feed", ("lathe", "opt", "feed")),
        ("C:\\users\\lathe", ("C", "users", "lathe")),
        ("kubernetes.io 8080:80", ("kubernetes.io", "8080:80")),
        ("don't", ("don't",)),
        ("_ __ -", ()),
        ("😀", ()),
        ("Pru\u0308fgro\u0308\u00dfe", ("Pr\u00fcfgr\u00f6\u00dfe",)),
        ("\u1110\u1166\u1109\u1173\u1110\u1173", ("\ud14c\uc2a4\ud2b8",)),
    ],
)
def test_only_words_are_left(text: str, words: tuple[str, ...]) -> None:
    assert safe_text(text, 64).words == words


def test_no_syntax_is_left_in_the_error_queries() -> None:
    for text in json.loads(case_file("01_lucene_error_queries.json").read_text()):
        for query in scoped_queries(text_clause(safe_text(text, 64).words, {"text": 1.0}), Scope()):
            inside = query.removeprefix("+(text:(").removesuffix(")^1)")
            assert not set(inside) & set('+-&|!(){}[]^"~*?/')


def test_operators_become_words() -> None:
    assert scoped_queries(text_clause(("NOT", "AND", "OR", "TO"), {"text": 1.0}), Scope()) == [
        "+(text:(not and or to)^1)"
    ]


@pytest.mark.parametrize(
    ("text", "searchable"), [("the of", False), ("The OF a", False), ("the lathe", True), ("", False)]
)
def test_stop_words_alone_are_not_searchable(text: str, searchable: bool) -> None:
    assert safe_text(text, 64).is_searchable is searchable


def test_a_long_query_is_cut_and_says_so() -> None:
    assert safe_text("one two three four", 3) == SafeText(("one", "two", "three"), cut=True)
    assert safe_text("a.b.c.d", 3) == SafeText((), cut=True)


def test_the_scope_counts_nothing() -> None:
    scope = Scope(frozenset({"b1", "a1"}), "music", "c1")
    assert scoped_queries(text_clause(("drum",), {"text": 1.0, "title": 0.5}), scope) == [
        "+(text:(drum)^1 title:(drum)^0.5) +library_uid:(a1 b1)^0 +library_type:music^0 +collection_uid:c1^0"
    ]
    assert scoped_queries(text_clause(("drum",), {"name": 1.0}), Scope(frozenset({"a1"})), LISTED_SCOPE) == [
        "+(name:(drum)^1) +library_uids:(a1)^0"
    ]


def test_more_libraries_than_clauses_make_several_queries() -> None:
    uids = frozenset(f"{number:032x}" for number in range(MAX_SCOPE_CLAUSES + 1))
    queries = scoped_queries("+drum", Scope(uids))
    assert len(queries) == 2
    assert sum(query.count("0" * 20) for query in queries) == MAX_SCOPE_CLAUSES + 1


def test_an_empty_scope_or_no_words_make_no_query() -> None:
    assert scoped_queries("+drum", Scope(frozenset())) == []
    assert scoped_queries(text_clause((), {"text": 1.0}), Scope()) == []


def test_a_hostile_uid_matches_nothing_and_adds_no_syntax() -> None:
    scope = Scope(frozenset({"x) OR text:(secret"}), None, "*")
    assert scoped_queries(text_clause(("drum",), {"text": 1.0}), scope) == [
        "+(text:(drum)^1) +library_uid:(0nothing0)^0 +collection_uid:0nothing0^0"
    ]
