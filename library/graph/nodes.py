"""The graph's nodes and relationships, as neomodel classes. Keys and scope are explained in docs/graph.md.

SCOPE (library_uid, library_type, collection_uid) is copied onto Item, Chunk and ImageEmbedding, and collected
in lists on Concept, so that every index can filter by it. Vectors and scope are written by `ingest.writer` and
moved by one function only.
"""

from neomodel import (
    ArrayProperty,
    DateTimeProperty,
    FloatProperty,
    IntegerProperty,
    RelationshipFrom,
    RelationshipTo,
    StringProperty,
    StructuredNode,
    StructuredRel,
)


class Weighted(StructuredRel):
    """A relationship with a strength from 0 to 1."""

    weight = FloatProperty(default=1.0)


class Library(StructuredNode):
    """A library: everything of one kind that belongs together."""

    uid = StringProperty(unique_index=True, required=True)
    name = StringProperty(unique_index=True, required=True)
    library_type = StringProperty(required=True)
    visibility = StringProperty(default="everyone")
    embedding_instruction = StringProperty()
    reranker_instruction = StringProperty()
    collections = RelationshipTo("Collection", "CONTAINS")


class Collection(StructuredNode):
    """A part of one library."""

    uid = StringProperty(unique_index=True, required=True)
    name = StringProperty(required=True)
    library = RelationshipFrom("Library", "CONTAINS")
    items = RelationshipTo("Item", "CONTAINS")


class Item(StructuredNode):
    """A document or picture. `status` is ready or failed; only ready items have chunks and images."""

    uid = StringProperty(unique_index=True, required=True)
    title = StringProperty(required=True)
    item_type = StringProperty()
    source = StringProperty()
    content_hash = StringProperty()
    status = StringProperty()
    error = StringProperty()
    created_at = DateTimeProperty()
    library_uid = StringProperty(index=True)
    library_type = StringProperty()
    collection_uid = StringProperty()
    collection = RelationshipFrom("Collection", "CONTAINS")
    chunks = RelationshipTo("Chunk", "HAS_CHUNK")
    images = RelationshipTo("Image", "HAS_IMAGE")
    concepts = RelationshipTo("Concept", "REFERENCES", model=Weighted)


class Chunk(StructuredNode):
    """A passage of an item. `title` and `section` are what the full text knows beside the passage."""

    uid = StringProperty(unique_index=True, required=True)
    chunk_index = IntegerProperty()
    text = StringProperty()
    text_preview = StringProperty()
    title = StringProperty()
    section = StringProperty()
    page = IntegerProperty()
    chunk_s3_key = StringProperty()
    embedding = ArrayProperty(FloatProperty())
    embedding_model = StringProperty()
    item_uid = StringProperty(index=True)
    library_uid = StringProperty(index=True)
    library_type = StringProperty()
    collection_uid = StringProperty()
    item = RelationshipFrom("Item", "HAS_CHUNK")
    concepts = RelationshipTo("Concept", "MENTIONS", model=Weighted)


class Image(StructuredNode):
    """A picture of an item."""

    uid = StringProperty(unique_index=True, required=True)
    image_type = StringProperty()
    description = StringProperty()
    ocr_text = StringProperty()
    s3_key = StringProperty()
    page = IntegerProperty()
    item = RelationshipFrom("Item", "HAS_IMAGE")
    embeddings = RelationshipTo("ImageEmbedding", "HAS_EMBEDDING")
    concepts = RelationshipTo("Concept", "DEPICTS", model=Weighted)


class ImageEmbedding(StructuredNode):
    """A picture's vector, with the scope of its item."""

    uid = StringProperty(unique_index=True, required=True)
    embedding = ArrayProperty(FloatProperty())
    embedding_model = StringProperty()
    library_uid = StringProperty()
    library_type = StringProperty()
    collection_uid = StringProperty()
    image = RelationshipFrom("Image", "HAS_EMBEDDING")


class Concept(StructuredNode):
    """Something that passages, items and pictures are about. Its identity is `key`, the case-folded name."""

    uid = StringProperty(unique_index=True, required=True)
    key = StringProperty(unique_index=True, required=True)
    name = StringProperty(required=True)
    aliases = ArrayProperty(StringProperty())
    concept_type = StringProperty()
    library_uids = ArrayProperty(StringProperty())
    library_types = ArrayProperty(StringProperty())
    collection_uids = ArrayProperty(StringProperty())
    related = RelationshipTo("Concept", "RELATED_TO", model=Weighted)
    chunks = RelationshipFrom("Chunk", "MENTIONS", model=Weighted)
    items = RelationshipFrom("Item", "REFERENCES", model=Weighted)
    images = RelationshipFrom("Image", "DEPICTS", model=Weighted)
