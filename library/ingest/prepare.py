"""One source to everything but its vectors: text, passages, pictures, concepts. No database, no network."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from library.graph.records import (
    ChunkRecord,
    ImageRecord,
    ItemRecord,
    Place,
    stable_uid,
)
from library.ingest import storage
from library.ingest.chunk import ChunkSizes, Passage, split
from library.ingest.concepts import ConceptFinder, ItemConcepts
from library.ingest.documents import ExtractedDocument, Page, Picture
from library.ingest.extract import ExtractOptions, extract
from library.ingest.images import decode_image
from library.ingest.sources import Source
from library.ingest.text import clean_title
from library.ingest.tokens import TokenCounter

Vector = Sequence[float]


@dataclass(frozen=True, slots=True)
class PreparedImage:
    """A picture that decodes. `embedded` is the text that stands for it, empty where nothing describes it."""

    picture: Picture
    suffix: str
    embedded: str


@dataclass(frozen=True, slots=True)
class Prepared:
    """An item without its vectors."""

    source: Source
    uid: str
    content_hash: str
    document: ExtractedDocument
    passages: tuple[Passage, ...]
    images: tuple[PreparedImage, ...]
    concepts: ItemConcepts

    @property
    def texts(self) -> list[str]:
        """What is to be embedded, each text once."""
        found = [passage.embedded for passage in self.passages]
        found += [image.embedded for image in self.images if image.embedded]
        return list(dict.fromkeys(found))

    @property
    def warnings(self) -> list[str]:
        """What the person who gave the source should know."""
        undescribed = [image.picture.name for image in self.images if not image.embedded]
        return [
            *self.document.warnings,
            *(f"{name}: not searchable by vector: nothing describes the picture" for name in undescribed),
        ]

    def files(self, place: Place) -> list[tuple[str, bytes]]:
        """Storage keys and contents."""
        keys = _Keys(place.library_uid, self.uid)
        texts = [(keys.chunk(passage), passage.text.encode()) for passage in self.passages]
        return texts + [(keys.image(n, image), image.picture.data) for n, image in enumerate(self.images)]

    def record(self, place: Place, vectors: dict[str, Vector]) -> ItemRecord:
        """The item as it is written; `vectors` by embedded text."""
        keys = _Keys(place.library_uid, self.uid)
        title = self.document.title
        chunks = tuple(
            ChunkRecord(
                uid=stable_uid(self.uid, "chunk", str(passage.index)),
                index=passage.index,
                text=passage.text,
                title=title,
                section=passage.section,
                page=passage.page,
                storage_key=keys.chunk(passage),
                embedding=vectors[passage.embedded],
                mentions=mentions,
            )
            for passage, mentions in zip(self.passages, self.concepts.mentions, strict=True)
        )
        images = tuple(
            ImageRecord(
                uid=stable_uid(self.uid, "image", str(number)),
                image_type=image.suffix,
                description=image.picture.description,
                ocr_text=image.picture.ocr_text,
                storage_key=keys.image(number, image),
                page=image.picture.page,
                embedding=vectors[image.embedded] if image.embedded else None,
                depicts=depicts,
            )
            for number, (image, depicts) in enumerate(zip(self.images, self.concepts.depicts, strict=True))
        )
        return ItemRecord(
            self.uid,
            title,
            self.document.item_type,
            self.source.source,
            self.content_hash,
            chunks,
            images,
            self.concepts.references,
            self.concepts.concepts,
        )


@dataclass(frozen=True, slots=True)
class _Keys:
    library_uid: str
    item_uid: str

    def chunk(self, passage: Passage) -> str:
        return storage.chunk_key(self.library_uid, self.item_uid, passage.index, passage.text)

    def image(self, number: int, image: PreparedImage) -> str:
        return storage.image_key(self.library_uid, self.item_uid, number, image.picture.data, image.suffix)


@dataclass(frozen=True, slots=True)
class Preparation:
    """How sources become items: limits, sizes, the model's way of counting, the titles known."""

    options: ExtractOptions
    sizes: ChunkSizes
    count: TokenCounter
    finder: ConceptFinder
    max_image_pixels: int

    def prepare(self, source: Source, uid: str, content_hash: str) -> Prepared:
        """Everything but the vectors. Raises `ExtractionError`, `NoText`, `OSError`."""
        document = extract(source, self.options)
        images = tuple(self._image(picture) for picture in document.pictures)
        passages = tuple(split(document, self.sizes, self.count))
        concepts = self.finder.find(
            document.title if document.titled else "",
            [passage.text for passage in passages],
            [described(image.picture) for image in images],
        )
        return Prepared(source, uid, content_hash, document, passages, images, concepts)

    def _image(self, picture: Picture) -> PreparedImage:
        decoded = decode_image(picture.data, picture.name, self.max_image_pixels)
        text = described(picture)
        # A description longer than the model takes is cut where a passage would be.
        first = split(ExtractedDocument("", "image", (Page(text),), markdown=False), self.sizes, self.count)
        return PreparedImage(picture, decoded.suffix, first[0].embedded.strip() if first else "")


def described(picture: Picture) -> str:
    """Everything in words that is known about a picture."""
    return "\n".join(part for part in (picture.description.strip(), picture.ocr_text.strip()) if part)


def item_uid(place: Place, source: Source) -> str:
    """The uid of the item that a source becomes: the same at every ingest into one library."""
    return stable_uid(place.library_uid, "item", source.source)


def failed_title(source: Source) -> str:
    """What to call an item that could not be read."""
    return clean_title(source.record.title if source.record is not None else "", Path(source.name).stem)
