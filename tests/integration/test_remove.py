"""Taking out what was taken in: by command, whole or not at all, and known to every cached answer."""

import io
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError

from library.graph import session, writer
from library.ingest.contents import move_item
from library.models import LibraryAccess
from library.services.requests import build_request
from library.services.search import SearchService
from tests.builder import settle
from tests.taking_in import counts, stored_files, take_in

pytestmark = [pytest.mark.neo4j]


@pytest.fixture
def folder(graph: None, tmp_path: Path) -> Path:
    made = tmp_path / "in"
    made.mkdir()
    (made / "lathe.txt").write_text("The Lathe Manual of Ada Marlowe says how the feed rate is set.")
    (made / "song.txt").write_text("Sing of the lathe and of Ada Marlowe.")
    return made


def run(*arguments: str) -> str:
    output = io.StringIO()
    call_command("remove", *arguments, "--quiet", stdout=output)
    return output.getvalue()


def titles() -> list[str]:
    request = build_request("lathe", strategy="lexical", search_types=["fulltext"], include_images=False, rerank=False)
    return sorted(hit.item_title for hit in SearchService().search(request).candidates)


def test_an_item_goes_with_all_that_hangs_on_it_and_from_the_next_answer(folder: Path) -> None:
    take_in(folder / "lathe.txt")
    before = counts()
    take_in(folder)
    settle()
    assert titles() == titles() == ["lathe", "song"]
    song = (folder / "song.txt").resolve().as_posix()
    assert run(song, "--library", "Manuals") == "1 removed from Manuals\n"
    settle()
    assert titles() == ["lathe"]
    assert counts() == before
    assert len(stored_files()) == 1


def test_a_library_goes_with_its_record_and_everything_in_it(folder: Path) -> None:
    take_in(folder)
    take_in(folder / "song.txt", library="Songs")
    assert run("--library", "Manuals", "--all") == "2 removed from Manuals\n"
    assert [row["name"] for row in session.read("MATCH (l:Library) RETURN l.name AS name", {})] == ["Songs"]
    assert list(LibraryAccess.objects.values_list("name", flat=True)) == ["Songs"]
    assert counts()["items"] == 1
    run("--library", "Songs", "--all")
    assert set(counts().values()) == {0}
    assert stored_files() == []


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--library", "Manuals"], "name what to remove"),
        (["x.txt", "--library", "Manuals", "--all"], "name what to remove"),
        (["x.txt", "--library", "Manuals"], "the library holds no 'x.txt'"),
        (["--library", "Nothing", "--all"], "there is no library 'Nothing'; known are Manuals"),
    ],
)
def test_what_makes_no_sense_removes_nothing(folder: Path, arguments: list[str], told: str) -> None:
    take_in(folder)
    with pytest.raises(CommandError, match=told) as raised:
        run(*arguments)
    assert raised.value.returncode == 2
    assert counts()["items"] == 2


def test_a_move_is_known_to_both_libraries(folder: Path) -> None:
    first, second = take_in(folder), take_in(folder / "song.txt", library="Songs")
    uid = next(iter(writer.item_sources(first.library_uid).values()))
    revisions = dict(LibraryAccess.objects.values_list("uid", "revision"))
    move_item(uid, second.collection_uid)
    after: dict[str, Any] = dict(LibraryAccess.objects.values_list("uid", "revision"))
    assert all(after[one] > revisions[one] for one in (first.library_uid, second.library_uid))
    rows = session.read("MATCH (:Concept)-[r:RELATED_TO]->() RETURN DISTINCT r.library_uid AS uid", {})
    assert {row["uid"] for row in rows} <= {first.library_uid, second.library_uid}
