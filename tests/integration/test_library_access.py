"""Grants by command and admin page, and the caller's JWT on its way to a model service."""

import io
import json
from typing import Any

import pytest
import responses
from django.contrib.auth.models import Group, User
from django.core.management import call_command
from django.core.management.base import CommandError
from django.test import Client

from library.graph import session
from library.models import LibraryAccess, LibraryGrant, ModelAPI
from library.services.visibility import set_visibility
from tests.api_client import post
from tests.builder import Place, settle, unit
from tests.fakes import EMBEDDINGS_URL, RERANK_URL, embedding_answer, record_models

pytestmark = pytest.mark.neo4j


@pytest.fixture
def manuals(graph: None) -> Place:
    place = Place("manuals")
    place.item("Lathe manual", ["The lathe feed rate is set at the gearbox."], [unit(1.0)])
    settle()
    return place


def run(*arguments: str) -> Any:
    output = io.StringIO()
    call_command("library", *arguments, "--json", stdout=output)
    return json.loads(output.getvalue())


def test_the_command_lists_changes_grants_and_withdraws_and_may_be_repeated(manuals: Place) -> None:
    User.objects.create_user("anna")
    Group.objects.create(name="editors")
    (row,) = run()
    assert row == {"uid": manuals.library_uid, "name": "manuals", "visibility": "everyone", "grants": []}
    for _ in range(2):
        (row,) = run("manuals", "--visibility", "private", "--grant", "user:anna", "--grant", "group:editors")
        assert (row["visibility"], row["grants"]) == ("private", ["group:editors", "user:anna"])
    query = "MATCH (l:Library {uid: $uid}) RETURN l.visibility AS visibility"
    assert session.read(query, {"uid": manuals.library_uid})[0]["visibility"] == "private"
    for _ in range(2):
        (row,) = run(manuals.library_uid, "--revoke", "user:anna")
        assert row["grants"] == ["group:editors"]


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["nothing"], "there is no library 'nothing'; known are manuals"),
        (["manuals", "--grant", "user:nobody"], "there is no user 'nobody'"),
        (["manuals", "--grant", "group:none"], "there is no group 'none'"),
        (["manuals", "--grant", "anna"], "must be user:NAME or group:NAME, not 'anna'"),
        (["--visibility", "private"], "name the library that is to be changed"),
    ],
)
def test_what_makes_no_sense_is_told_and_changes_nothing(manuals: Place, arguments: list[str], told: str) -> None:
    with pytest.raises(CommandError, match=told) as raised:
        run(*arguments)
    assert raised.value.returncode == 2
    assert set(LibraryAccess.objects.values_list("visibility", flat=True)) <= {"everyone"}
    assert not LibraryGrant.objects.exists()


def test_every_way_to_change_who_sees_a_library_moves_its_revision(manuals: Place) -> None:
    record = LibraryAccess.objects.create(uid=manuals.library_uid, visibility="private")
    anna, editors = User.objects.create_user("anna"), Group.objects.create(name="editors")
    seen = [0]

    def moved() -> bool:
        seen.append(LibraryAccess.objects.get(pk=record.pk).revision)
        return seen[-1] > seen[-2]

    LibraryGrant.objects.create(library=record, user=anna)
    assert moved()
    LibraryGrant.objects.create(library=record, group=editors)
    assert moved()
    LibraryGrant.objects.filter(user=anna).delete()
    assert moved()
    editors.delete()
    assert moved()
    set_visibility(record, "public")
    assert moved()
    # A record that was read long ago sets nothing back when it is saved.
    record.revision = 0
    record.save()
    assert moved()


def test_the_admin_page_brings_libraries_in_and_changes_them(manuals: Place) -> None:
    admin = Client()
    admin.force_login(User.objects.create_superuser("root"))
    page = admin.get("/admin/library/libraryaccess/")
    assert page.status_code == 200
    assert "manuals" in page.content.decode()
    anna = User.objects.create_user("anna")
    address = f"/admin/library/libraryaccess/{manuals.library_uid}/change/"
    form = {
        "visibility": "private",
        "grants-TOTAL_FORMS": "1",
        "grants-INITIAL_FORMS": "0",
        "grants-0-user": str(anna.pk),
        "grants-0-group": "",
    }
    assert admin.post(address, form).status_code == 302
    record = LibraryAccess.objects.get(pk=manuals.library_uid)
    assert record.visibility == "private"
    assert record.revision > 0
    assert record.grants.get().user == anna
    both = {**form, "grants-0-group": str(Group.objects.create(name="editors").pk)}
    assert admin.post(address, both).status_code == 200
    action = {"action": "make_public", "_selected_action": [manuals.library_uid]}
    assert admin.post("/admin/library/libraryaccess/", action).status_code == 302
    assert LibraryAccess.objects.get(pk=manuals.library_uid).visibility == "public"


@pytest.mark.parametrize("forwarded", [True, False])
def test_the_callers_jwt_goes_where_the_record_says_so_and_nowhere_else(
    manuals: Place, forwarded: bool, caplog: pytest.LogCaptureFixture
) -> None:
    record_models(reranker=True)
    ModelAPI.objects.update(api_key="the key of the record", forward_auth=forwarded)
    user = User.objects.create_user("anna", password="lamp oil 7")
    credentials = {"username": "anna", "password": "lamp oil 7"}
    jwt = Client().post("/api/v1/token/", credentials, content_type="application/json").json()["access"]
    with responses.RequestsMock() as mock:
        mock.add_callback("POST", EMBEDDINGS_URL, embedding_answer(unit(1.0)))
        mock.add("POST", RERANK_URL, json={"results": [{"index": 0, "relevance_score": 0.5}]})
        answer = post(Client(headers={"Authorization": f"Bearer {jwt}"}), {"query": "lathe"})
        sent = {call.request.headers["Authorization"] for call in mock.calls}
        assert (answer.json()["degraded"], len(mock.calls)) == (False, 2)
    assert sent == {f"Bearer {jwt if forwarded else 'the key of the record'}"}
    session_client = Client()
    session_client.force_login(user)
    with responses.RequestsMock() as mock:
        mock.add_callback("POST", EMBEDDINGS_URL, embedding_answer(unit(1.0)))
        mock.add("POST", RERANK_URL, json={"results": [{"index": 0, "relevance_score": 0.5}]})
        post(session_client, {"query": "lathe feed"})
        assert {call.request.headers["Authorization"] for call in mock.calls} == {"Bearer the key of the record"}
    assert jwt not in caplog.text


def test_where_it_cannot_be_told_what_may_be_seen_nothing_is_shown(
    db: None, neo4j: None, settings: Any, unused_port: int
) -> None:
    """Libraries without a record are looked for in the graph, where another library is hidden from the caller."""
    LibraryAccess.objects.create(uid="e" * 32, name="closed", visibility="private")
    client = Client()
    client.force_login(User.objects.create_user("anna"))
    session.close()
    settings.NEO4J_URL = f"bolt://127.0.0.1:{unused_port}"
    for path in ("/library/search/", "/library/concepts/", "/library/concepts/x/", "/library/images/x/"):
        assert client.get(path).status_code == 503, path
    assert post(client, {"query": "lathe"}).status_code == 503
    assert client.get("/api/v1/library/libraries/").json()["error"]["code"] == "graph_unavailable"
