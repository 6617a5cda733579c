"""Writing items into the graph: each whole or not at all, concepts and scope kept true by the same transaction."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Final
from uuid import uuid4

from neo4j import ManagedTransaction

from library.exceptions import InvalidRequest, NotConfigured
from library.graph import ingest_queries as q
from library.graph import session
from library.graph.concept_scope import SEPARATOR, ConceptState, pair_counts, with_item, without_library
from library.graph.records import (
    TOGETHER,
    ChunkRecord,
    ConceptRecord,
    ImageRecord,
    ItemRecord,
    Mention,
    Place,
    stable_uid,
)

PREVIEW_CHARS: Final = 500
# A library, two keys of concepts that it relates, and how.
Pair = tuple[str, str, str, str]


@dataclass(frozen=True, slots=True)
class KnownItem:
    """What the graph holds of an item already."""

    content_hash: str
    status: str
    collection_uid: str


@dataclass(frozen=True, slots=True)
class WriteResult:
    """What a batch did: uids written, uids another process had written in the meantime, files no longer used."""

    written: tuple[str, ...]
    unchanged: tuple[str, ...]
    stale_files: tuple[str, ...]


@dataclass(slots=True)
class _Before:
    """What the items of a batch held before: per item for concepts, together for the rest."""

    keys: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    pairs: Counter[Pair] = field(default_factory=Counter)
    files: set[str] = field(default_factory=set)
    places: dict[str, Place] = field(default_factory=dict)


def _run(tx: ManagedTransaction, query: str, **parameters: Any) -> list[dict[str, Any]]:
    return tx.run(query, parameters).data()


def _run_each(tx: ManagedTransaction, query: str, **parameters: Any) -> list[dict[str, Any]]:
    """Run a query over the rows of its first parameter; without any there is nothing to ask Neo4j."""
    return _run(tx, query, **parameters) if next(iter(parameters.values())) else []


def library_uid(name: str) -> str | None:
    """The uid of the library of a name, if there is one."""
    rows = session.read(q.LIBRARY_UID_QUERY, {"name": name})
    return str(rows[0]["uid"]) if rows else None


def note_visibility(uid: str, visibility: str) -> None:
    """Copy a library's visibility to its node; the ORM's record is what decides."""
    session.write(lambda tx: _run(tx, q.VISIBILITY_QUERY, uid=uid, visibility=visibility))


def open_place(
    library_name: str, library_type: str, collection_name: str, uid: str = "", visibility: str = "everyone"
) -> Place:
    """The library and collection of these names, made when they do not exist; a new library gets `uid`, if given.

    Raises `InvalidRequest` when the library exists with another type.
    """
    values = {"name": library_name, "uid": uid or uuid4().hex, "library_type": library_type, "visibility": visibility}

    def work(tx: ManagedTransaction) -> Place:
        row = _run(tx, q.LIBRARY_QUERY, **values)[0]
        if row["library_type"] != library_type:
            raise InvalidRequest(
                "type", f"library {library_name!r} exists with type {row['library_type']}, not {library_type}"
            )
        uid = stable_uid(row["uid"], "collection", collection_name)
        _run(tx, q.COLLECTION_QUERY, library_uid=row["uid"], uid=uid, name=collection_name)
        return Place(row["uid"], library_type, uid)

    return session.write(work)


def known_items(uids: Sequence[str]) -> dict[str, KnownItem]:
    """The items of these uids that exist."""
    rows = session.read(q.KNOWN_ITEMS_QUERY, {"uids": list(uids)})
    return {
        row["uid"]: KnownItem(row["content_hash"] or "", row["status"] or "", row["collection_uid"] or "")
        for row in rows
    }


def known_titles(library_uid: str, limit: int = 200_000) -> list[str]:
    """Names of the concepts that are titles in a library."""
    rows = session.read(q.TITLES_QUERY, {"library_uid": library_uid, "limit": limit})
    return [row["name"] for row in rows]


def files_in_use(uids: Sequence[str]) -> set[str]:
    """Storage keys that the items of these uids point at."""
    rows = session.read(q.STORED_KEYS_QUERY, {"uids": list(uids)})
    return {key for row in rows for key in row["keys"]}


def write_items(place: Place, items: Sequence[ItemRecord], model: str) -> WriteResult:
    """Write whole items in one transaction, replacing what they held before.

    An item that already has this content at this place is left alone. Raises `GraphError` and its kinds: then
    nothing was written.
    """
    ordered = sorted(items, key=lambda item: item.uid)

    def work(tx: ManagedTransaction) -> WriteResult:
        current = {
            row["uid"]: row
            for row in _run(
                tx, q.LOCK_ITEMS_QUERY, items=[{"uid": item.uid, "source": item.source} for item in ordered]
            )
        }
        same = {item.uid for item in ordered if _is_current(current[item.uid], item, place)}
        fresh = [item for item in ordered if item.uid not in same]
        before = _read_before(tx, [current[item.uid] for item in fresh])
        _lock_concepts(tx, fresh, before, place)
        _run_each(tx, q.DELETE_CONTENT_QUERY, uids=[uid for uid in before.places if uid not in same])
        _create(tx, fresh, place, model)
        new_pairs = _pairs_of(
            place.library_uid,
            (((mention.key, mention.rank) for mention in chunk.mentions) for item in fresh for chunk in item.chunks),
        )
        for item in fresh:
            new_pairs.update((place.library_uid, one.start, one.to, one.type) for one in item.relations)
        _relate(tx, new_pairs, before.pairs)
        _release(tx, fresh, before, place)
        kept = {chunk.storage_key for item in fresh for chunk in item.chunks} | {
            image.storage_key for item in fresh for image in item.images
        }
        return WriteResult(tuple(item.uid for item in fresh), tuple(sorted(same)), tuple(sorted(before.files - kept)))

    return session.write(work)


def _is_current(row: dict[str, Any], item: ItemRecord, place: Place) -> bool:
    return bool(
        row["status"] == item.status
        and row["content_hash"] == item.content_hash
        and row["collection_uid"] == place.collection_uid
    )


def _read_before(tx: ManagedTransaction, rows: Sequence[dict[str, Any]]) -> _Before:
    """Concepts, pairs, files and places of items that exist already; `rows` are those of LOCK_ITEMS_QUERY."""
    before = _Before()
    uids = [row["uid"] for row in rows if row["collection_uid"] is not None]
    if not uids:
        return before
    for row in rows:
        if row["collection_uid"] is not None:
            before.places[row["uid"]] = Place(row["library_uid"], row["library_type"], row["collection_uid"])
    chunks = _run(tx, q.OLD_CHUNKS_QUERY, uids=uids)
    for row in chunks:
        if row["counted"]:
            mentions = ((key, rank) for key, rank in row["mentions"])
            before.pairs.update(_pairs_of(before.places[row["item_uid"]].library_uid, [mentions]))
        before.keys[row["item_uid"]].update(key for key, _ in row["mentions"])
        before.files.add(row["storage_key"])
    for row in _run(tx, q.OLD_LINKS_QUERY, uids=uids):
        library = before.places[row["item_uid"]].library_uid
        before.pairs.update((library, *text.split(SEPARATOR)) for text in row["relations"])
        before.keys[row["item_uid"]].update(row["refers"], row["depicts"])
        before.files.update(row["storage_keys"])
    return before


def _pairs_of(library_uid: str, chunks: Iterable[Iterable[tuple[str, int]]]) -> Counter[Pair]:
    return Counter({(library_uid, a, b, TOGETHER): count for (a, b), count in pair_counts(chunks).items()})


def _lock_concepts(tx: ManagedTransaction, items: Sequence[ItemRecord], before: _Before, place: Place) -> None:
    """Lock every concept touched, in the order of keys; make the new ones; add names and scope."""
    named: dict[str, list[ConceptRecord]] = defaultdict(list)
    for item in items:
        for record in item.concepts:
            named[record.key].append(record)
    scope = ((place.library_uid,), (place.library_type,), (place.collection_uid,))
    fresh = {key: _made(key, records, scope, place) for key, records in named.items()}
    for keys in before.keys.values():
        fresh |= {key: ConceptState(key, key, "phrase", (), *scope) for key in keys - fresh.keys()}
    rows = [{**_lists(asdict(fresh[key])), "uid": stable_uid("concept", key)} for key in sorted(fresh)]
    changed = []
    for row in _run_each(tx, q.LOCK_CONCEPTS_QUERY, concepts=rows):
        state = ConceptState.from_row(row)
        after = state
        for record in named.get(state.key, ()):
            after = with_item(after, record, place)
        if after != state:
            changed.append(asdict(after))
    _run_each(tx, q.UPDATE_CONCEPTS_QUERY, concepts=[_lists(row) for row in changed])


def _made(key: str, records: Sequence[ConceptRecord], scope: tuple[tuple[str], ...], place: Place) -> ConceptState:
    """A concept that did not exist before, as the records call it."""
    state = ConceptState(key, records[0].name, records[0].kind, records[0].aliases, *scope)
    for record in records:
        state = with_item(state, record, place)
    return state


def _lists(row: dict[str, Any]) -> dict[str, Any]:
    """Tuples are no Cypher value."""
    return {name: list(value) if isinstance(value, tuple) else value for name, value in row.items()}


def _mentions(mentions: Iterable[Mention]) -> list[dict[str, Any]]:
    return [asdict(mention) for mention in mentions]


def _create(tx: ManagedTransaction, items: Sequence[ItemRecord], place: Place, model: str) -> None:
    scope = asdict(place)
    _run(tx, q.SET_ITEMS_QUERY, items=[_item_row(item) for item in items], **scope)
    chunks = [_chunk_row(item.uid, chunk) for item in items for chunk in item.chunks]
    _run_each(tx, q.CREATE_CHUNKS_QUERY, chunks=chunks, model=model, **scope)
    images = [_image_row(item.uid, image) for item in items for image in item.images]
    _run_each(tx, q.CREATE_IMAGES_QUERY, images=images)
    embedded = [row for row in images if row["embedding"] is not None]
    _run_each(tx, q.CREATE_IMAGE_EMBEDDINGS_QUERY, images=embedded, model=model, **scope)


def _item_row(item: ItemRecord) -> dict[str, Any]:
    return {
        "uid": item.uid,
        "title": item.title,
        "item_type": item.item_type,
        "content_hash": item.content_hash,
        "status": item.status,
        "error": item.error,
        "references": _mentions(item.references),
        "relations": [SEPARATOR.join((one.start, one.to, one.type)) for one in item.relations],
    }


def _chunk_row(item_uid: str, chunk: ChunkRecord) -> dict[str, Any]:
    return {
        "item_uid": item_uid,
        "uid": chunk.uid,
        "index": chunk.index,
        "text": chunk.text,
        "preview": chunk.text.strip()[:PREVIEW_CHARS],
        "title": chunk.title,
        "section": chunk.section,
        "page": chunk.page,
        "storage_key": chunk.storage_key,
        "embedding": list(chunk.embedding),
        "mentions": _mentions(chunk.mentions),
    }


def _image_row(item_uid: str, image: ImageRecord) -> dict[str, Any]:
    return {
        "item_uid": item_uid,
        "uid": image.uid,
        "image_type": image.image_type,
        "description": image.description,
        "ocr_text": image.ocr_text,
        "storage_key": image.storage_key,
        "page": image.page,
        "embedding_uid": stable_uid(image.uid, "embedding"),
        "embedding": list(image.embedding) if image.embedding is not None else None,
        "depicts": _mentions(image.depicts),
        "look": list(image.look) or None,
    }


def _relate(tx: ManagedTransaction, after: Counter[Pair], before: Counter[Pair]) -> None:
    """Move the counts of RELATED_TO by the difference between what the items hold now and held before."""
    moved = {pair: after[pair] - before[pair] for pair in sorted(after.keys() | before.keys())}
    names = ("library_uid", "a", "b", "type")
    rows = {pair: {**dict(zip(names, pair, strict=True)), "delta": n} for pair, n in moved.items() if n}
    _run_each(tx, q.RELATE_QUERY, pairs=list(rows.values()))
    _run_each(tx, q.UNRELATE_QUERY, pairs=[row for pair, row in rows.items() if moved[pair] < 0])


def _release(tx: ManagedTransaction, items: Sequence[ItemRecord], before: _Before, place: Place | None) -> None:
    """Take scope from concepts that items no longer name at the place where they were; delete unused ones."""
    now = {item.uid: {record.key for record in item.concepts} for item in items}
    lost: dict[Place, set[str]] = defaultdict(set)
    for uid, old in before.places.items():
        lost[old] |= before.keys[uid] - (now.get(uid, set()) if old == place else set())
    for old in sorted(lost, key=lambda where: where.collection_uid):
        unscope(tx, old, lost[old])


def unscope(tx: ManagedTransaction, place: Place, keys: Iterable[str]) -> None:
    """Check concepts against a place: drop the parts of its scope where nothing names them any more."""
    changed, unused = [], []
    for row in _run_each(tx, q.CONCEPT_USE_QUERY, keys=sorted(keys), **asdict(place)):
        if not row["used"]:
            unused.append(row["key"])
            continue
        scope = {
            "library_uids": _without(row["library_uids"], place.library_uid, row["in_library"]),
            "library_types": _without(row["library_types"], place.library_type, row["in_type"]),
            "collection_uids": _without(row["collection_uids"], place.collection_uid, row["in_collection"]),
        }
        scope["namings"] = row["namings"] if row["in_library"] else without_library(row["namings"], place.library_uid)
        if any(scope[name] != row[name] for name in scope):
            changed.append({"key": row["key"], **scope})
    _run_each(tx, q.SET_CONCEPT_SCOPE_QUERY, concepts=changed)
    _run_each(tx, q.DELETE_CONCEPTS_QUERY, keys=unused)


def _without(values: list[str], value: str, used: bool) -> list[str]:
    return values if used else [kept for kept in values if kept != value]


def record_failure(place: Place, uid: str, title: str, item_type: str, source: str, error: str) -> None:
    """Leave a failed item with its reason. One that was whole before stays whole and keeps the reason beside it."""

    def work(tx: ManagedTransaction) -> None:
        _run(
            tx,
            q.FAIL_ITEM_QUERY,
            uid=uid,
            title=title,
            item_type=item_type,
            source=source,
            error=error,
            **asdict(place),
        )

    session.write(work)


def item_sources(library_uid: str) -> dict[str, str]:
    """The items of a library: uid by source, in the order of sources."""
    rows = session.read_listed(q.ITEM_SOURCES_QUERY, {"library_uid": library_uid})
    return dict(rows)


def libraries_of(item_uid: str, collection_uid: str) -> tuple[str, ...]:
    """The uids of the libraries that an item and a collection lie in, where they exist."""
    rows = session.read(q.LIBRARIES_OF_QUERY, {"item_uid": item_uid, "collection_uid": collection_uid})
    return tuple(row["uid"] for row in rows)


def delete_library(uid: str) -> None:
    """Delete a library and its collections, which must be empty."""
    session.write(lambda tx: _run(tx, q.DELETE_LIBRARY_QUERY, uid=uid))


def delete_item(uid: str) -> tuple[str, ...]:
    """Delete an item with all that hangs on it; returns the storage keys that are no longer used."""

    def work(tx: ManagedTransaction) -> tuple[str, ...]:
        known = _run(tx, q.KNOWN_ITEMS_QUERY, uids=[uid])
        if not known:
            return ()
        rows = _run(tx, q.LOCK_ITEMS_QUERY, items=[{"uid": uid, "source": ""}])
        before = _read_before(tx, rows)
        _run(tx, q.LOCK_OLD_CONCEPTS_QUERY, keys=sorted(before.keys[uid]))
        _run(tx, q.DELETE_CONTENT_QUERY, uids=[uid])
        _relate(tx, Counter(), before.pairs)
        _run(tx, q.DELETE_ITEMS_QUERY, uids=[uid])
        _release(tx, (), before, None)
        return tuple(sorted(before.files))

    return session.write(work)


def move_item(uid: str, collection_uid: str) -> None:
    """Move an item to another collection, of its library or another, with every copy of its scope.

    Raises `NotConfigured` when the item or the collection does not exist.
    """

    def work(tx: ManagedTransaction) -> None:
        target = _run(tx, q.PLACE_QUERY, collection_uid=collection_uid)
        if not target or not _run(tx, q.KNOWN_ITEMS_QUERY, uids=[uid]):
            raise NotConfigured(f"There is no item {uid} or no collection {collection_uid}")
        place = Place(target[0]["library_uid"], target[0]["library_type"], collection_uid)
        rows = _run(tx, q.LOCK_ITEMS_QUERY, items=[{"uid": uid, "source": None}])
        before = _read_before(tx, rows)
        keys = sorted(before.keys[uid])
        _run(tx, q.LOCK_OLD_CONCEPTS_QUERY, keys=keys)
        _run(tx, q.MOVE_ITEM_QUERY, uid=uid, **asdict(place))
        _run(tx, q.ADD_CONCEPT_SCOPE_QUERY, keys=keys, **asdict(place))
        old = before.places.get(uid)
        if old is not None and old != place:
            moved = Counter({(place.library_uid, *pair[1:]): count for pair, count in before.pairs.items()})
            _relate(tx, moved, before.pairs)
            unscope(tx, old, keys)

    session.write(work)
