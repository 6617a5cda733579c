"""Passages: limits, overlap, rebuilding, sections (case 34 and the fences of case 24)."""

import time

import pytest

from library.content_types import CONTENT_TYPES
from library.exceptions import InvalidRequest, NotConfigured
from library.ingest.chunk import ChunkSizes, Passage, split
from library.ingest.documents import ExtractedDocument, Page
from library.ingest.headings import find_headings
from library.ingest.run import chunk_sizes
from library.ingest.tokens import estimated_tokens, token_counter

ONE_TOKEN = "x" * 20_000
SHORT_LINES = "ab\n" * 400
FENCES = """# Setup

Intro line.

```sh
# not a heading
```

~~~py
# also not a heading
~~~

## Use

Closing words.
"""


def document(text: str, markdown: bool = False, title: str = "T") -> ExtractedDocument:
    return ExtractedDocument(title, "text", (Page(text),), markdown=markdown)


def rebuilt(passages: list[Passage]) -> str:
    text = ""
    for passage in passages:
        assert passage.start <= len(text)
        text = text[: passage.start] + passage.text
    return text


@pytest.mark.parametrize("text", [ONE_TOKEN, SHORT_LINES], ids=["one token", "short lines"])
@pytest.mark.parametrize("overlap", [0, 1, 25, 49])
def test_chunking_ends_within_the_limit_and_rebuilds(text: str, overlap: int) -> None:
    started = time.monotonic()
    passages = split(document(text), ChunkSizes(50, overlap, 512), estimated_tokens)
    assert time.monotonic() - started < 2
    assert max(estimated_tokens(passage.text) for passage in passages) <= 50
    assert rebuilt(passages) == text
    if overlap == 0:
        assert "".join(passage.text for passage in passages) == text


@pytest.mark.parametrize("overlap", [50, 60, -1])
def test_overlap_at_or_above_the_size_is_refused(overlap: int) -> None:
    with pytest.raises(InvalidRequest, match=f"must be from 0 to 49, below the size, not {overlap}"):
        ChunkSizes(50, overlap, 512)


@pytest.mark.parametrize("kind", CONTENT_TYPES)
def test_every_content_type_has_sizes_that_fit(kind: str) -> None:
    sizes = chunk_sizes(kind, 512)
    assert sizes.passage == CONTENT_TYPES[kind].chunk_tokens
    assert chunk_sizes(kind, 128).passage <= 96


def test_nothing_embedded_is_above_the_models_limit_whatever_the_title() -> None:
    sizes = ChunkSizes(100, 0, 110)
    passages = split(document("word " * 500, title="Long title " * 25), sizes, estimated_tokens)
    assert len(passages) > 5
    assert all(estimated_tokens(passage.embedded) <= 108 for passage in passages)
    assert all(passage.embedded.startswith("Long title") for passage in passages)


def test_a_text_of_the_size_is_one_passage() -> None:
    sizes = ChunkSizes(480, 0, 512)
    assert estimated_tokens("abc" * 480) == 480
    assert len(split(document("abc" * 480), sizes, estimated_tokens)) == 1
    assert len(split(document("abc" * 481), sizes, estimated_tokens)) == 2


def test_headings_in_code_are_no_sections() -> None:
    assert [heading.text for heading in find_headings(FENCES)] == ["Setup", "Use"]


def test_section_is_the_path_of_headings_and_is_embedded() -> None:
    text = f"# Guide\n\n{'intro ' * 30}\n\n## Pumps\n\n{'pump ' * 30}\n\n### Seals\n\n{'seal ' * 30}\n"
    passages = split(document(text, markdown=True, title="Guide"), ChunkSizes(70, 0, 512), estimated_tokens)
    assert [passage.section for passage in passages] == ["Guide", "Guide > Pumps", "Guide > Pumps > Seals"]
    assert passages[2].embedded.startswith("Guide\n(Pumps > Seals)\n### Seals")
    assert passages[0].embedded.startswith("# Guide\n\nintro")


def test_passages_do_not_cross_pages() -> None:
    pages = (Page("First page.", 1), Page("Third page.", 3))
    passages = split(ExtractedDocument("T", "pdf", pages, markdown=False), ChunkSizes(480, 0, 512), estimated_tokens)
    assert [(passage.index, passage.page, passage.text) for passage in passages] == [
        (0, 1, "First page."),
        (1, 3, "Third page."),
    ]


def test_estimate_counts_scripts_with_care() -> None:
    assert estimated_tokens("abc def") == 3
    assert estimated_tokens("2024!") == 5
    assert estimated_tokens("테스트") == 6
    assert estimated_tokens("é") == 1


def test_a_tokenizer_that_is_not_there_is_named() -> None:
    with pytest.raises(NotConfigured, match=r"tokenizer /nowhere/t\.json cannot be read"):
        token_counter("/nowhere/t.json")


def test_a_long_word_counts_although_the_model_knows_it_as_one_unknown() -> None:
    from tokenizers import Tokenizer, models, pre_tokenizers

    from library.ingest.tokens import ModelTokens

    tokenizer = Tokenizer(models.WordPiece({"[UNK]": 0, "ab": 1}, unk_token="[UNK]", max_input_chars_per_word=100))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    count = ModelTokens(tokenizer)
    assert count("ab ab\n\nab") == 3
    assert count("x" * 800) == 100
    passages = split(document(ONE_TOKEN), ChunkSizes(50, 0, 512), count)
    assert len(passages) == 50
    assert rebuilt(passages) == ONE_TOKEN
