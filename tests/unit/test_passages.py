"""Which part of a chunk is shown."""

import unicodedata
from typing import Literal

import pytest

from library.services.passages import best_passage
from library.services.present import query_words

FILLER = "Nothing of note is said in this sentence at all. " * 20


def test_the_window_with_most_different_words_wins() -> None:
    text = f"{FILLER}The lathe, a lathe, one more lathe. {FILLER}The feed of the lathe is set here. {FILLER}"
    passage = best_passage(text, query_words("lathe feed"), 120)
    assert "The feed of the lathe is set here." in passage.text
    assert len(passage.text) <= 120
    assert [passage.text[start:end] for start, end in passage.highlights] == ["feed", "lathe"]
    assert text[passage.start : passage.start + len(passage.text)] == passage.text


@pytest.mark.parametrize("form", ["NFC", "NFD"])
def test_offsets_are_right_for_both_forms_of_a_letter(form: Literal["NFC", "NFD"]) -> None:
    text = unicodedata.normalize(form, f"{FILLER}Die Prüfgröße der Fräsmaschine im Café.")
    passage = best_passage(text, query_words("prüfgröße café"), 100)
    shown = [unicodedata.normalize("NFC", passage.text[start:end]) for start, end in passage.highlights]
    assert shown == ["Prüfgröße", "Café"]


def test_offsets_are_right_where_folding_changes_the_length() -> None:
    passage = best_passage("Die Straße İstanbul ﬁlter.", query_words("strasse filter"))
    assert [passage.text[start:end] for start, end in passage.highlights] == ["Straße", "ﬁlter"]


def test_without_a_hit_it_is_the_beginning() -> None:
    passage = best_passage(FILLER, query_words("lathe"), 60)
    assert (passage.start, passage.highlights) == (0, ())
    assert FILLER.startswith(passage.text)
    assert 40 < len(passage.text) <= 60


def test_a_short_text_is_shown_whole() -> None:
    assert best_passage("The lathe.", query_words("lathe")).text == "The lathe."


def test_a_long_word_without_spaces_is_cut() -> None:
    assert len(best_passage("x" * 5000, query_words("lathe"), 100).text) == 100
    assert best_passage("", query_words("lathe")).text == ""
