"""The kinds of library and what each kind means for embedding, chunking and re-ranking. Pure data."""

from dataclasses import dataclass
from typing import Final

# The instruction that BGE-type models were trained with for queries; passages take none.
QUERY_INSTRUCTION: Final = "Represent this sentence for searching relevant passages: "


@dataclass(frozen=True, slots=True)
class ContentType:
    """Defaults of one kind of library. Sizes are in tokens of the embedding model."""

    name: str
    label: str
    reranker_instruction: str
    embedding_instruction: str = QUERY_INSTRUCTION
    chunk_tokens: int = 480
    chunk_overlap: int = 0


_ALL: Final = (
    ContentType(
        "fiction",
        "Fiction",
        "Find the passages of a story whose events, characters, places or mood answer the query.",
        chunk_tokens=400,
        chunk_overlap=40,
    ),
    ContentType(
        "nonfiction",
        "Non-fiction",
        "Find the passages that state, explain or argue what the query asks.",
    ),
    ContentType(
        "technical",
        "Technical",
        "Find the passages of documentation that tell how to do, configure or repair what the query asks.",
    ),
    ContentType(
        "music",
        "Music",
        "Find the notes on music whose work, performer, instrument, form or sound match the query.",
        chunk_tokens=320,
        chunk_overlap=20,
    ),
    ContentType(
        "film",
        "Film",
        "Find the notes on film whose title, people, scenes or themes match the query.",
        chunk_tokens=320,
        chunk_overlap=20,
    ),
    ContentType(
        "art",
        "Art",
        "Find the pictures and notes on art whose subject, artist, technique or style match the query.",
        chunk_tokens=320,
        chunk_overlap=20,
    ),
    ContentType(
        "journal",
        "Journal",
        "Find the journal entries that record the events, people, places or thoughts the query is about.",
        chunk_tokens=320,
        chunk_overlap=20,
    ),
)

CONTENT_TYPES: Final[dict[str, ContentType]] = {kind.name: kind for kind in _ALL}
