"""Query strings and form bodies, read the same way by the pages and the API."""

from collections.abc import Collection, Mapping
from typing import Any

from django.http import QueryDict

from library.exceptions import InvalidRequest


def single_values(given: QueryDict, lists: Collection[str] = ()) -> dict[str, Any]:
    """Each name with its one value; those in `lists` keep all. Raises `InvalidRequest` for a repeated name.

    Which of two values was meant cannot be known, and servers differ in which they take.
    """
    found: dict[str, Any] = {}
    for name, values in given.lists():
        if name in lists:
            found[name] = values
        elif len(values) != 1:
            raise InvalidRequest(name, "given more than once")
        else:
            found[name] = values[0]
    return found


def wants_fresh(headers: Mapping[str, str]) -> bool:
    """Whether the caller will have nothing out of a cache (RFC 9111, section 5.2.1.4: `Cache-Control: no-cache`)."""
    directives = headers.get("Cache-Control", "").lower().split(",")
    return any(directive.strip() in ("no-cache", "no-store") for directive in directives)
