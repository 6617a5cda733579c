"""Serve the pages, the API and /metrics by gunicorn, with metrics shared between the workers."""

import os
import sys
from argparse import ArgumentParser
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError


class Command(BaseCommand):
    """Replaces this process by gunicorn, so that signals reach it and its exit code is ours."""

    help = "Serve the search page, the API and /metrics by gunicorn."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Where to listen, and with how many workers."""
        parser.add_argument("--bind", default="127.0.0.1:8000", help="HOST:PORT (default: %(default)s)")
        parser.add_argument("--workers", type=int, default=2, help="worker processes (default: %(default)s)")
        parser.add_argument("--threads", type=int, default=4, help="threads a worker (default: %(default)s)")
        parser.add_argument("--preload", action="store_true", help="load the application before forking")

    def handle(self, *args: Any, **options: Any) -> None:
        """Check the numbers and hand over."""
        for name in ("workers", "threads"):
            if options[name] < 1:
                raise CommandError(f"--{name} must be at least 1, not {options[name]}", returncode=2)
        command = gunicorn_command(options)
        self.stdout.write(f"Serving on http://{options['bind']}/ with {options['workers']} workers")
        self.stdout.flush()
        os.execv(command[0], command)  # noqa: S606  (our own interpreter, no shell)


def gunicorn_command(options: dict[str, Any]) -> list[str]:
    """The command line that takes this process's place."""
    module, _, name = settings.WSGI_APPLICATION.rpartition(".")
    command = [sys.executable, "-m", "gunicorn", "--config", "python:mnemosyne.gunicorn"]
    command += ["--bind", options["bind"], "--workers", str(options["workers"])]
    command += ["--threads", str(options["threads"])]
    if options["preload"]:
        command.append("--preload")
    return [*command, f"{module}:{name}"]
