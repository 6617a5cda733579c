"""The query language: what is an operator, what is plain words, and that every leg is asked the same."""

import random
import time

import pytest

from library.services.query_language import (
    EXACT_BOOST,
    MAX_TERM_WORDS,
    MAX_TERMS,
    ParsedQuery,
    matches,
    parse,
    to_lucene,
)
from library.services.query_terms import java_pattern, words_of

FIELDS = {"text": 1.0, "title": 0.5}


def test_every_operator_is_taken_apart() -> None:
    assert parse('salt "tide mill" +ferry +"long swell" -kiln -"wet clay" title:chart title:"old sea" #glaze') == (
        ParsedQuery(
            raw='salt "tide mill" +ferry +"long swell" -kiln -"wet clay" title:chart title:"old sea" #glaze',
            plain_text="salt tide mill ferry long swell chart old sea #glaze",
            words=("salt", "glaze"),
            phrases=("tide mill",),
            required=("ferry", "long swell"),
            excluded=("kiln", "wet clay"),
            title_words=("chart", "old sea"),
            tags=("glaze",),
        )
    )


def test_a_query_without_operators_is_left_as_it_is() -> None:
    parsed = parse("How do I fix  kubernetes port 8080?")
    assert parsed.plain_text == "How do I fix kubernetes port 8080?"
    assert parsed.words == ("How", "do", "I", "fix", "kubernetes", "port", "8080")
    assert not parsed.has_operators
    assert parsed.warnings == ()


@pytest.mark.parametrize(
    ("text", "words", "warned_of"),
    [
        ("wi-fi salt-kiln", ("wi", "fi", "salt", "kiln"), ""),
        ("a - b + c", ("a", "b", "c"), ""),
        ("git push --force", ("git", "push", "force"), ""),
        ("a -- b ++ c", ("a", "b", "c"), ""),
        ("tar -x archive", ("tar", "x", "archive"), "-x"),
        ("frost at -5 degrees", ("frost", "at", "5", "degrees"), "-5"),
        ("call +49 30", ("call", "49", "30"), "+49"),
        ("C++ and C#", ("C", "and", "C"), ""),
        ("lathe feed-rate -", ("lathe", "feed", "rate"), ""),
        ("title: The Dark", ("title", "The", "Dark"), ""),
        ("-title:dark", ("title:dark",), "a title cannot be excluded"),
        ("author:guin", ("author:guin",), "no field author"),
        ('author:"Le Guin"', ("author", "Le", "Guin"), "no field author"),
        ("year:1974", ("year:1974",), "no field year"),
        ("localhost:8080 http://a.b", ("localhost:8080", "http", "a.b"), ""),
        ("C:\\users\\lathe", ("C", "users", "lathe"), ""),
        ("kil* and te?t", ("kil", "and", "te", "t"), "wildcard"),
        ("lathe~2", ("lathe", "2"), "fuzzy match"),
        ("440^0", ("440", "0"), "boost"),
        ("[1900 TO 1950]", ("1900", "TO", "1950"), "range"),
        ("salt AND kiln", ("salt", "AND", "kiln"), "AND"),
        ("salt NOT kiln", ("salt", "NOT", "kiln"), "NOT"),
        ("salt !kiln", ("salt", "kiln"), "!kiln"),
        ("TURN IT ON OR OFF", ("TURN", "IT", "ON", "OR", "OFF"), ""),
        ("-(salt kiln)", ("salt", "kiln"), "before a group"),
        ('lathe "feed rate', ("lathe", "feed", "rate"), "without its partner"),
        ('lathe -"feed rate', ("lathe", "feed", "rate"), "without its partner"),
        ('5" pipe and 6" pipe', ("5", "pipe", "and", "6", "pipe"), ""),
        ('salt ""', ("salt",), "no word"),
        ("(salt kiln)", ("salt", "kiln"), ""),
    ],
)
def test_what_is_no_operator_is_plain_words(text: str, words: tuple[str, ...], warned_of: str) -> None:
    parsed = parse(text)
    assert not parsed.has_operators
    assert parsed.words == words
    if warned_of:
        assert any(warned_of in warning for warning in parsed.warnings)
    else:
        assert parsed.warnings == ()


