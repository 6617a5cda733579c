"""How a concept's record changes when items that name it come and go. Pure."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any, Final

from library.graph.records import ConceptRecord, Place

# A title says best what a concept is called; a keyphrase says least.
_KIND_ORDER: Final = {"phrase": 0, "name": 1, "title": 2}
MAX_ALIASES: Final = 20
# Pairs are made among this many of a chunk's strongest mentions: at most 10 pairs a chunk.
PAIRED_MENTIONS: Final = 5


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
        )


def with_item(state: ConceptState, record: ConceptRecord, place: Place) -> ConceptState:
    """The state once an item at `place` names the concept: a title's name wins, aliases and scope are added."""
    kind, name = state.kind, state.name
    others = [record.name, *record.aliases]
    if _KIND_ORDER[record.kind] > _KIND_ORDER.get(state.kind, 0):
        kind, name = record.kind, record.name
        others.append(state.name)
    added = [alias for alias in dict.fromkeys(others) if alias != name and alias not in state.aliases]
    aliases = tuple(alias for alias in state.aliases if alias != name)
    return replace(
        state,
        name=name,
        kind=kind,
        aliases=tuple(sorted((*aliases, *added[: max(0, MAX_ALIASES - len(aliases))]))),
        library_uids=_with(state.library_uids, place.library_uid),
        library_types=_with(state.library_types, place.library_type),
        collection_uids=_with(state.collection_uids, place.collection_uid),
    )


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
