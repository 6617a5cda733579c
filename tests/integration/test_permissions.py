"""Who sees what: one table of callers, ways in and legs, every cell asserted, with the cache on."""

import base64
import io
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import AnonymousUser, Group, User
from django.core.cache import cache
from django.core.management import call_command
from django.test import Client
from PIL import Image
from rest_framework.authtoken.models import Token

from library.graph import browse, session
from library.ingest.run import IngestRequest, ingest
from library.models import LibraryAccess, LibraryGrant
from library.services.access import allowed_library_uids
from library.services.types import Scope
from library.services.visibility import set_visibility
from tests import documents
from tests.api_client import CONCEPTS, SEARCH, post
from tests.builder import settle

pytestmark = [pytest.mark.neo4j, pytest.mark.models, pytest.mark.slow]

VISIBILITIES = ("private", "everyone", "public")
# What a caller sees, without and with public access.
SEEN = {
    "anonymous": ((), ("public",)),
    "user": (("everyone", "public"), ("everyone", "public")),
    "granted": (VISIBILITIES, VISIBILITIES),
    "group member": (VISIBILITIES, VISIBILITIES),
    "staff": (VISIBILITIES, VISIBILITIES),
}
QUERY = "zeta xenon lamp"
LEGS: dict[str, dict[str, Any]] = {
    "vector": {"search_types": ["vector"], "strategy": "semantic"},
    "fulltext": {"search_types": ["fulltext"], "strategy": "lexical"},
    "graph": {"search_types": ["graph"], "strategy": "hybrid"},
    "hybrid": {"strategy": "hybrid"},
    "lexical_first": {"strategy": "lexical_first"},
    "grouped and expanded": {"group_by": "item", "expand": 2},
}


def text_of(visibility: str) -> str:
    """All libraries speak of the Zeta Xenon Lamp and of Ada Marlowe; the private one alone joins the two."""
    mark = f"mark{visibility}"
    if visibility == "private":
        return (
            f"The Zeta Xenon Lamp (ZXL) of Ada Marlowe is {mark}. The Zanzibar Protocol rules it. "
            "Ada Marlowe wrote the Zanzibar Protocol for the Zeta Xenon Lamp."
        )
    return f"A zeta xenon lamp turns the lamp, {mark}. The Zeta Xenon Lamp needs oil every night."


@dataclass
class Shelf:
    """Three libraries of the same subject, and what of each must never be seen by whom it is hidden from."""

    uids: dict[str, str] = field(default_factory=dict)
    images: dict[str, str] = field(default_factory=dict)

    def marks(self, visibility: str) -> list[str]:
        """What gives a library away."""
        marks = [f"mark{visibility}", f"Library {visibility}", self.uids[visibility], self.images[visibility]]
        return [*marks, "Zanzibar", "zanzibar", "ZXL"] if visibility == "private" else marks


@pytest.fixture
def shelf(graph: None, system_models: None, tmp_path: Path) -> Shelf:
    found = Shelf()
    for visibility in VISIBILITIES:
        folder = tmp_path / visibility
        folder.mkdir()
        (folder / "notes.md").write_text(f"# Notes mark{visibility}\n\n{text_of(visibility)}\n", encoding="utf-8")
        person = f"Ada Marlowe kept a diary, mark{visibility}. Ada Marlowe walked along the shore."
        (folder / "diary.md").write_text(f"# Diary mark{visibility}\n\n{person}\n", encoding="utf-8")
        Image.new("RGB", (40, 30), "red").save(folder / "lamp.png")
        (folder / "lamp.png.txt").write_text(f"The lamp of the Zeta Xenon Lamp, mark{visibility}", encoding="utf-8")
        request = IngestRequest((folder,), f"Library {visibility}", "technical", visibility=visibility)
        report = ingest(request)
        assert report.failed == []
        found.uids[visibility] = report.library_uid
        query = "MATCH (i:Item {library_uid: $uid})-[:HAS_IMAGE]->(m) RETURN m.uid AS uid"
        found.images[visibility] = session.read(query, {"uid": report.library_uid})[0]["uid"]
    settle()
    return found


