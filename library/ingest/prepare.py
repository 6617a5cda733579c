"""One source to everything but its vectors: text, passages, pictures, concepts. No database, no network."""

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from library.exceptions import ExtractionError
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
from library.ingest.documents import ORNAMENT_SIDE, ExtractedDocument, Page, Picture
from library.ingest.extract import ExtractOptions, extract
from library.ingest.images import DecodedImage, decode_image
from library.ingest.sources import Source
from library.ingest.text import clean_title
from library.ingest.tokens import TokenCounter

Vector = Sequence[float]

# More pictures than so many are not a document's.
MAX_PICTURES: Final = 500
# How much of the text around a picture stands for one that nothing describes.
CONTEXT_CHARS: Final = 400


@dataclass(frozen=True, slots=True)
class PreparedImage:
    """A picture that decodes. `embedded` is the text that stands for it, empty where nothing describes it.

    `png` is what a model that takes pictures is shown in the text's place; None where the model takes none.
    """

    picture: Picture
    suffix: str
    embedded: str
    look: Sequence[float] = ()
    png: bytes | None = field(default=None, repr=False)


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
    unread: tuple[str, ...] = ()

    @property
    def pictures(self) -> list[bytes]:
        """What is to be embedded as a picture, each once."""
        return list(dict.fromkeys(image.png for image in self.images if image.png is not None))

    @property
    def texts(self) -> list[str]:
        """What is to be embedded, each text once."""
        found = [passage.embedded for passage in self.passages]
        found += [image.embedded for image in self.images if image.embedded and image.png is None]
        return list(dict.fromkeys(found))

    @property
    def warnings(self) -> list[str]:
        """What the person who gave the source should know."""
        undescribed = [image.picture.name for image in self.images if not image.embedded and image.png is None]
        return [
            *self.document.warnings,
            *self.unread,
            *(f"{name}: not searchable by vector: nothing describes the picture" for name in undescribed),
        ]

    def files(self, place: Place) -> list[tuple[str, bytes]]:
        """Storage keys and contents."""
        keys = _Keys(place.library_uid, self.uid)
        texts = [(keys.chunk(passage), passage.text.encode()) for passage in self.passages]
        return texts + [(keys.image(n, image), image.picture.data) for n, image in enumerate(self.images)]

    def record(self, place: Place, vectors: Mapping[str | bytes, Vector]) -> ItemRecord:
        """The item as it is written; `vectors` by embedded text or picture."""
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
                embedding=vectors.get(image.png or image.embedded),
                depicts=depicts,
                look=image.look,
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
            relations=self.concepts.relations,
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
    takes_pictures: bool = False
    read_text: Callable[[DecodedImage], str] | None = None

    def prepare(self, source: Source, uid: str, content_hash: str) -> Prepared:
        """Everything but the vectors. Raises `ExtractionError`, `NoText`, `OSError`."""
        document = extract(source, self.options)
        images, unread = self._images(document)
        passages = tuple(split(document, self.sizes, self.count))
        concepts = self.finder.find(
            document.title if document.titled else "",
            [passage.text for passage in passages],
            [described(image.picture) for image in images],
        )
        return Prepared(source, uid, content_hash, document, passages, images, concepts, unread)

    def _images(self, document: ExtractedDocument) -> tuple[tuple[PreparedImage, ...], tuple[str, ...]]:
        """The pictures of a document, and what is to be said of those that cannot be read."""
        images: dict[bytes, PreparedImage] = {}
        unread: list[str] = []
        for picture in document.pictures:
            try:
                prepared = self._image(picture)
            except ExtractionError as error:
                if not picture.part:
                    raise
                unread.append(str(error))
                continue
            if prepared is not None:
                images.setdefault(hashlib.sha256(picture.data).digest(), prepared)
        return tuple(images.values())[:MAX_PICTURES], tuple(unread)

    def _image(self, picture: Picture) -> PreparedImage | None:
        """The picture made ready; None for an ornament of a document."""
        decoded = decode_image(picture.data, picture.name, self.max_image_pixels)
        if picture.part and not picture.description and min(decoded.width, decoded.height) < ORNAMENT_SIDE:
            return None
        if self.read_text is not None and not picture.ocr_text:
            picture = replace(picture, ocr_text=self.read_text(decoded))
        text = described(picture) or picture.context.strip()[:CONTEXT_CHARS]
        # A description longer than the model takes is cut where a passage would be.
        first = split(ExtractedDocument("", "image", (Page(text),), markdown=False), self.sizes, self.count)
        return PreparedImage(
            picture,
            decoded.suffix,
            first[0].embedded.strip() if first else "",
            decoded.look(),
            decoded.png() if self.takes_pictures else None,
        )


def described(picture: Picture) -> str:
    """Everything in words that is known about a picture."""
    return "\n".join(part for part in (picture.description.strip(), picture.ocr_text.strip()) if part)


def item_uid(place: Place, source: Source) -> str:
    """The uid of the item that a source becomes: the same at every ingest into one library."""
    return stable_uid(place.library_uid, "item", source.source)


def failed_title(source: Source) -> str:
    """What to call an item that could not be read."""
    return clean_title(source.record.title if source.record is not None else "", Path(source.name).stem)
