"""What `manage.py search` imports: nothing that only taking in documents or the local services need."""

import json
import os
import subprocess
import sys
import time
from typing import Any, Final

HEAVY: Final = ("onnxruntime", "pandas", "pypdf", "lxml", "mammoth", "yake", "bs4", "docutils", "PIL")
_SCRIPT: Final = """
import json, sys
import django
django.setup()
from django.core.management import load_command_class
load_command_class("library", "search").create_parser("manage.py", "search")
import library.services.search
print(json.dumps(sorted({name.split(".")[0] for name in sys.modules})))
"""


def measure() -> dict[str, Any]:
    """Seconds of a whole `manage.py search --help` and of a bare `manage.py version`; the packages imported."""
    answer = subprocess.run(  # noqa: S603 - our own interpreter and script
        [sys.executable, "-c", _SCRIPT], check=True, capture_output=True, text=True
    )
    packages = json.loads(answer.stdout)
    return {
        "search_s": _seconds("search", "--help"),
        "django_s": _seconds("version"),
        "packages": len(packages),
        "heavy": [name for name in HEAVY if name in packages],
    }


def _seconds(*arguments: str) -> float:
    """The quickest of three: the first reads files that the others find in memory."""
    taken = []
    for _ in range(3):
        started = time.perf_counter()
        subprocess.run(  # noqa: S603 - our own interpreter and script
            [sys.executable, "manage.py", *arguments], check=True, stdout=subprocess.DEVNULL, env=dict(os.environ)
        )
        taken.append(time.perf_counter() - started)
    return min(taken)
