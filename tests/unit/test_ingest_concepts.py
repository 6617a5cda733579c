"""Concepts: names, titles, abbreviations; what is none."""

from library.graph.concept_scope import ConceptState, Naming, pair_counts, seen_as, with_item, without_library
from library.graph.records import ConceptRecord, Place, concept_key
from library.ingest.concepts import MAX_CHUNK_CONCEPTS, ConceptFinder
from library.ingest.keyphrases import stop_words
from library.ingest.names import find_abbreviations, find_names, words_of
from library.ingest.titles import base_name, title_name

PLACE = Place("lib", "technical", "col")


def names(text: str) -> dict[str, int]:
    return dict(find_names(words_of(text), stop_words("en")))


def test_names_are_runs_of_capitals_with_connectors_inside() -> None:
    text = "The game was made by Lester Smith and sold by the Bank of England in New York. It ran on Apollo 11."
    assert names(text) == {"Lester Smith": 1, "Bank of England": 1, "New York": 1, "Apollo 11": 1}


def test_a_word_at_the_start_of_a_sentence_is_a_name_only_together_with_another_place() -> None:
    assert names("Generators return values. They are objects.") == {}
    assert names("Neptune is far. We saw Neptune's moons.") == {"Neptune": 2}


def test_section_words_months_numbers_and_shouting_are_no_names() -> None:
    assert names("METHODS AND RESULTS We met in July. LATHE MANUAL STEEL PARTS LIST. See Chapter 4, II.") == {}


def test_acronyms_are_names_in_the_singular() -> None:
    assert names("We used siRNAs and DNA with GraphQL.") == {"siRNA": 1, "DNA": 1, "GraphQL": 1}


def test_abbreviations_need_the_initials_of_the_words_before() -> None:
    text = "By magnetic resonance imaging (MRI) of lesions (see ABC) in myeloid suppressor cells (MSCs)"
    assert find_abbreviations(text) == {
        "MRI": "magnetic resonance imaging",
        "MSCs": "myeloid suppressor cells",
    }


def test_titles_are_concepts_unless_they_are_sentences() -> None:
    assert title_name("Demon Dice") == "Demon Dice"
    assert title_name("simple shear flow past a flat plate .") == "simple shear flow past a flat plate"
    assert title_name("It rained. We left") is None
    assert title_name("1984") is None
    assert title_name("word " * 13) is None
    assert base_name("Inception (film)") == "Inception"
    assert base_name("Inception") is None


def test_the_title_of_one_item_in_the_text_of_another_is_the_same_concept() -> None:
    finder = ConceptFinder(["Demon Dice", "Inception (film)"])
    own = finder.find("Demon Dice", ["Demon Dice is a game by Lester Smith."])
    other = finder.find("Games", ["Lester Smith made the DEMON DICE game and watched Inception often."])
    assert own.references[0].key == "demon dice"
    weights = {mention.key: mention.weight for mention in other.mentions[0]}
    assert weights["demon dice"] == 0.8
    assert weights["inception (film)"] == 0.8
    assert "lester smith" in weights
    assert {record.key: record.aliases for record in other.concepts}["inception (film)"] == ("Inception",)


def test_part_of_a_longer_name_is_no_mention_of_a_title() -> None:
    finder = ConceptFinder(["United"])
    keys = {mention.key for mention in finder.find("x y", ["We flew with United Airlines to Rome."]).mentions[0]}
    assert "united airlines" in keys
    assert "united" not in keys


def test_weights_bounds_and_what_never_is_a_concept() -> None:
    text = "The quick brown fox jumped over 12 lazy dogs near " + ", ".join(f"Place{n} Town" for n in range(30))
    found = ConceptFinder().find("Walk", [text])
    assert len(found.mentions[0]) == MAX_CHUNK_CONCEPTS
    assert [mention.rank for mention in found.mentions[0]] == list(range(MAX_CHUNK_CONCEPTS))
    assert all(0 < mention.weight <= 1 for mention in found.mentions[0])
    keys = {record.key for record in found.concepts}
    assert keys.isdisjoint(stop_words("en") | {"12"})
    assert all(len(key.split()) <= 12 for key in keys)
    assert keys == {mention.key for mention in (*found.mentions[0], *found.references)}


def test_code_and_addresses_are_not_read_for_concepts() -> None:
    text = "# Notes\n\nSee https://Example.org/Kafka now.\n\n```\nclass SecretThing: Kafka\n```\n"
    keys = {record.key for record in ConceptFinder().find("Notes", [text]).concepts}
    assert not any("kafka" in key or "secretthing" in key for key in keys)


def test_a_concepts_key_is_folded_normalised_and_capped() -> None:
    assert concept_key("  Prüf\u0301  GRÖSSE ") == concept_key("prüf\u0301 größe")
    assert concept_key("ﬁle") == "file"
    assert len(concept_key("x" * 500)) == 200


def test_a_title_names_a_concept_and_scope_is_sorted_and_kept_once() -> None:
    state = ConceptState("demon dice", "demon dice game", "phrase", (), ("zoo",), ("music",), ("zcol",))
    after = with_item(state, ConceptRecord("demon dice", "Demon Dice", "title", ("DD",)), PLACE)
    assert after == ConceptState(
        "demon dice",
        "Demon Dice",
        "title",
        ("DD", "demon dice game"),
        ("lib", "zoo"),
        ("music", "technical"),
        ("col", "zcol"),
        (Naming("lib", "title", "Demon Dice", ("DD",)).written(),),
    )
    assert with_item(after, ConceptRecord("demon dice", "Demon Dice", "title", ("DD",)), PLACE) == after


def test_pairs_are_counted_once_a_chunk_among_the_strongest_only() -> None:
    chunks = [[("b", 0), ("a", 1), ("z", 5)], [("a", 0), ("b", 4)]]
    assert dict(pair_counts(chunks)) == {("a", "b"): 2}


def test_each_library_has_its_own_names_for_a_concept_and_shows_no_others() -> None:
    state = ConceptState("dice", "dice", "phrase", (), (), (), ())
    state = with_item(state, ConceptRecord("dice", "Dice", "name", ("D6",)), Place("a", "technical", "ac"))
    state = with_item(state, ConceptRecord("dice", "DICE", "title", ("Code Zebra",)), Place("b", "technical", "bc"))
    row = {"name": state.name, "concept_type": state.kind, "aliases": state.aliases, "namings": state.namings}
    assert seen_as(row, None)[0] == "DICE"
    assert seen_as(row, ["a"]) == ("Dice", "name", ("D6",))
    assert seen_as(row, ["b"]) == ("DICE", "title", ("Code Zebra",))
    assert seen_as(row, ["a", "b"]) == ("DICE", "title", ("Code Zebra", "D6", "Dice"))
    assert without_library(state.namings, "b") == [Naming("a", "name", "Dice", ("D6",)).written()]
