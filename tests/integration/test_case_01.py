"""Case 1: text that Lucene's parser would choke on, through all three ways in."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from io import StringIO
from typing import Any

import pytest
from bs4 import BeautifulSoup
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command
from django.test import Client

from library.graph import session
from tests.api_client import post
from tests.builder import settle, unit
from tests.fakes import fake_models, record_models
from tests.shared import case_file

pytestmark = [pytest.mark.neo4j, pytest.mark.django_db]

NO_QUERY = "   "
# What a search engine's or a database's own words would be.
FOREIGN_TEXT = ("Neo.", "neo4j", "ucene", "ParseException", "TokenMgrError", "Cypher", "Traceback")
UNSEARCHABLE = {"(", '"', "\\", "&& ||", "?", "!!!", "😀", "-"}


@dataclass(frozen=True)
class Answer:
    """What one way in answered: 'ok' or 'refused', the titles in order, and all of its text."""

    outcome: str
    titles: list[str]
    text: str


def queries() -> list[str]:
    found = json.loads(case_file("01_lucene_error_queries.json").read_text())
    assert len(found) == 20
    return list(found)


@pytest.fixture
def manual(graph: None, db: None, settings: Any) -> Iterator[None]:
    """The document of the case, taken in by `manage.py ingest`."""
    settings.SEARCH_LEG_TIMEOUT = 30.0
    record_models()
    with fake_models(unit(1.0)):
        document = str(case_file("01_doc.md"))
        call_command("ingest", document, "--library", "manuals", "--type", "technical", "--quiet", stdout=StringIO())
        settle()
        yield


def by_api(client: Client, query: str, strategy: str) -> Answer:
    answer = post(client, {"query": query, "strategy": strategy, "rerank": False})
    text = answer.content.decode()
    if answer.status_code == 400:
        assert list(answer.json()["error"]["fields"]) == ["query"]
        return Answer("refused", [], text)
    assert answer.status_code == 200, (query, text)
    return Answer("ok", [hit["item_title"] for hit in answer.json()["candidates"]], text)


def by_page(client: Client, query: str, strategy: str) -> Answer:
    answer = client.get("/library/search/", {"query": query, "strategy": strategy, "rerank": "false"})
    text = answer.content.decode()
    page = BeautifulSoup(text, "lxml")
    if answer.status_code == 400:
        problem = page.select_one("[role=alert]")
        assert problem is not None
        assert "query:" in problem.get_text()
        return Answer("refused", [], text)
    assert answer.status_code == 200, query
    return Answer("ok", [heading.get_text() for heading in page.select(".hits h2")], text)


def by_command(query: str, strategy: str) -> Answer:
    """Both of the command's forms; they must agree."""
    options = ["--strategy", strategy, "--no-rerank", "--explain"]
    out, err, plain = StringIO(), StringIO(), StringIO()
    try:
        call_command("search", *options, "--json", "--", query, stdout=out, stderr=err)
        call_command("search", *options, "--", query, stdout=plain, stderr=err, no_color=True)
    except CommandError as error:
        assert (error.returncode, str(error).split(":")[0]) == (2, "query")
        return Answer("refused", [], str(error))
    titles = [hit["item_title"] for hit in json.loads(out.getvalue())["candidates"]]
    for rank, title in enumerate(titles, start=1):
        assert f"{rank:>3}. {title}" in plain.getvalue()
    return Answer("ok", titles, out.getvalue() + plain.getvalue() + err.getvalue())


@pytest.mark.parametrize("strategy", ["lexical", "hybrid"])
@pytest.mark.usefixtures("manual")
def test_no_query_text_is_an_error_of_the_index(strategy: str, monkeypatch: pytest.MonkeyPatch) -> None:
    client = Client()
    client.force_login(User.objects.create_user("reader"))
    sent = _queries_sent(monkeypatch)
    for query in queries():
        sent.clear()
        answers = [by_api(client, query, strategy), by_page(client, query, strategy), by_command(query, strategy)]
        assert len({(answer.outcome, *answer.titles) for answer in answers}) == 1, (query, answers)
        for answer in answers:
            assert [word for word in FOREIGN_TEXT if word in answer.text] == [], query
        assert all(text.strip() for text in sent), query
        (outcome, titles) = answers[0].outcome, answers[0].titles
        assert outcome == ("refused" if query == NO_QUERY else "ok"), query
        if "lathe" in query or (query == "AND" and strategy == "hybrid"):
            assert titles == ["Lathe manual"], query
        if query in UNSEARCHABLE:
            assert sent == [], query
            assert strategy == "hybrid" or titles == [], query


@pytest.mark.usefixtures("manual")
def test_and_is_a_plain_word_that_full_text_finds() -> None:
    client = Client()
    client.force_login(User.objects.create_user("reader"))
    assert by_api(client, "AND", "lexical").titles == ["Lathe manual"]


def _queries_sent(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The texts that go to the full-text procedure, as they go."""
    sent: list[str] = []
    read = session.read

    def watched(query: str, parameters: Any, *args: Any, **kwargs: Any) -> Any:
        if "db.index.fulltext.queryNodes" in query:
            sent.extend(text for name, texts in parameters.items() if name.endswith("queries") for text in texts)
        return read(query, parameters, *args, **kwargs)

    monkeypatch.setattr(session, "read", watched)
    return sent
