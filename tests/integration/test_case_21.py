"""Case 21: the same word composed and decomposed is one word, in text, queries and file names."""

import json
import shutil
import unicodedata
from collections.abc import Iterator
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from bs4 import BeautifulSoup
from django.contrib.auth.models import User
from django.core.management import call_command
from django.test import Client

from tests.api_client import post, token_client
from tests.builder import settle, unit
from tests.fakes import fake_models, record_models
from tests.shared import case_file

pytestmark = [pytest.mark.neo4j, pytest.mark.django_db]

DECOMPOSED_NAME = unicodedata.normalize("NFD", "Maßübersicht.txt")


@pytest.fixture
def taken_in(graph: None, db: None, settings: Any, tmp_path: Path) -> Iterator[None]:
    """Both files of the case, and one whose name is decomposed, by `manage.py ingest`."""
    settings.SEARCH_LEG_TIMEOUT = 30.0
    for name in ("21_nfc.txt", "21_nfd.txt"):
        shutil.copy(case_file(name), tmp_path / name)
    (tmp_path / DECOMPOSED_NAME).write_text("A list of sizes.")
    record_models()
    with fake_models(unit(1.0)):
        options = ["--library", "Normen", "--type", "technical", "--quiet"]
        call_command("ingest", *(str(path) for path in sorted(tmp_path.glob("*.txt"))), *options, stdout=StringIO())
        settle()
        yield


def words() -> list[str]:
    return list(json.loads(case_file("21_queries.json").read_text()))


def lexical(client: Client, query: str) -> list[dict[str, Any]]:
    answer = post(client, {"query": query, "strategy": "lexical", "rerank": False})
    assert answer.status_code == 200
    return list(answer.json()["candidates"])


@pytest.mark.usefixtures("taken_in")
def test_each_query_finds_both_documents_with_equal_scores() -> None:
    client = token_client()
    assert len(words()) == 6
    for query in words():
        found = lexical(client, query)
        assert {hit["item_title"] for hit in found} == {"21_nfc", "21_nfd"}, query
        assert len({hit["score_breakdown"]["lexical_score"] for hit in found}) == 1
        assert len({hit["metadata"]["passage"]["text"] for hit in found}) == 1


@pytest.mark.usefixtures("taken_in")
def test_highlights_are_the_word_itself_whatever_its_form() -> None:
    client = token_client()
    reader = Client()
    reader.force_login(User.objects.create_user("page reader"))
    for query in words():
        for hit in lexical(client, query):
            passage = hit["metadata"]["passage"]
            (marked,) = [passage["text"][start:end] for start, end in passage["highlights"]]
            assert unicodedata.normalize("NFC", marked) == unicodedata.normalize("NFC", query)
        page = reader.get("/library/search/", {"query": query, "strategy": "lexical", "rerank": "false"})
        shown = [mark.get_text() for mark in BeautifulSoup(page.content, "lxml").select(".passage mark")]
        assert [unicodedata.normalize("NFC", text) for text in shown] == [unicodedata.normalize("NFC", query)] * 2


@pytest.mark.usefixtures("taken_in")
@pytest.mark.parametrize("form", ["NFC", "NFD"])
def test_a_decomposed_file_name_is_found_in_either_form(form: str) -> None:
    found = lexical(token_client(), unicodedata.normalize(form, "Maßübersicht"))  # type: ignore[arg-type]
    assert [hit["item_title"] for hit in found] == ["Maßübersicht"]
