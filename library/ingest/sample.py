"""The sample library: what it holds, and the Python topics that every Python carries, as Markdown.

The texts and pictures lie beside the app in `library/sample`, one folder a library, and `manifest.json` says
what each folder is. The Python language topics come out of `pydoc_data.topics`, where Sphinx left them as plain
text: code is only indented, literals are in double quotes, and small topics are repeated inside large ones.
"""

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

SAMPLE_DIR: Final = Path(__file__).resolve().parent.parent / "sample"
TOPICS_FOLDER: Final = "python"
_LEVELS: Final = {"*": 1, "=": 2, "-": 3, "~": 4}
_UNDERLINE: Final = re.compile(r"([*=~-])\1{2,}")
_SIGNATURE: Final = re.compile(r"(?:(?:class|exception|coroutine|async) )?[A-Za-z_][\w.]*\(.*\)(?: -> .*)?")
_LITERAL: Final = re.compile(r'"([^"\n`]+)"')
_LIST_ITEM: Final = re.compile(r"(?:\*|\d+\.) ")
_PROSE: Final = re.compile(r"(?:[\"(*]*[A-Z][\w'-]*[,:*]*|\"[^\"\n]+\" [a-z]+)(?:\s.*[.:;!?)])?", re.DOTALL)
_RUBRIC: Final = re.compile(r"-\[ (.+) \]-")
# A topic of which less than this many characters are its own is a table of contents.
_LEAST_OWN_TEXT: Final = 200


@dataclass(frozen=True, slots=True)
class SampleLibrary:
    """One library of the sample; `folder` is relative to the sample, or empty for the Python topics."""

    name: str
    library_type: str
    collection: str
    folder: str


@dataclass(frozen=True, slots=True)
class Topic:
    """One Python topic as Markdown; its title is also the first heading."""

    slug: str
    title: str
    text: str


@dataclass(frozen=True, slots=True)
class _Block:
    """Lines between blank lines. `level` is 0 for text, else that of the heading."""

    text: str
    level: int = 0


def sample_libraries(folder: Path = SAMPLE_DIR) -> list[SampleLibrary]:
    """The libraries of the sample, in the order in which they are taken in."""
    content = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    return [SampleLibrary(**entry) for entry in content["libraries"]]


def export_python_topics(folder: Path) -> int:
    """Write the topics into `folder`, one `.md` each, and return their number.

    A file that is right already keeps its time of change; one of another Python version is removed.
    """
    folder.mkdir(parents=True, exist_ok=True)
    topics = python_topics()
    for topic in topics:
        path = folder / f"{topic.slug}.md"
        if not path.exists() or path.read_text(encoding="utf-8") != topic.text:
            path.write_text(topic.text, encoding="utf-8")
    for stale in {path.name for path in folder.glob("*.md")} - {f"{topic.slug}.md" for topic in topics}:
        (folder / stale).unlink()
    return len(topics)


def python_topics() -> list[Topic]:
    """This Python's language topics by slug, each passage in one topic only."""
    from pydoc_data.topics import topics

    blocks = {slug: _blocks(text) for slug, text in sorted(topics.items())}
    found = []
    for slug, own in _without_repetitions(blocks).items():
        title = _plain(blocks[slug][0].text)
        if sum(len(block.text) for block in own if block.level == 0) >= _LEAST_OWN_TEXT:
            found.append(Topic(slug, title, _markdown(title, own)))
    return found


def _blocks(text: str) -> list[_Block]:
    found = []
    for block in re.split(r"\n[ \t]*\n", text.strip("\n")):
        lines = block.strip("\n").split("\n")
        if len(lines) > 1 and _UNDERLINE.fullmatch(lines[1]):
            found.append(_Block(lines[0], _LEVELS[lines[1][0]]))
            lines = lines[2:]
        elif rubric := _RUBRIC.fullmatch(block):
            found.append(_Block(rubric[1], 2))
            continue
        if any(line.strip() for line in lines):
            found.append(_Block("\n".join(lines)))
    return found


def _without_repetitions(topics: dict[str, list[_Block]]) -> dict[str, list[_Block]]:
    """Take out of every topic the other topics that it repeats whole (under headings of another level)."""
    texts = {slug: [block.text for block in blocks] for slug, blocks in topics.items()}
    names: dict[str, str] = {}
    for slug, lines in texts.items():  # of two equal topics the one that its title names
        if "\n".join(lines) not in names or f'"{slug}"' in lines[0]:
            names["\n".join(lines)] = slug
    kept = set(names.values())
    own = {}
    for slug in sorted(kept):
        blocks = topics[slug]
        for other in sorted(kept - {slug}, key=lambda name: -len(texts[name])):
            blocks = _without(blocks, texts[other])
        own[slug] = blocks
    return own


def _without(blocks: list[_Block], part: Sequence[str]) -> list[_Block]:
    texts = [block.text for block in blocks]
    for start in range(len(texts) - len(part) + 1):
        if texts[start : start + len(part)] == part:
            return blocks[:start] + blocks[start + len(part) :]
    return blocks


def _markdown(title: str, blocks: Iterable[_Block]) -> str:
    parts = [f"# {title}"]
    code: list[str] = []
    for block in blocks:
        rendered = _render(block, title)
        if rendered is None:
            code.append(block.text)
            continue
        if code:
            parts.append(_fenced(code))
            code = []
        if rendered:
            parts.append(rendered)
    if code:
        parts.append(_fenced(code))
    return "\n\n".join(parts) + "\n"


def _render(block: _Block, title: str) -> str | None:
    """The block as Markdown: empty for the title itself, None for code."""
    if block.level:
        heading = _plain(block.text)
        return "" if heading == title else f"{'#' * max(block.level, 2)} {heading}"
    lines = block.text.split("\n")
    first = lines[0].strip()
    if _SIGNATURE.fullmatch(first):
        rest = "\n".join(line.strip() for line in lines[1:])
        return f"`{first}`" + (f"\n\n{_prose(rest)}" if rest else "")
    if _LIST_ITEM.match(first) or not lines[0].startswith(" ") or _PROSE.fullmatch(block.text.strip()):
        return _prose("\n".join(line.strip() for line in lines))
    return None


def _prose(text: str) -> str:
    """Literals in backquotes, so that `__init__` is not bold; no line start that would be a heading or quote."""
    literal = _LITERAL.sub(r"`\1`", text)
    return re.sub(r"^([#+>-])", r"\\\1", literal, flags=re.MULTILINE)


def _plain(heading: str) -> str:
    return heading.replace('"', "").strip()


def _fenced(blocks: Sequence[str]) -> str:
    lines = "\n\n".join(blocks).split("\n")
    indent = min(len(line) - len(line.lstrip()) for line in lines if line.strip())
    return "\n".join(["```", *(line[indent:].rstrip() for line in lines), "```"])
