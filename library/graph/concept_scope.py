"""How a concept's record changes when items that name it come and go, and what of it a caller sees. Pure."""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any, Final

from library.graph.records import ConceptRecord, Place

# A title says best what a concept is called; a keyphrase says least.
_KIND_ORDER: Final = {"phrase": 0, "name": 1, "title": 2}
MAX_ALIASES: Final = 20
# Pairs are made among this many of a chunk's strongest mentions: at most 10 pairs a chunk.
PAIRED_MENTIONS: Final = 5
# Between the parts of a naming; white space to Python and Lucene alike, so that no name holds it.
SEPARATOR: Final = "\x1f"


@dataclass(frozen=True, slots=True)
class Naming:
    """What one library calls a concept. The graph keeps it as one string: uid, kind, name, aliases."""

    library_uid: str
    kind: str
    name: str
    aliases: tuple[str, ...] = ()

    @classmethod
    def read(cls, text: str) -> "Naming":
        """From its string."""
        uid, kind, name, *aliases = text.split(SEPARATOR)
        return cls(uid, kind, name, tuple(aliases))

    def written(self) -> str:
        """As a string."""
        parts = (self.kind, self.name, *self.aliases)
        return SEPARATOR.join((self.library_uid, *(part.replace(SEPARATOR, " ") for part in parts)))

    def with_record(self, record: ConceptRecord) -> "Naming":
        """With the names of another item: a title's name wins over a name's, a name's over a phrase's."""
        kind, name, aliases = _renamed(self.kind, self.name, self.aliases, record)
        return replace(self, kind=kind, name=name, aliases=aliases)


@dataclass(frozen=True, slots=True)
class ConceptState:
    """A concept as the graph holds it, its lists sorted."""

    key: str
    name: str
    kind: str
    aliases: tuple[str, ...]
    library_uids: tuple[str, ...]
    library_types: tuple[str, ...]
    collection_uids: tuple[str, ...]
    namings: tuple[str, ...] = ()

    @classmethod
    def from_row(cls, row: Mapping[str, Any]) -> "ConceptState":
        """From a row of LOCK_CONCEPTS_QUERY."""
        return cls(
            row["key"],
            row["name"],
            row["kind"] or "phrase",
            tuple(row["aliases"]),
            tuple(row["library_uids"]),
            tuple(row["library_types"]),
            tuple(row["collection_uids"]),
            tuple(row["namings"]),
        )


def with_item(state: ConceptState, record: ConceptRecord, place: Place) -> ConceptState:
    """The state once an item at `place` names the concept: a title's name wins, aliases and scope are added."""
    kind, name, aliases = _renamed(state.kind, state.name, state.aliases, record)
    return replace(
        state,
        name=name,
        kind=kind,
        aliases=aliases,
        library_uids=_with(state.library_uids, place.library_uid),
        library_types=_with(state.library_types, place.library_type),
        collection_uids=_with(state.collection_uids, place.collection_uid),
        namings=_named(state.namings, record, place.library_uid),
    )


def _renamed(kind: str, name: str, aliases: tuple[str, ...], record: ConceptRecord) -> tuple[str, str, tuple[str, ...]]:
    """Kind, name and aliases once a record has been added to them."""
    others = [record.name, *record.aliases]
    if _order(record.kind) > _order(kind):
        others.append(name)
        kind, name = record.kind, record.name
    added = [alias for alias in dict.fromkeys(others) if alias != name and alias not in aliases]
    kept = tuple(alias for alias in aliases if alias != name)
    return kind, name, tuple(sorted((*kept, *added[: max(0, MAX_ALIASES - len(kept))])))


def _order(kind: str) -> float:
    """A type that a chat model gave says more than a phrase or a name, and less than a title."""
    return _KIND_ORDER.get(kind, 1.5 if kind else 0)


def _named(namings: tuple[str, ...], record: ConceptRecord, library_uid: str) -> tuple[str, ...]:
    """The namings with that of one library brought up to date."""
    found = {naming.library_uid: naming for naming in map(Naming.read, namings)}
    before = found.get(library_uid, Naming(library_uid, record.kind, record.name))
    found[library_uid] = before.with_record(record)
    return tuple(found[uid].written() for uid in sorted(found))


def without_library(namings: Iterable[str], library_uid: str) -> list[str]:
    """The namings without that of a library."""
    return [text for text in namings if not text.startswith(library_uid + SEPARATOR)]


def seen_as(row: Mapping[str, Any], uids: Collection[str] | None) -> tuple[str, str, tuple[str, ...]]:
    """Name, kind and aliases of a concept as the libraries of `uids` know it; None are all of them.

    `row` has name, concept_type, aliases and namings. What only other libraries call it is not told.
    """
    known = (row["name"], row["concept_type"] or "", tuple(row["aliases"] or ()))
    if uids is None or not row["namings"]:
        return known
    namings = [naming for naming in map(Naming.read, row["namings"]) if naming.library_uid in uids]
    if not namings:
        return known
    first, *others = sorted(namings, key=lambda naming: (-_order(naming.kind), naming.library_uid))
    for other in others:
        first = first.with_record(ConceptRecord("", other.name, other.kind, other.aliases))
    return first.name, first.kind, first.aliases


def _with(values: tuple[str, ...], value: str) -> tuple[str, ...]:
    return values if value in values else tuple(sorted((*values, value)))


def pair_counts(chunks: Iterable[Iterable[tuple[str, int]]]) -> Counter[tuple[str, str]]:
    """In how many chunks two concepts stand side by side.

    Each chunk is its (key, rank) mentions; only ranks below `PAIRED_MENTIONS` make pairs, the smaller key first.
    """
    counts: Counter[tuple[str, str]] = Counter()
    for mentions in chunks:
        strongest = sorted({key for key, rank in mentions if rank < PAIRED_MENTIONS})
        counts.update(combinations(strongest, 2))
    return counts
