"""The one place where the library's errors become exit codes: 2 for what the caller got wrong, 1 for what failed."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager

from django.core.exceptions import ImproperlyConfigured
from django.core.management.base import CommandError

from library.exceptions import InvalidRequest, MnemosyneError

FAILED = 1
BAD_ARGUMENTS = 2


@contextmanager
def exit_codes() -> Iterator[None]:
    """Turn errors of ours into `CommandError`: Django prints the message on stderr, without a traceback.

    Warnings of the library stay out of the terminal: what they log for a server, the command itself says.
    """
    logger = logging.getLogger("library")
    level = logger.level
    logger.setLevel(logging.ERROR)
    try:
        yield
    except InvalidRequest as error:
        raise CommandError(str(error), returncode=BAD_ARGUMENTS) from error
    except (MnemosyneError, ImproperlyConfigured) as error:
        raise CommandError(str(error), returncode=FAILED) from error
    finally:
        logger.setLevel(level)
