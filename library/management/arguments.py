"""Arguments of commands, read as strictly as the API's parameters."""

from argparse import Action, ArgumentError, ArgumentParser, Namespace
from collections.abc import Sequence
from typing import Any


class Once(Action):
    """An option that may be given once: which of two values was meant cannot be known."""

    def __call__(
        self,
        parser: ArgumentParser,
        namespace: Namespace,
        values: str | Sequence[Any] | None,
        option_string: str | None = None,
    ) -> None:
        """Store the value, or refuse the second."""
        seen: set[str] = namespace.__dict__.setdefault("_given_once", set())
        if self.dest in seen:
            raise ArgumentError(self, "given more than once")
        seen.add(self.dest)
        setattr(namespace, self.dest, values)
