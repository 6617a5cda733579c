"""What is known of a query from its text, and the types of sixty labelled questions."""

import json
from pathlib import Path

import pytest

from library.services.query_context import features_of, normalize
from library.services.query_entities import Entity, is_isbn, spellings
from library.services.query_language import parse
from library.services.query_optimizer import understand
from library.services.query_questions import CUES, QUESTION_TYPES, Cue, question_type

QUESTIONS = [
    json.loads(line) for line in (Path(__file__).parents[1] / "data" / "questions.jsonl").read_text().splitlines()
]


def right(questions: list[dict[str, str]]) -> float:
    """The share of questions that are given their type."""
    return sum(understand(q["text"]).question_type == q["type"] for q in questions) / len(questions)


def test_the_example_of_the_contract() -> None:
    context = understand("How do I fix kubernetes port 8080?")
    assert context.raw_query == "How do I fix kubernetes port 8080?"
    assert context.normalized == "how do i fix kubernetes port 8080?"
    assert context.tokens == ["how", "do", "i", "fix", "kubernetes", "port", "8080"]
    assert context.token_count == 7
    assert context.entities == []
    assert not context.has_special_syntax
    assert not context.has_date_filters
    assert not context.has_negation
    assert (context.question_type, context.search_strategy, context.confidence) == ("procedural", "hybrid", 0.95)


def test_sixty_questions_half_of_them_held_out() -> None:
    assert len(QUESTIONS) == len({q["text"] for q in QUESTIONS}) == 60
    assert sum(q["set"] == "held_out" for q in QUESTIONS) == 30
    for part in ("design", "held_out"):
        assert {q["type"] for q in QUESTIONS if q["set"] == part} == set(QUESTION_TYPES)


def test_most_questions_are_given_their_type() -> None:
    held_out = right([q for q in QUESTIONS if q["set"] == "held_out"])
    print(f"right: {right(QUESTIONS):.1%} of 60, {held_out:.1%} of the 30 held out")
    assert right(QUESTIONS) >= 0.85


def test_questions_that_the_cues_were_not_written_from_are_given_their_type() -> None:
    assert right([q for q in QUESTIONS if q["set"] == "held_out"]) >= 0.8


@pytest.mark.parametrize("cue", CUES, ids=lambda cue: cue.name)
def test_a_cue_knows_its_example(cue: Cue) -> None:
    assert question_type(cue.example.lower()) == (cue.question_type, cue.name)


def test_what_no_cue_knows_is_exploratory() -> None:
    assert question_type("salt glaze") == ("exploratory", "")
    assert understand("").question_type == "exploratory"


def test_normal_form() -> None:
    assert normalize("  ＷＩ－ＦＩ\tIsn’t “ﬁne” Pru\u0308f ") == 'wi-fi isn\'t "fine" pr\u00fcf'


def test_tokens_are_those_of_the_query_without_operators() -> None:
    context = understand('+Kiln -ferry "Tide Mill" title:chart')
    assert context.tokens == ["kiln", "tide", "mill", "chart"]
    assert context.has_special_syntax
    assert context.has_negation


