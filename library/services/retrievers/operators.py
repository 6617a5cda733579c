"""The operators of a query as conditions on nodes, the same for every leg."""

from collections.abc import Sequence
from typing import Any, Final

from library.services.query_language import ParsedQuery

CHUNK_TEXTS: Final = ("c.text", "c.title", "c.section")
IMAGE_TEXTS: Final = ("image.description", "image.ocr_text", "item.title")


def operator_filter(parsed: ParsedQuery, texts: Sequence[str] = CHUNK_TEXTS) -> tuple[str, dict[str, Any]]:
    """Conditions that start with AND, and their parameters; nothing for a query without operators.

    Phrases and required words stand in one of the texts, excluded ones in none, title terms in the title among them.
    """
    if not parsed.has_operators:
        return "", {}
    found = " OR ".join(f"coalesce({text}, '') =~ pattern" for text in texts)
    title = next(text for text in texts if text.endswith(".title"))
    conditions = (
        f"AND all(pattern IN $keep WHERE {found}) AND none(pattern IN $drop WHERE {found}) "
        f"AND all(pattern IN $title WHERE coalesce({title}, '') =~ pattern)"
    )
    return conditions, {
        "keep": parsed.keep_patterns,
        "drop": parsed.drop_patterns,
        "title": parsed.title_patterns,
    }
