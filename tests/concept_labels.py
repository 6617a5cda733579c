"""How good the built-in finder's concepts are, by 40 passages of the sample library that were labelled by hand.

The finder's rules were made with 20 of them at hand. The other 20 were drawn (seed 6) and labelled when the rules were
made: only those tell how good it is on texts that it has not been fitted to.

`right` lists every concept that a passage may be said to be about, `main` those that must not be missing. A concept
that is on neither list is wrong.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from library.ingest.chunk import split
from library.ingest.concepts import ConceptFinder
from library.ingest.extract import ExtractOptions, extract
from library.ingest.run import chunk_sizes
from library.ingest.sample import SAMPLE_DIR, sample_libraries
from library.ingest.sources import find_sources
from library.ingest.tokens import token_counter

LABELS = Path(__file__).parent / "data" / "concept_labels.jsonl"


@dataclass(frozen=True)
class Labelled:
    """A passage with what was found in it, by kind, and what should have been."""

    place: str
    found: dict[str, str]
    right: frozenset[str]
    main: frozenset[str]
    unseen: bool

    @property
    def wrong(self) -> set[str]:
        """Found, and none of its concepts."""
        return set(self.found) - self.right


def labelled() -> list[Labelled]:
    """The labelled passages, read anew as an ingest reads them."""
    rows = [json.loads(line) for line in LABELS.read_text(encoding="utf-8").splitlines()]
    labels = {(row["source"], row["index"]): row for row in rows}
    found = [
        Labelled(f"{source} {index}", kinds, frozenset(row["right"]), frozenset(row["main"]), row["unseen"])
        for source, index, kinds in _passages()
        if (row := labels.get((source, index))) is not None
    ]
    assert len(found) == len(labels) == 40
    return found


def _passages() -> Iterator[tuple[str, int, dict[str, str]]]:
    for library in sample_libraries():
        if not library.folder:
            continue
        folder = SAMPLE_DIR / library.folder
        sizes = chunk_sizes(library.library_type, 512)
        for source in find_sources([folder], folder).sources:
            document = extract(source, ExtractOptions(10**8))
            passages = list(split(document, sizes, token_counter("")))
            title = document.title if document.titled else ""
            concepts = ConceptFinder().find(title, [passage.text for passage in passages])
            kinds = {record.key: record.kind for record in concepts.concepts}
            for passage, mentions in zip(passages, concepts.mentions, strict=True):
                named = {mention.key: kinds[mention.key] for mention in mentions}
                yield f"{library.folder}/{source.source}", passage.index, named


def precision(passages: list[Labelled], kind: str | None = None) -> float:
    """The share of the concepts found, of one kind or all, that are right."""
    found = [key in one.right for one in passages for key, of in one.found.items() if kind in (None, of)]
    return sum(found) / len(found)


def recall(passages: list[Labelled]) -> float:
    """The share of the main concepts that were found, by themselves or as a part of a longer name."""
    wanted = [any(key == name or key in name.split() for name in one.found) for one in passages for key in one.main]
    return sum(wanted) / len(wanted)
