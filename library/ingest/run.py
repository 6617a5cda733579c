"""Setting up an ingest from the configuration: the entry point of the command."""

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final
from uuid import uuid4

from django.core.files.storage import default_storage

from library.conf import access_config, index_config, ingest_config
from library.content_types import CONTENT_TYPES
from library.exceptions import GraphError, InvalidRequest, NotConfigured
from library.graph import schema, writer
from library.graph.records import Place
from library.ingest.chunk import ChunkSizes
from library.ingest.concepts import ConceptFinder
from library.ingest.embedding import Embedder
from library.ingest.extract import ExtractOptions
from library.ingest.ocr import text_reader
from library.ingest.pipeline import Ingest
from library.ingest.prepare import Preparation
from library.ingest.report import IngestReport, Outcome
from library.ingest.sources import Found, find_sources
from library.ingest.text import known_encoding
from library.ingest.tokens import token_counter
from library.models import LibraryAccess
from library.services import usage
from library.services.embeddings import EmbeddingClient
from library.services.visibility import set_visibility

if TYPE_CHECKING:
    from library.ingest.llm_concepts import LlmConcepts

# What finds concepts: the built-in finder, or a chat model.
EXTRACTORS: Final = ("builtin", "llm")
DEFAULT_COLLECTION: Final = "General"
MAX_NAME_CHARS: Final = 200


@dataclass(frozen=True, slots=True)
class IngestRequest:
    """What to take in and where to put it. Raises `InvalidRequest` naming the field.

    `concepts` names the extractor, None the one of the settings. `visibility` None leaves a library as visible as it
    is, and a new one as the settings say.
    """

    paths: tuple[Path, ...]
    library: str
    library_type: str
    collection: str = DEFAULT_COLLECTION
    encoding: str | None = None
    base: Path | None = None
    visibility: str | None = None
    concepts: str | None = None

    def __post_init__(self) -> None:
        if self.library_type not in CONTENT_TYPES:
            raise InvalidRequest("type", f"must be one of {', '.join(CONTENT_TYPES)}, not {self.library_type!r}")
        for name, value in (("library", self.library), ("collection", self.collection)):
            if not value.strip() or len(value) > MAX_NAME_CHARS:
                raise InvalidRequest(name, f"must be a name of 1 to {MAX_NAME_CHARS} characters")
        if self.visibility is not None and self.visibility not in LibraryAccess.Visibility.values:
            allowed = ", ".join(LibraryAccess.Visibility.values)
            raise InvalidRequest("visibility", f"must be one of {allowed}, not {self.visibility!r}")
        if self.concepts is not None and self.concepts not in EXTRACTORS:
            raise InvalidRequest("concepts", f"must be one of {', '.join(EXTRACTORS)}, not {self.concepts!r}")
        if self.encoding is not None and not known_encoding(self.encoding):
            raise InvalidRequest("encoding", f"{self.encoding!r} is no encoding that Python knows")


def open_place(library: str, library_type: str, collection: str, visibility: str | None = None) -> Place:
    """The library and collection of these names, made where they do not exist.

    A new library's record stands before the library does: a private one is never seen, not even for a moment. Raises
    `InvalidRequest` when the library exists with another type.
    """
    known = writer.library_uid(library)
    uid = uuid4().hex if known is None else known
    default = access_config().default_visibility
    record, is_new = LibraryAccess.objects.get_or_create(
        uid=uid, defaults={"name": library, "visibility": visibility if visibility and known is None else default}
    )
    try:
        place = writer.open_place(library, library_type, collection, uid, record.visibility)
    except (InvalidRequest, GraphError):
        if is_new and known is None:
            record.delete()
        raise
    if place.library_uid != uid:
        # Another process has made a library of this name in the meantime.
        record.delete()
        return open_place(library, library_type, collection, visibility)
    if visibility is not None and visibility != record.visibility:
        set_visibility(record, visibility)
    return place


def chunk_sizes(library_type: str, model_limit: int) -> ChunkSizes:
    """The passage sizes of a kind of library under a model's limit."""
    kind = CONTENT_TYPES[library_type]
    return ChunkSizes(kind.chunk_tokens, kind.chunk_overlap, model_limit)


def ingest(
    request: IngestRequest,
    progress: Callable[[int], None] = lambda _: None,
    total: Callable[[int], None] = lambda _: None,
    embedder: Embedder | None = None,
) -> IngestReport:
    """Take in everything a request names; makes missing indexes first.

    `total` is told the number of sources, `progress` how many more are done. Raises `InvalidRequest`,
    `NotConfigured`, `SchemaMismatch` and `GraphError` when nothing can be taken in at all.
    """
    records: deque[usage.UsageRecord] = deque()
    client: Embedder = EmbeddingClient.from_system(records.append) if embedder is None else embedder
    llm = _llm(request, records.append)
    found = find_sources(request.paths, request.base)
    schema.ensure(client.dimensions, index_config())
    place = open_place(request.library.strip(), request.library_type, request.collection.strip(), request.visibility)
    total(len(found.sources))
    config = ingest_config()
    run = Ingest(
        place=place,
        preparation=_preparation(request, client, found, place),
        embedder=client,
        storage=default_storage,
        batch_items=config.batch_items,
        in_flight=config.workers,
        progress=progress,
        after_batch=lambda: usage.write(_drained(records)),
        llm=llm,
        changed=lambda: LibraryAccess.touch([place.library_uid]),
    )
    try:
        report = run.run(found.sources)
    finally:
        usage.write(_drained(records))
    for path in found.skipped:
        reason = f"{path.suffix or 'no suffix'} is no format that is taken in"
        report.outcomes.append(Outcome(path.as_posix(), path.name, "skipped", reason))
    return report


def _llm(request: IngestRequest, record: Callable[[usage.UsageRecord], None]) -> "LlmConcepts | None":
    """The chat model's extractor where it is asked for. Raises `NotConfigured` where there is no such model."""
    if (request.concepts or ingest_config().concepts) != "llm":
        return None
    # Loaded for whoever asks for it: pydantic takes a moment.
    from library.ingest.llm_concepts import LlmConcepts
    from library.services.llm import ChatClient

    try:
        return LlmConcepts(ChatClient.from_system(record))
    except NotConfigured as error:
        raise NotConfigured(
            "Concepts by a chat model need one. Set LLM_URL and LLM_MODEL and run 'manage.py setup_models', or mark a "
            "chat model as the system's in the admin pages; or leave out '--concepts llm'."
        ) from error


def _preparation(request: IngestRequest, client: Embedder, found: Found, place: Place) -> Preparation:
    config = ingest_config()
    read_text = text_reader(config.ocr, config.ocr_languages)
    titles = [source.record.title for source in found.sources if source.record is not None]
    return Preparation(
        options=ExtractOptions(
            config.max_file_bytes, request.encoding, config.max_image_pixels, reads_pictures=read_text is not None
        ),
        sizes=chunk_sizes(request.library_type, client.max_tokens),
        count=token_counter(client.tokenizer_path),
        finder=ConceptFinder([*titles, *writer.known_titles(place.library_uid)]),
        max_image_pixels=config.max_image_pixels,
        takes_pictures=client.takes_pictures,
        read_text=read_text,
    )


def _drained(records: "deque[usage.UsageRecord]") -> Sequence[usage.UsageRecord]:
    taken = []
    while records:
        taken.append(records.popleft())
    return taken