def callers() -> dict[str, tuple[Client, Any]]:
    """Each caller's client and user, by every way to sign in: session, token and JWT."""
    group = Group.objects.create(name="keepers")
    users = {name: User.objects.create_user(name.replace(" ", "_"), password="lamp oil 7") for name in SEEN}
    users["group member"].groups.add(group)
    users["staff"].is_staff = True
    users["staff"].save()
    private = LibraryAccess.objects.get(visibility="private")
    LibraryGrant.objects.create(library=private, user=users["granted"])
    LibraryGrant.objects.create(library=private, group=group)
    found: dict[str, tuple[Client, Any]] = {"anonymous": (Client(), AnonymousUser())}
    for name in ("user", "granted", "group member", "staff"):
        client = Client()
        client.force_login(users[name])
        found[name] = (client, users[name])
    return found


def concept_uid(name: str) -> str:
    return str(session.read("MATCH (c:Concept {key: $key}) RETURN c.uid AS uid", {"key": name.lower()})[0]["uid"])


def ways(shelf: Shelf) -> Iterator[tuple[str, Callable[[Client], Any]]]:
    """Every endpoint and page that shows something of libraries; those of search by every leg."""

    def api(body: dict[str, Any], path: str = SEARCH) -> Callable[[Client], Any]:
        return lambda client: post(client, {"query": QUERY, "facets": True, "rerank": False, **body}, path)

    def get(path: str, **parameters: Any) -> Callable[[Client], Any]:
        return lambda client: client.get(path, parameters)

    for leg, body in LEGS.items():
        yield f"api search, {leg}", api(body)
        yield f"api search, {leg}, again", api(body)
    yield "api search/vector", api({}, SEARCH + "vector/")
    yield "api search/fulltext", api({}, SEARCH + "fulltext/")
    yield "api search, re-ranked", api({"rerank": True})
    yield "api libraries", get("/api/v1/library/libraries/")
    picture = base64.b64encode(documents.picture("red", (40, 30))).decode("ascii")
    yield "api search by picture", api({"query": "", "query_image": picture})
    yield "page search", get("/library/search/", query=QUERY)


def concept_ways(shelf: Shelf) -> Iterator[tuple[str, Callable[[Client], Any]]]:
    """Endpoints and pages of concepts, which need not name a library to be seen."""
    shared = concept_uid("zeta xenon lamp")

    def get(path: str, **parameters: Any) -> Callable[[Client], Any]:
        return lambda client: client.get(path, parameters)

    yield "api concepts", get(CONCEPTS)
    yield "api concepts, by a hidden alias", get(CONCEPTS, q="zxl")
    yield "api concept graph", get(f"{CONCEPTS}{shared}/graph/", depth=3)
    yield "page concepts", get("/library/concepts/")
    yield "page concept", get(f"/library/concepts/{shared}/")


def test_every_caller_sees_what_is_theirs_and_no_trace_of_the_rest(shelf: Shelf, settings: Any) -> None:
    known = callers()
    wrong: list[str] = []
    cells = 0
    for public in (False, True):
        settings.LIBRARY_PUBLIC_ACCESS = public
        for name, (client, user) in known.items():
            seen = SEEN[name][public]
            for way, ask in [*ways(shelf), *concept_ways(shelf)]:
                cells += 1
                wrong += [
                    f"{name}, public {public}, {way}: {fault}" for fault in _faults(shelf, way, ask(client), seen)
                ]
            for visibility in VISIBILITIES:
                cells += 1
                for prefix, refused in (("/library/images/", 302), ("/api/v1/library/images/", 401)):
                    for path in (
                        f"{prefix}{shelf.images[visibility]}/",
                        f"{prefix}{shelf.images[visibility]}/thumbnail/",
                    ):
                        status = client.get(path).status_code
                        expected = refused if not seen else 200 if visibility in seen else 404
                        if status != expected:
                            wrong.append(f"{name}, public {public}, {path} of {visibility}: {status}, not {expected}")
            hidden = f"{CONCEPTS}{concept_uid('zanzibar protocol')}/graph/"
            cells += 1
            expected = 401 if not seen else 200 if "private" in seen else 404
            if client.get(hidden).status_code != expected:
                wrong.append(f"{name}, public {public}, the private concept: not {expected}")
            if user.is_authenticated:
                for command in (["search", QUERY, "--no-rerank", "--facets", "--json"], ["search_stats", "--json"]):
                    cells += 1
                    output = io.StringIO()
                    call_command(*command, "--user", user.username, stdout=output)
                    wrong += [f"{name}, {command[0]}: {fault}" for fault in _leaks(shelf, output.getvalue(), seen)]
    assert wrong == []
    assert cells > 200