@pytest.mark.parametrize(
    ("text", "field", "terms"),
    [
        ('-"5"', "excluded", ("5",)),
        ("-wi-fi", "excluded", ("wi-fi",)),
        ("-kiln, -kiln -KILN", "excluded", ("kiln",)),
        ("−kiln －ferry", "excluded", ("kiln", "ferry")),
        ("“salt kiln” „tide mill“ « le four » ＂a b＂", "phrases", ("salt kiln", "tide mill", "le four", "a b")),
        ('("salt kiln")', "phrases", ("salt kiln",)),
        ('"salt kiln"~3 "tide mill"^2', "phrases", ("salt kiln", "tide mill")),
        ("TITLE:chart +title:map", "title_words", ("chart", "map")),
        ("+Pru\u0308fung", "required", ("Pr\u00fcfung",)),
        ("\ufeff+ki\u00adln", "required", ("kiln",)),
    ],
)
def test_operators_in_their_other_forms(text: str, field: str, terms: tuple[str, ...]) -> None:
    assert getattr(parse(text), field) == terms


def test_a_query_of_exclusions_says_that_there_is_nothing_to_search_by() -> None:
    parsed = parse("-kiln -'")
    assert parsed.is_only_exclusions
    assert parsed.plain_text == ""
    assert "add a word" in parsed.warnings[-1]
    assert to_lucene(parsed, FIELDS) == ""
    assert not parse("salt -kiln").is_only_exclusions
    assert not parse("😀").is_only_exclusions


@pytest.mark.parametrize(
    ("text", "one"), [('"salt kiln"', True), ('"a" "b".', True), ('"a" b', False), ("a", False), ('"a" -b', False)]
)
def test_only_phrases(text: str, one: bool) -> None:
    assert parse(text).is_only_phrases is one


def test_terms_beyond_the_limit_become_plain_words_and_exclusions_are_left_out() -> None:
    many = range(MAX_TERMS + 2)
    parsed = parse(" ".join(f'"a{number} b"' for number in many))
    assert (len(parsed.phrases), parsed.words) == (MAX_TERMS, ("a16", "b", "a17", "b"))
    assert "plain words" in parsed.warnings[0]
    parsed = parse("salt " + " ".join(f"-a{number}" for number in many))
    assert (len(parsed.excluded), parsed.words) == (MAX_TERMS, ("salt",))
    assert "left out" in parsed.warnings[0]
    parsed = parse('"' + "word " * (MAX_TERM_WORDS + 1) + '"')
    assert (parsed.phrases, len(parsed.words)) == ((), MAX_TERM_WORDS + 1)


def test_warnings_quote_no_more_than_a_little() -> None:
    assert all(len(warning) < 160 for warning in parse("x" * 2000 + "* -" + "5" * 1000).warnings)


TEXT = "The salt-kiln's glaze isn't wet. Feed rate 3.5 at port 8080, kubernetes.io; Prüfgröße snake_case _emphasis_"


@pytest.mark.parametrize(
    ("query", "kept"),
    [
        ('"salt kiln"', True),
        ('"SALT KILN"', True),
        ('"kiln glaze"', True),
        ('"kiln salt"', False),
        ('"sal kiln"', False),
        ('"wet feed"', True),
        ('"glaze wet"', False),
        ("+kiln", True),
        ("+kilns", False),
        ("+is", False),
        ("+isn't", True),
        ("+isn’t", True),
        ("-is", True),
        ("-glaze", False),
        ('-"3"', True),
        ('-"3.5"', False),
        ('-"5"', True),
        ('"8080"', True),
        ('"808"', False),
        ("+prüfgrösse", False),
        ("+PRÜFGRÖßE", True),
        ("+Pru\u0308fgro\u0308ße", True),
        ("title:lathe", True),
        ("title:kiln", False),
        ('title:"the lathe"', True),
        ('"rate the"', False),
        ("+emphasis", True),
        ("+snake", False),
        ('"case emphasis"', False),
        ('"snake_case emphasis"', True),
        ("+lathe", True),
        ("-lathe", False),
        ("+bearings", True),
        ('+kiln -"feed rate"', False),
        ("plain words", True),
    ],
)
def test_matches(query: str, kept: bool) -> None:
    assert matches(parse(query), TEXT, "Running the lathe", "Bearings") is kept


def test_scripts_without_spaces_match_inside_a_run() -> None:
    assert matches(parse("+大学"), "東京大学の図書館")
    assert matches(parse('"東京 大学"'), "東京大学の図書館")
    assert not matches(parse('"大学 東京"'), "東京大学の図書館")
    assert not matches(parse("-図書"), "東京大学の図書館")


def test_marks_belong_to_their_letters() -> None:
    assert words_of("हिन्दी में") == ["हिन्दी", "में"]
    assert not matches(parse("+हिन"), "हिन्दी में")
    assert matches(parse("+हिन्दी"), "हिन्दी में")


def test_lucene_gets_plain_words_as_alternatives() -> None:
    assert to_lucene(parse("salt NOT a:b"), FIELDS) == "+(text:(salt not a\\:b)^1 title:(salt not a\\:b)^0.5)"


