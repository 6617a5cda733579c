"""From what a caller gave to a `SearchRequest`: what is missing comes from the settings."""

from typing import Any, Final

from library.conf import search_config
from library.services.query_image import prepared_image
from library.services.types import SearchRequest

# lexical_first is the quick strategy: it shows fewer.
QUICK_LIMIT: Final = 10


def build_request(query: str, **given: Any) -> SearchRequest:
    """A validated request. Values that are None are filled from the settings; raises `InvalidRequest`."""
    config = search_config()
    quick = given.get("strategy") == "lexical_first"
    values = {
        "limit": min(QUICK_LIMIT, config.limit) if quick else config.limit,
        "vector_top_k": config.vector_top_k,
        "fulltext_top_k": config.fulltext_top_k,
        "graph_max_depth": config.graph_max_depth,
    } | {name: value for name, value in given.items() if value is not None}
    if values.get("query_image") is not None:
        values["query_image"] = prepared_image(values["query_image"])
    return SearchRequest(query=query, **values)
