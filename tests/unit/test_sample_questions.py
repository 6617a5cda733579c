"""The questions over the sample library are what they claim to be."""

from collections import Counter

import pytest

from library.ingest.sample import SAMPLE_DIR
from library.services.present import query_words
from tests.sample_questions import answers, dataset, of_many_answers, questions

# Beside the index's own stop words: words that ask, point and join, and carry nothing of the answer.
ASKING = frozenset("where when from must should only one than about my you she he".split())  # noqa: SIM905


def content_words(text: str) -> frozenset[str]:
    return query_words(text) - ASKING


def test_there_are_enough_of_every_type() -> None:
    types = Counter(row["metadata"]["question_type"] for row in questions())
    assert set(types) == {"procedural", "factual", "troubleshooting", "comparative", "definitional", "exploratory"}
    assert min(types.values()) >= 10
    assert sum(types.values()) >= 60
    assert len({row["text"] for row in questions()}) == sum(types.values())


def test_every_question_has_an_answer_and_some_have_five() -> None:
    judged = dataset().qrels
    assert {row["_id"] for row in questions()} == set(judged)
    assert all(max(values.values()) == 2 for values in judged.values())
    assert sum(of_many_answers(values) for values in judged.values()) >= 5


def test_a_third_share_no_content_word_with_their_answer() -> None:
    assert len(list(answers())) >= len(questions()) / 3


@pytest.mark.parametrize(("uid", "question", "answer"), list(answers()))
def test_such_a_question_shares_none(uid: str, question: str, answer: str) -> None:
    assert content_words(question), uid
    assert content_words(question).isdisjoint(content_words(answer))


def test_judged_documents_of_the_sample_exist() -> None:
    names = {name for judged in dataset().qrels.values() for name in judged if not name.startswith("python/")}
    assert {name for name in names if not (SAMPLE_DIR / name).is_file()} == set()
