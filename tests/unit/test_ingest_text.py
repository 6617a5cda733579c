"""Bytes to text: encodings, normal form, titles (cases 21 and 23)."""

import pytest

from library.exceptions import ExtractionError
from library.ingest.text import clean, clean_title, decode

UTF8 = "Überdruckventil: öffnet bei fünf bar.\r\nZweite Zeile.\r\n"
STORED = "Überdruckventil: öffnet bei fünf bar.\nZweite Zeile.\n"


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-32"])
def test_marked_encodings_give_the_same_text(encoding: str) -> None:
    assert decode(UTF8.encode(encoding), "a.txt") == STORED


def test_big_endian_with_a_mark_is_read() -> None:
    assert decode(b"\xfe\xff" + UTF8.encode("utf-16-be"), "a.txt") == STORED


def test_other_encodings_are_refused_by_name_with_the_option_that_helps() -> None:
    with pytest.raises(ExtractionError) as caught:
        decode(UTF8.encode("cp1252"), "ventil.txt")
    assert str(caught.value) == (
        "ventil.txt: encoding error: not UTF-8 (byte 0xDC at offset 0). "
        "Name its encoding, for example --encoding cp1252"
    )


def test_a_named_encoding_serves_files_that_are_not_utf8_only() -> None:
    assert decode(UTF8.encode("cp1252"), "a.txt", "cp1252") == STORED
    assert decode(UTF8.encode(), "b.txt", "cp1252") == STORED


def test_unmarked_utf16_is_not_taken_for_text_with_nuls() -> None:
    raw = "plain words".encode("utf-16-le")
    with pytest.raises(ExtractionError, match="UTF-16 without a byte order mark"):
        decode(raw, "a.txt")
    assert decode(raw, "a.txt", "utf-16-le") == "plain words"


def test_clean_text_has_no_nul_mark_or_decomposed_letter() -> None:
    assert clean("\ufeffCafe\u0301\x00 Text\u00ad\u00adteil\r\nb\rc") == "Café Textteil\nb\nc"


def test_title_is_the_first_candidate_with_words_capped() -> None:
    assert clean_title(" ", "A\n  b ", "c") == "A b"
    assert clean_title("", " ") == "Untitled"
    assert len(clean_title("x" * 400)) == 300
