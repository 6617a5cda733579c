"""The sample library: complete, small, and joined by people and places that occur in several libraries."""

import re
from collections import Counter
from pathlib import Path

import pytest
from PIL import Image

from library.content_types import CONTENT_TYPES
from library.ingest.sample import SAMPLE_DIR, Topic, export_python_topics, python_topics, sample_libraries

PIECES = sorted(SAMPLE_DIR.rglob("*.md"))
PICTURES = sorted(SAMPLE_DIR.rglob("*.png"))


@pytest.fixture(scope="module")
def topics() -> dict[str, Topic]:
    return {topic.slug: topic for topic in python_topics()}


def test_the_manifest_names_known_types_and_every_folder() -> None:
    libraries = sample_libraries()
    assert {library.library_type for library in libraries} >= {"technical", "fiction", "journal", "music", "art"}
    assert {library.library_type for library in libraries} <= set(CONTENT_TYPES)
    folders = {path.name for path in SAMPLE_DIR.iterdir() if path.is_dir()}
    assert {library.folder for library in libraries if library.folder} == folders
    assert [library.library_type for library in libraries if not library.folder] == ["technical"]


@pytest.mark.parametrize("path", PIECES, ids=lambda path: path.stem)
def test_a_piece_has_one_title_sections_and_a_fair_length(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert len(re.findall(r"^# ", text, re.MULTILINE)) == 1
    assert text.startswith("# ")
    assert len(re.findall(r"^## ", text, re.MULTILINE)) >= 3
    assert 280 <= len(text.split()) <= 900


def test_titles_are_told_apart() -> None:
    titles = Counter(path.read_text(encoding="utf-8").splitlines()[0] for path in PIECES)
    assert max(titles.values()) == 1
    assert len(titles) >= 12


@pytest.mark.parametrize("path", PICTURES, ids=lambda path: path.stem)
def test_a_picture_is_small_sound_and_described(path: Path) -> None:
    assert path.stat().st_size < 40_000
    with Image.open(path) as picture:
        picture.verify()
    description = path.with_name(f"{path.name}.txt").read_text(encoding="utf-8")
    assert len(description.split()) >= 25


@pytest.mark.parametrize("name", ["Skerrow Lighthouse", "Petrel", "Lindqvist", "Wren", "generator", "salt-glazed"])
def test_a_name_joins_several_libraries(name: str) -> None:
    texts = [*PIECES, *SAMPLE_DIR.rglob("*.png.txt")]
    folders = {path.parent.name for path in texts if name.lower() in path.read_text(encoding="utf-8").lower()}
    assert len(folders) >= 2


def test_there_is_a_topic_for_each_statement_with_its_name_as_title(topics: dict[str, Topic]) -> None:
    assert topics["yield"].title == "The yield statement"
    assert topics["with"].title == "The with statement"
    assert topics["yield"].text.startswith("# The yield statement\n\n```\n")
    assert len(topics) > 60


def test_of_two_equal_topics_the_one_named_by_its_title_stays(topics: dict[str, Topic]) -> None:
    assert "if" in topics
    assert "else" not in topics


def test_a_topic_is_not_repeated_inside_a_larger_one(topics: dict[str, Topic]) -> None:
    for passage, owner in (("Using yield in a function definition", "yield"), ("This allows common", "with")):
        assert [slug for slug, topic in topics.items() if passage in topic.text] == [owner]


def test_code_is_fenced_and_literals_keep_their_underscores(topics: dict[str, Topic]) -> None:
    text = topics["async"].text
    assert "```\nasync def func(param1, param2):\n    do_stuff()\n" in text
    assert "`__aiter__`" in text
    assert all(topic.text.count("\n```") % 2 == 0 for topic in topics.values())


def test_headings_of_a_topic_are_its_own_levels(topics: dict[str, Topic]) -> None:
    headings = re.findall(r"^#+ .*$", topics["async"].text, re.MULTILINE)
    assert headings[:3] == ["# Coroutines", "## Coroutine function definition", "## The async for statement"]
    for topic in topics.values():
        outside_code = re.sub(r"^```.*?^```", "", topic.text, flags=re.MULTILINE | re.DOTALL)
        assert len(re.findall(r"^# ", outside_code, re.MULTILINE)) == 1, topic.slug


def test_a_second_export_touches_nothing_and_removes_what_is_stale(tmp_path: Path) -> None:
    count = export_python_topics(tmp_path)
    (tmp_path / "print.md").write_text("# The print statement\n", encoding="utf-8")
    before = {path.name: path.stat().st_mtime_ns for path in tmp_path.glob("*.md")}
    assert export_python_topics(tmp_path) == count
    after = {path.name: path.stat().st_mtime_ns for path in tmp_path.glob("*.md")}
    assert after == {name: changed for name, changed in before.items() if name != "print.md"}