def test_lucene_gets_operators_as_clauses() -> None:
    assert to_lucene(parse('salt "tide mill" +ferry -wi-fi title:chart'), FIELDS) == (
        '+(text:"tide mill"^1 title:"tide mill"^0.5) +(text:"ferry"^1 title:"ferry"^0.5) +title:"chart"'
        ' (text:(salt)^1 title:(salt)^0.5) -text:"wi fi" -title:"wi fi"'
    )


def test_stop_words_alone_make_no_clause() -> None:
    assert to_lucene(parse('"to be or not to be"'), FIELDS) == ""
    assert to_lucene(parse("the of -kiln"), FIELDS) == ""
    assert to_lucene(parse('"to be" salt'), {"text": 1.0}) == "+(text:(salt)^1)"
    assert to_lucene(parse('"state of the art"'), {"text": 1.0}) == '+(text:"state of the art"^1)'


def test_a_code_counts_more_as_a_whole_or_must_be_there() -> None:
    parsed = parse("ORA-00942 table")
    boosted = f'text:"ORA 00942"^{EXACT_BOOST:g}'
    assert to_lucene(parsed, {"text": 1.0}, exact=["ORA-00942"]) == f"+(text:(ORA 00942 table)^1 {boosted})"
    required = to_lucene(parsed, {"text": 1.0}, exact=["ORA-00942"], require_exact=True)
    assert required == f"+({boosted}) (text:(ORA 00942 table)^1)"


def test_words_are_cut() -> None:
    assert to_lucene(parse("a1 a2 a3"), {"text": 1.0}, max_words=2) == "+(text:(a1 a2)^1)"


def test_java_patterns_match_whole_texts_and_have_no_python_syntax() -> None:
    pattern = java_pattern("kubernetes.io don't 3")
    assert pattern.startswith("(?ius).*")
    assert pattern.endswith(".*")
    assert "kubernetes\\.io" in pattern
    assert "don['\u2019]t" in pattern
    assert "\\w" not in pattern
    parsed = parse('"a b" +cc -dd title:e')
    assert (len(parsed.keep_patterns), len(parsed.drop_patterns), len(parsed.title_patterns)) == (2, 1, 1)


ALPHABET = "ab1 \t\n\"'“”«»+-−:#^~*?()[]{}/\\&|!.,_éß東\u0301ह\u093f😀\u200b" + "title:"


@pytest.mark.parametrize("seed", range(200))
def test_any_text_is_parsed(seed: int) -> None:
    generator = random.Random(seed)
    text = "".join(generator.choice(ALPHABET) for _ in range(generator.randrange(200)))
    parsed = parse(text)
    lucene = to_lucene(parsed, {"text": 1.0})
    # Every quotation mark is one of a pair of ours, and nothing of the parser's syntax comes from the text.
    inside = lucene.replace("text:", "").replace("title:", "").replace("\\:", "")
    assert inside.count('"') % 2 == 0
    assert not set(inside) & set("\\[]{}~*?/&|!")
    for term in (*parsed.phrases, *parsed.required, *parsed.excluded, *parsed.title_words):
        assert words_of(term)
        assert matches(parse(f'+"{term}"'), term)
    matches(parsed, text, text)


@pytest.mark.parametrize("unit", ['"', "(", "-a ", '+a"', '" ', "-aa ", 'title:"', "[a TO ", "a.b", "#", "\\", "x*"])
def test_long_garbage_takes_no_longer_than_long_text(unit: str) -> None:
    started = time.process_time()
    parsed = parse((unit * 4000)[:4000])
    to_lucene(parsed, FIELDS)
    assert time.process_time() - started < 1.0


def test_a_name_quoted_in_a_long_question_is_preferred_and_not_required() -> None:
    parsed = parse('Who was the singer of the album that has "Salt Kiln" as its first song?')
    assert (parsed.phrases, parsed.preferred) == ((), ("Salt Kiln",))
    assert not parsed.has_operators
    assert parsed.words[-2:] == ("Salt", "Kiln")
    assert 'text:"Salt Kiln"' in to_lucene(parsed, {"text": 1.0})
    assert "+" in parsed.warnings[0]
    assert parse('"salt kiln" glaze').phrases == ("salt kiln",)
    insisted = parse('Who was the singer of the album that has +"Salt Kiln" as its first song?')
    assert insisted.required == ("Salt Kiln",)
    narrowed = parse('Who was the singer of the album that has "Salt Kiln" as its first song -live')
    assert narrowed.phrases == ("Salt Kiln",)
