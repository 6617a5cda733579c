"""The one place where the library's errors become exit codes: 2 for what the caller got wrong, 1 for what failed."""

from collections.abc import Iterator
from contextlib import contextmanager

from django.core.exceptions import ImproperlyConfigured
from django.core.management.base import CommandError

from library.exceptions import InvalidRequest, MnemosyneError

FAILED = 1
BAD_ARGUMENTS = 2


@contextmanager
def exit_codes() -> Iterator[None]:
    """Turn errors of ours into `CommandError`: Django prints the message on stderr, without a traceback."""
    try:
        yield
    except InvalidRequest as error:
        raise CommandError(str(error), returncode=BAD_ARGUMENTS) from error
    except (MnemosyneError, ImproperlyConfigured) as error:
        raise CommandError(str(error), returncode=FAILED) from error