def _faults(shelf: Shelf, way: str, answer: Any, seen: tuple[str, ...]) -> list[str]:
    if not seen:
        refused = 302 if way.startswith("page") else 401
        return [] if answer.status_code == refused else [f"{answer.status_code}, not {refused}"]
    if answer.status_code != 200:
        return [f"{answer.status_code}: {answer.content[:200]!r}"]
    text = answer.content.decode()
    faults = _leaks(shelf, text, seen)
    if "concept" not in way and "picture" not in way:
        marks = {"api libraries": "Library {}"}.get(way, "mark{}")
        faults += [f"{one} is missing" for one in seen if marks.format(one) not in text]
    if way.endswith("again") and json.loads(text)["cached"] is not True:
        faults.append("not cached")
    if way == "api concept graph" and "private" in seen:
        joined = {concept_uid("zeta xenon lamp"), concept_uid("ada marlowe")}
        edges = [{edge["source"], edge["target"]} for edge in json.loads(text)["edges"]]
        faults += [] if joined in edges else ["the relation is missing for those who may see it"]
    if way == "api concept graph" and "private" not in seen:
        # Both concepts are theirs to see; that something joins them is not.
        joined = {concept_uid("zeta xenon lamp"), concept_uid("ada marlowe")}
        edges = [{edge["source"], edge["target"]} for edge in json.loads(text)["edges"]]
        faults += ["the relation is shown"] if joined in edges else []
    return faults


def _leaks(shelf: Shelf, text: str, seen: tuple[str, ...]) -> list[str]:
    hidden = [visibility for visibility in VISIBILITIES if visibility not in seen]
    return [f"{mark!r} is shown" for visibility in hidden for mark in shelf.marks(visibility) if mark in text]


def test_a_hidden_library_asked_for_is_as_one_that_does_not_exist(shelf: Shelf) -> None:
    client, _ = callers()["user"]

    def told(uid: str) -> tuple[int, str]:
        answer = post(client, {"query": QUERY, "library_uid": uid, "facets": True, "rerank": False})
        body = answer.json()
        for name in ("search_time_ms", "metrics"):
            body.pop(name)
        for leg in body["legs"].values():
            leg["time_ms"] = 0
        return answer.status_code, json.dumps(body)

    hidden, missing = told(shelf.uids["private"]), told("0" * 32)
    assert hidden == missing
    for path in (CONCEPTS + "{}/graph/", "/library/concepts/{}/", "/library/images/{}/"):
        answers = [client.get(path.format(uid)) for uid in (concept_uid("zanzibar protocol"), "f" * 32)]
        assert [answer.status_code for answer in answers] == [404, 404]
    images = [client.get(f"/library/images/{uid}/") for uid in (shelf.images["private"], "f" * 32)]
    assert [answer.status_code for answer in images] == [404, 404]


def test_a_grant_counts_from_the_next_request_on_and_until_it_is_withdrawn(shelf: Shelf) -> None:
    client, user = callers()["user"]
    body = {"query": QUERY, "rerank": False}
    private = LibraryAccess.objects.get(visibility="private")

    def sees() -> bool:
        post(client, body)
        return "markprivate" in post(client, body).content.decode()

    assert not sees()
    grant = LibraryGrant.objects.create(library=private, user=user)
    assert sees()
    grant.delete()
    assert not sees()
    group = Group.objects.create(name="late")
    LibraryGrant.objects.create(library=private, group=group)
    user.groups.add(group)
    assert sees()
    group.delete()
    assert not sees()
    set_visibility(private, "everyone")
    assert sees()
    set_visibility(private, "private")
    assert not sees()


def test_an_inactive_user_sees_nothing(shelf: Shelf) -> None:
    _, user = callers()["staff"]
    user.is_active = False
    assert allowed_library_uids(user) == frozenset()


