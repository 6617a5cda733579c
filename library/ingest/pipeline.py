"""The ingest: find what changed, prepare it, embed it and write it, with reading, embedding and writing overlapped."""

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final

from django.core.files.storage import Storage

from library.exceptions import ExtractionError, GraphError, GraphUnavailable, NoText
from library.graph import writer
from library.graph.records import ItemRecord, Place
from library.ingest import storage as files
from library.ingest.concepts import ChatConcepts
from library.ingest.embedding import Embedded, Embedder, embed_items
from library.ingest.prepare import Preparation, Prepared, failed_title, item_uid
from library.ingest.report import IngestReport, Outcome, Status
from library.ingest.sources import Source, fingerprint

if TYPE_CHECKING:
    from library.ingest.llm_concepts import LlmConcepts

# Raise when the same file would become something else: every item is then taken in anew.
INGEST_VERSION: Final = "4"
# Ends the hash of an item whose chat model failed: the next run finds it changed, and asks again.
_FELL_BACK: Final = " builtin"
# Chat calls side by side, for each batch on its way.
LLM_WORKERS: Final = 4
# After so many batches in a row that the service did not answer, the rest is not tried.
_GIVE_UP_AFTER: Final = 2


def _ignore(_: int) -> None:
    """No progress is shown."""


