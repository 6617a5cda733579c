"""As whom a command sees the libraries: the operator at the shell sees all, unless a user is named."""

from argparse import ArgumentParser
from typing import Any

from django.contrib.auth import get_user_model

from library.exceptions import InvalidRequest
from library.management.arguments import Once
from library.services.access import allowed_library_uids


def add_user_argument(parser: ArgumentParser) -> None:
    """`--user NAME`."""
    parser.add_argument("--user", action=Once, metavar="NAME", help="see what this user sees; without it, everything")


def named_user(options: dict[str, Any]) -> Any:
    """The user named, None where none is. Raises `InvalidRequest` for a name that nobody has."""
    name = options["user"]
    if name is None:
        return None
    users = get_user_model()
    found = users.objects.filter(**{users.USERNAME_FIELD: name}).first()
    if found is None:
        raise InvalidRequest("user", f"there is no user {name!r}")
    return found


def allowed_for(options: dict[str, Any]) -> frozenset[str] | None:
    """The libraries that the user named may see; None, which means all, where none is named."""
    user = named_user(options)
    return None if user is None else allowed_library_uids(user)