def test_token_jwt_and_session_are_the_same_caller(shelf: Shelf) -> None:
    _, user = callers()["granted"]
    body = {"query": QUERY, "rerank": False}
    given = (
        Client()
        .post("/api/v1/token/", {"username": user.username, "password": "lamp oil 7"}, content_type="application/json")
        .json()
    )
    token = Token.objects.create(user=user).key
    for credentials in (f"Bearer {given['access']}", f"Token {token}"):
        answer = post(Client(headers={"Authorization": credentials}), body)
        assert answer.status_code == 200
        assert "markprivate" in answer.content.decode()
    renewed = Client().post("/api/v1/token/refresh/", {"refresh": given["refresh"]}, content_type="application/json")
    assert renewed.json()["access"]
    for wrong in ("Bearer nonsense", "Token nonsense"):
        refused = post(Client(headers={"Authorization": wrong}), body)
        assert refused.status_code == 401
        assert set(refused.json()) == {"error"}
    bad = Client().post("/api/v1/token/", {"username": "x", "password": "y"}, content_type="application/json")
    assert (bad.status_code, set(bad.json())) == (401, {"error"})


def test_a_library_without_a_record_is_as_visible_as_the_settings_say(shelf: Shelf, settings: Any) -> None:
    _, user = callers()["user"]
    LibraryAccess.objects.filter(visibility="everyone").delete()
    assert allowed_library_uids(user) == frozenset({shelf.uids["everyone"], shelf.uids["public"]})
    settings.LIBRARY_DEFAULT_VISIBILITY = "private"
    assert allowed_library_uids(user) == frozenset({shelf.uids["public"]})


def test_a_user_of_more_libraries_than_lucene_has_clauses_is_served_by_every_leg(shelf: Shelf) -> None:
    client, user = callers()["granted"]
    many = [LibraryAccess(uid=f"{number:032x}", name=f"L{number}", visibility="private") for number in range(1100)]
    LibraryAccess.objects.bulk_create(many)
    LibraryGrant.objects.bulk_create([LibraryGrant(library=record, user=user) for record in many])
    LibraryAccess.objects.create(uid="e" * 32, name="closed", visibility="private")
    allowed = allowed_library_uids(user)
    assert allowed is not None
    assert len(allowed) == 1103
    for leg, body in LEGS.items():
        answer = post(client, {"query": QUERY, "rerank": False, **body})
        found = answer.json()
        assert answer.status_code == 200, leg
        assert not found["degraded"], (leg, found["warnings"])
        assert {f"mark{one}" for one in VISIBILITIES} <= set(_marks(answer.content.decode())), leg
    assert len(found["images"]) == 3


def _marks(text: str) -> list[str]:
    return [f"mark{visibility}" for visibility in VISIBILITIES if f"mark{visibility}" in text]


def test_requests_are_bounded_by_user_and_by_address(shelf: Shelf, settings: Any) -> None:
    settings.LIBRARY_PUBLIC_ACCESS = True
    settings.API_THROTTLE_USER = "2/min"
    settings.API_THROTTLE_ANONYMOUS = "1/min"
    known = callers()
    paths = "/api/v1/library/libraries/"
    cache.clear()
    for name, allowed in (("user", 2), ("granted", 2), ("anonymous", 1)):
        statuses = [known[name][0].get(paths).status_code for _ in range(allowed + 1)]
        assert statuses == [200] * allowed + [429], name
    refused = known["user"][0].get(paths)
    assert refused.json()["error"]["code"] == "throttled"
    assert int(refused.headers["Retry-After"]) > 0
    cache.clear()
    page = [known["anonymous"][0].get("/library/search/").status_code for _ in range(2)]
    assert page == [200, 429]
    cache.clear()
    body = {"username": "nobody", "password": "x"}
    tried = [Client().post("/api/v1/token/", body, content_type="application/json").status_code for _ in range(2)]
    assert tried == [401, 429]


def test_what_staff_alone_may_see_is_not_shown_by_names(shelf: Shelf) -> None:
    """The names a concept has in hidden libraries only are no names of it."""
    seen = frozenset({shelf.uids["everyone"], shelf.uids["public"]})
    uid = concept_uid("zeta xenon lamp")
    everyones = browse.concept(Scope(seen), uid)
    staffs = browse.concept(Scope(), uid)
    assert everyones is not None
    assert staffs is not None
    assert "ZXL" not in everyones.aliases
    assert "ZXL" in staffs.aliases
