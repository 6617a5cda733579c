"""Cutting documents into passages that fit the embedding model, at the best boundaries there are."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from semantic_text_splitter import MarkdownSplitter, TextSplitter

from library.exceptions import InvalidRequest
from library.ingest.documents import ExtractedDocument, Page
from library.ingest.headings import Sections
from library.ingest.tokens import SPECIAL_TOKENS, TokenCounter

# Of the model's limit, this much is kept for title and section when a passage is as long as can be.
HEADER_TOKENS: Final = 30
# Texts of up to this many passages are cut into equal parts rather than full ones and a stub.
_BALANCED: Final = 3


@dataclass(frozen=True, slots=True)
class ChunkSizes:
    """How long passages are, in tokens; `model_limit` counts the special tokens too."""

    tokens: int
    overlap: int
    model_limit: int

    def __post_init__(self) -> None:
        if self.tokens < 1 or self.model_limit <= SPECIAL_TOKENS:
            raise InvalidRequest("chunk_tokens", f"must be at least 1, with a model limit above {SPECIAL_TOKENS}")
        if not 0 <= self.overlap < self.tokens:
            raise InvalidRequest(
                "chunk_overlap", f"must be from 0 to {self.tokens - 1}, below the size, not {self.overlap}"
            )

    @property
    def passage(self) -> int:
        """Most tokens of a passage: the size asked for, less where the model leaves no room for a header."""
        room = self.model_limit - SPECIAL_TOKENS
        return max(1, min(self.tokens, room - min(HEADER_TOKENS, room // 4)))

    @property
    def passage_overlap(self) -> int:
        """The overlap in effect: at most half a passage, for more repeats text many times over and adds none."""
        return min(self.overlap, self.passage // 2)


@dataclass(frozen=True, slots=True)
class Passage:
    """A piece of a document: `text` is page text from `start`, `embedded` what the model is given."""

    index: int
    text: str
    start: int
    page: int | None
    section: str
    embedded: str


def split(document: ExtractedDocument, sizes: ChunkSizes, count: TokenCounter) -> list[Passage]:
    """The passages of a document in order; none crosses a page.

    With overlap 0 the passages of a page joined are its text, but for pieces of white space only.
    """
    passages: list[Passage] = []
    trail = ""
    for page in document.pages:
        sections = Sections(page.text) if document.markdown else None
        for start, text in pieces(page, document.markdown, sizes, count):
            if not text.strip():
                continue
            lead = len(text) - len(text.lstrip())
            section = (sections.path(start + lead) if sections is not None else "") or trail
            embedded = embed_text(document.title, section, text, sizes, count)
            passages.append(Passage(len(passages), text, start, page.number, section, embedded))
        if sections is not None and sections.headings:
            trail = sections.path(len(page.text))
    return passages


def pieces(page: Page, markdown: bool, sizes: ChunkSizes, count: TokenCounter) -> Iterator[tuple[int, str]]:
    """Offsets and texts of a page's pieces, white space and all."""
    total = count(page.text)
    limit = sizes.passage
    if total <= limit:
        yield 0, page.text
        return
    parts = math.ceil(total / limit)
    # From the lower bound on a piece counts as full; the splitter looks for the best boundary in the range.
    capacity = (math.ceil(total / parts), limit) if parts <= _BALANCED and not sizes.overlap else limit
    kind = MarkdownSplitter if markdown else TextSplitter
    splitter = kind.from_callback(count, capacity, overlap=sizes.passage_overlap, trim=False)
    yield from splitter.chunk_indices(page.text)


def embed_text(title: str, section: str, text: str, sizes: ChunkSizes, count: TokenCounter) -> str:
    """What the model is given: title, section in brackets, passage; the header is cut where it does not fit.

    A passage that begins with the title as its heading gets no second one. Where it is a sentence that begins so, the
    title is still put before it, as before every other; docs/relevance.md has what leaving it out does.
    """
    room = sizes.model_limit - SPECIAL_TOKENS
    body = text.strip()
    if title and body.startswith("#") and body.lstrip("# ").startswith(title):
        return body
    inner = " > ".join(part for part in section.split(" > ") if part and part != title)
    header = f"{title}\n({inner})" if inner else title
    for candidate in (header, title):
        whole = f"{candidate}\n{body}"
        if count(whole) <= room:
            return whole
    words = title.split()
    while words:
        words = words[: len(words) * 3 // 4]
        whole = f"{' '.join(words)}\n{body}"
        if words and count(whole) <= room:
            return whole
    return body