@pytest.mark.parametrize(
    ("text", "entities"),
    [
        ("E11000 duplicate key", [("error_code", "E11000")]),
        ("access denied 0x80070005", [("error_code", "0x80070005")]),
        ("ORA-00942 or ora-01555", [("error_code", "ORA-00942"), ("error_code", "ora-01555")]),
        ("CVE-2021-44228", [("error_code", "CVE-2021-44228")]),
        ("HTTP 404?", [("error_code", "HTTP 404")]),
        ("HTTP status 503", [("error_code", "HTTP status 503")]),
        ("exit code 137", [("error_code", "exit code 137")]),
        ("connect ECONNREFUSED", [("error_code", "ECONNREFUSED")]),
        ("ERR_CONNECTION_REFUSED", [("error_code", "ERR_CONNECTION_REFUSED")]),
        ("ISBN 978-0-306-40615-7", [("isbn", "978-0-306-40615-7")]),
        ("port 8080 9780306406157", [("isbn", "9780306406157")]),
        ("ISBN 978-0-306-40615-8", []),
        ("6ES7 315-2AG10-0AB0 manual", [("part_number", "6ES7 315-2AG10-0AB0")]),
        ("BC547 or 2N3904", [("part_number", "BC547"), ("part_number", "2N3904")]),
        ("1080p 500mg mp3 covid19 post-armistice T-1000 C# WWII", []),
        ("port 8080", []),
        ("post-1945 art of the 1920s, 1910-1914", [("year", y) for y in ("1945", "1920", "1910", "1914")]),
        ("error 1984", [("year", "1984")]),
        ("python 3.11.7 and v2", [("version", "3.11.7"), ("version", "v2")]),
        ("10.0.0.1:8080", []),
        ("edit /etc/fstab or settings.py", [("path", "/etc/fstab"), ("path", "settings.py")]),
        ("C:\\Windows\\win.ini", [("path", "C:\\Windows\\win.ini")]),
        ("max_connections getUserName()", [("identifier", "max_connections"), ("identifier", "getUserName()")]),
        ("NullPointerException", [("identifier", "NullPointerException")]),
        ("JavaScript YouTube iPhone McDonald", []),
        ('#glaze "salt kiln"', [("phrase", "salt kiln"), ("tag", "glaze")]),
        ("1984 in 1984", [("year", "1984")]),
    ],
)
def test_entities(text: str, entities: list[tuple[str, str]]) -> None:
    assert [(entity.kind, entity.text) for entity in understand(text).entities] == entities


@pytest.mark.parametrize(
    ("text", "valid"),
    [
        # 0-306-40615-2: 0*10 + 3*9 + 0*8 + 6*7 + 4*6 + 0*5 + 6*4 + 1*3 + 5*2 + 2 = 132 = 12 * 11.
        ("0-306-40615-2", True),
        ("0-306-40615-3", False),
        # 9 + 7*3 + 8 + 0*3 + 3 + 0*3 + 6 + 4*3 + 0 + 6*3 + 1 + 5*3 + 7 = 100.
        ("978-0-306-40615-7", True),
        ("978 0 306 40615 6", False),
        ("0-8044-2957-X", True),
        ("X804429570", False),
        ("977-0-306-40615-7", False),
        ("", False),
    ],
)
def test_isbn_check_digits(text: str, valid: bool) -> None:
    assert is_isbn(text) is valid


def test_an_isbn_is_looked_for_with_and_without_hyphens() -> None:
    assert spellings(Entity("isbn", "978-0-306-40615-7")) == ["978-0-306-40615-7", "9780306406157"]
    assert spellings(Entity("error_code", "ORA-00942")) == ["ORA-00942"]


@pytest.mark.parametrize(
    ("text", "dated"),
    [
        ("letters of 1916", True),
        ("diary 2031-10-04", True),
        ("entries from last winter", True),
        ("notes since March", True),
        ("12 May concert", True),
        ("19th century prints", True),
        ("music of the 60s", True),
        ("port 8080", False),
        ("may I print this", False),
        ("the march of the penguins", False),
    ],
)
def test_dates(text: str, dated: bool) -> None:
    assert understand(text).has_date_filters is dated


@pytest.mark.parametrize(
    ("text", "negated"),
    [
        ("glaze without lead", True),
        ("pump doesn’t start", True),
        ("salt -kiln", True),
        ("never mind", True),
        ("prelude no. 4", False),
        ("notes and knots", False),
        ("wi-fi", False),
    ],
)
def test_negation(text: str, negated: bool) -> None:
    assert understand(text).has_negation is negated


def test_exact_terms_are_codes_or_the_names_that_are_all_of_the_query() -> None:
    assert features_of(parse("What is E11000 in settings.py?")).exact_terms == ("E11000",)
    assert features_of(parse("settings.py")).exact_terms == ("settings.py",)
    assert features_of(parse("edit settings.py by hand")).exact_terms == ()
