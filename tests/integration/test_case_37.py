"""Case 37: a bad limit, offset or page is refused by name, the same in all three ways in."""

from io import StringIO
from typing import Any
from urllib.parse import urlencode

import pytest
from bs4 import BeautifulSoup
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command
from django.test import Client

from library.services.search import SearchService
from tests.api_client import SEARCH, post

pytestmark = [pytest.mark.neo4j, pytest.mark.django_db]

BAD = [
    *[("limit", (value,)) for value in ("0", "-1", "abc", "1e9", "", "201", "9" * 400)],
    *[("offset", (value,)) for value in ("-1", "abc", "1e9", "", "1001")],
    *[("page", (value,)) for value in ("0", "-1", "999999")],
    *[("expand", (value,)) for value in ("-1", "6", "abc", "")],
    *[("group_by", (value,)) for value in ("shelf",)],
    *[(name, ("1", "2")) for name in ("limit", "offset", "expand", "page")],
    *[(name, ("a", "a")) for name in ("strategy", "library_uid", "group_by")],
]


@pytest.fixture
def reader(neo4j: None, monkeypatch: pytest.MonkeyPatch) -> Client:
    """A caller who is signed in; what is refused must not be searched for."""
    monkeypatch.setattr(SearchService, "search", lambda *_: pytest.fail("searched"))
    client = Client()
    client.force_login(User.objects.create_user("reader"))
    return client


@pytest.mark.parametrize(("name", "values"), BAD)
def test_a_bad_parameter_is_refused_by_name_in_every_way_in(reader: Client, name: str, values: tuple[str, ...]) -> None:
    for answer in (_as_json(reader, name, values), reader.post(SEARCH, {"query": "q", name: list(values)})):
        assert answer.status_code == 400, answer.content
        assert list(answer.json()["error"]["fields"]) == [name]
    page = reader.get("/library/search/?" + urlencode([("query", "q"), *((name, value) for value in values)]))
    assert page.status_code == 400
    problem = BeautifulSoup(page.content, "lxml").select_one("[role=alert]")
    assert problem is not None
    assert f"{name}:" in problem.get_text()
    option = "--" + name.replace("_", "-")
    arguments = [f"{option}={value}" for value in values]
    with pytest.raises(CommandError) as raised:
        call_command("search", "q", *arguments, stdout=StringIO())
    assert option in str(raised.value) or name in str(raised.value)
    # Called from Python, Django's parser raises with 1; from the shell it ends with 2.
    assert raised.value.returncode == 2 or str(raised.value).startswith("Error: ")


def _as_json(client: Client, name: str, values: tuple[str, ...]) -> Any:
    fields = ", ".join(f'"{name}": "{value}"' for value in values)
    return post(client, f'{{"query": "q", {fields}}}')