@dataclass(slots=True)
class Ingest:
    """One run into one collection, with up to `in_flight` batches being embedded while others are read and written.

    `progress` is told how many sources are done, `after_batch` is called once a batch; `changed` before and after
    anything is written: an answer that is made in between must not outlive it.
    """

    place: Place
    preparation: Preparation
    embedder: Embedder
    storage: Storage
    batch_items: int
    in_flight: int
    progress: Callable[[int], None] = _ignore
    after_batch: Callable[[], None] = lambda: None
    changed: Callable[[], None] = lambda: None
    llm: "LlmConcepts | None" = None
    report: IngestReport = field(default_factory=IngestReport)
    _unanswered: int = 0

    def run(self, sources: Sequence[Source]) -> IngestReport:
        """Take in all sources; what fails is reported and the rest goes on.

        Raises `GraphUnavailable` when Neo4j cannot be reached: what was written until then is whole.
        """
        self.report.library_uid = self.place.library_uid
        self.report.collection_uid = self.place.collection_uid
        pending: deque[tuple[list[Prepared], Future[Embedded]]] = deque()
        with ThreadPoolExecutor(self.in_flight, thread_name_prefix="embed") as pool:
            try:
                for batch in self._batches(sources):
                    pending.append((batch, pool.submit(self._embed, batch)))
                    while len(pending) > self.in_flight:
                        self._finish(*pending.popleft())
                while pending:
                    self._finish(*pending.popleft())
            finally:
                pool.shutdown(cancel_futures=True)
        return self.report

    def _batches(self, sources: Sequence[Source]) -> Iterator[list[Prepared]]:
        """Items to embed together: up to `batch_items` of them or of passages, whichever is reached first."""
        batch: list[Prepared] = []
        passages = 0
        for start in range(0, len(sources), self.batch_items):
            for source, uid, content_hash in self._changed(sources[start : start + self.batch_items]):
                prepared = self._prepared(source, uid, content_hash)
                if prepared is None:
                    continue
                if batch and passages + len(prepared.passages) > self.batch_items:
                    yield batch
                    batch, passages = [], 0
                batch.append(prepared)
                passages += max(1, len(prepared.passages))
        if batch:
            yield batch

    def _changed(self, sources: Sequence[Source]) -> Iterator[tuple[Source, str, str]]:
        """Sources that the graph does not hold as they are, with uid and content hash."""
        uids = {source.source: item_uid(self.place, source) for source in sources}
        known = writer.known_items(list(uids.values()))
        for source in sources:
            uid = uids[source.source]
            try:
                content_hash = fingerprint(source, *self._settings()) if not source.problem else ""
            except (OSError, ExtractionError) as error:
                self._fail(source, uid, _reason(source, error))
                continue
            found = known.get(uid)
            if found is None or found.status != "ready" or found.content_hash != content_hash:
                yield source, uid, content_hash
                continue
            if found.collection_uid != self.place.collection_uid:
                with self._changing():
                    writer.move_item(uid, self.place.collection_uid)
            self._done(source, "unchanged")

    def _settings(self) -> tuple[str, ...]:
        sizes = self.preparation.sizes
        return (
            INGEST_VERSION,
            self.embedder.name,
            str(self.embedder.dimensions),
            f"{sizes.tokens}/{sizes.overlap}/{sizes.model_limit}",
            self.preparation.options.encoding or "",
            *(["pictures"] if self.embedder.takes_pictures else []),
            *([f"concepts by {self.llm.chat.name}"] if self.llm is not None else []),
            *(["ocr"] if self.preparation.read_text is not None else []),
        )

    def _prepared(self, source: Source, uid: str, content_hash: str) -> Prepared | None:
        """An item ready for embedding, or None: then its outcome is known already."""
        try:
            prepared = self.preparation.prepare(source, uid, content_hash)
            if prepared.passages or prepared.images:
                return prepared
            raise NoText(f"{source.name}: the file is empty")
        except NoText as error:
            self._write_textless(source, uid, content_hash, str(error))
        except (OSError, ExtractionError) as error:
            self._fail(source, uid, _reason(source, error))
        return None

    def _write_textless(self, source: Source, uid: str, content_hash: str, reason: str) -> None:
        item = ItemRecord(
            uid, failed_title(source), source.kind, source.source, content_hash, (), (), (), (), "no text", reason
        )
        with self._changing():
            result = writer.write_items(self.place, [item], self.embedder.name)
        files.remove(self.storage, self._unused(result.stale_files, [uid]))
        self.report.warnings.append((source.name, reason))
        self._done(source, "no text", reason)

    def _embed(self, batch: list[Prepared]) -> Embedded:
        """Runs in a thread of the pool. The service's silence is counted by the main thread."""
        if self._unanswered >= _GIVE_UP_AFTER:
            reason = "the embedding service did not answer for the items before; this one was not tried"
            return Embedded({}, dict.fromkeys((item.uid for item in batch), reason), down=True)
        embedded = embed_items(self.embedder, batch)
        return embedded if self.llm is None or embedded.down else self._with_concepts(batch, embedded, self.llm)

    def _with_concepts(self, batch: list[Prepared], embedded: Embedded, llm: "LlmConcepts") -> Embedded:
        """Ask the chat model for the concepts of all items of a batch, some side by side."""
        whole = [item for item in batch if item.uid not in embedded.failed]
        with ThreadPoolExecutor(LLM_WORKERS, thread_name_prefix="concepts") as pool:
            found = list(pool.map(lambda item: llm.find(item.passages, item.concepts), whole))
        return replace(embedded, concepts={item.uid: one for item, one in zip(whole, found, strict=True)})

    def _finish(self, batch: list[Prepared], future: Future[Embedded]) -> None:
        embedded = future.result()
        self._unanswered = self._unanswered + 1 if embedded.down else 0
        whole = []
        for item in batch:
            if item.uid in embedded.failed:
                self._fail(item.source, item.uid, _named(item.source, embedded.failed[item.uid]))
            else:
                found = embedded.concepts.get(item.uid)
                whole.append(item if found is None else self._with_found(item, found))
        if whole and not self._write(whole, embedded) and len(whole) > 1:
            for item in whole:
                self._write([item], embedded)
        self.after_batch()

    def _with_found(self, item: Prepared, found: ChatConcepts) -> Prepared:
        if found.remark:
            self.report.warnings.append((item.source.name, found.remark))
        content_hash = item.content_hash + _FELL_BACK if found.fell_back else item.content_hash
        return replace(item, concepts=found.concepts, content_hash=content_hash)

    def _write(self, batch: Sequence[Prepared], embedded: Embedded) -> bool:
        """Files first, then one transaction; False when it was refused and the batch can be tried item by item."""
        uids = [item.uid for item in batch]
        stored: set[str] = set()
        try:
            stored = files.store(self.storage, (entry for item in batch for entry in item.files(self.place)))
            records = [item.record(self.place, embedded.vectors) for item in batch]
            with self._changing():
                result = writer.write_items(self.place, records, self.embedder.name)
        except (GraphError, OSError) as error:
            files.remove(self.storage, stored if isinstance(error, GraphUnavailable) else self._unused(stored, uids))
            if isinstance(error, GraphUnavailable):
                raise
            if len(batch) == 1:
                self._fail(batch[0].source, batch[0].uid, _reason(batch[0].source, error))
            return False
        files.remove(self.storage, self._unused(result.stale_files, uids))
        for item in batch:
            self.report.warnings.extend((item.source.name, text) for text in item.warnings)
            status: Status = "unchanged" if item.uid in result.unchanged else "ready"
            self._done(item.source, status, "", len(item.passages), len(item.images))
        return True

    @contextmanager
    def _changing(self) -> Iterator[None]:
        self.changed()
        try:
            yield
        finally:
            self.changed()

    def _unused(self, keys: Iterable[str], uids: Sequence[str]) -> set[str]:
        """Without those that the items point at: another process may have written the same content."""
        wanted = set(keys)
        return wanted - writer.files_in_use(uids) if wanted else wanted

    def _fail(self, source: Source, uid: str, reason: str) -> None:
        with self._changing():
            writer.record_failure(self.place, uid, failed_title(source), source.kind, source.source, reason)
        self._done(source, "failed", reason)

    def _done(self, source: Source, status: Status, reason: str = "", chunks: int = 0, images: int = 0) -> None:
        if status == "unchanged":
            chunks = images = 0
        self.report.outcomes.append(Outcome(source.source, source.name, status, reason, chunks, images))
        self.progress(1)


def _reason(source: Source, error: Exception) -> str:
    """In words for the person who gave the file, with its name."""
    return _named(source, error.strerror or str(error) if isinstance(error, OSError) else str(error))


def _named(source: Source, text: str) -> str:
    return text if source.name in text else f"{source.name}: {text}"
