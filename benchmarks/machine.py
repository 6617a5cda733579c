"""What a run was made on: figures without it mean nothing."""

import os
import platform
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final

import psutil

from benchmarks.services import HEAP, PAGE_CACHE
from mnemosyne.local.artifacts import load_lock

PACKAGES: Final = ("mnemosyne-library", "neo4j", "neo4j-rust-ext", "neo4j-graphrag", "langchain-neo4j", "onnxruntime")


def describe() -> dict[str, Any]:
    """Machine, versions and Neo4j's memory."""
    return {
        "machine": {
            "cores": os.cpu_count(),
            "cpu": _cpu(),
            "memory_gb": round(psutil.virtual_memory().total / 2**30),
            "system": f"{platform.system()} {platform.machine()}",
        },
        "versions": {
            "Python": platform.python_version(),
            "Neo4j": _neo4j_version(),
            **{name: version(name) for name in PACKAGES},
        },
        "neo4j": f"a heap of {HEAP} and a page cache of {PAGE_CACHE}",
    }


def _cpu() -> str:
    """The processor's name where the system tells it."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or "unknown processor"


def _neo4j_version() -> str:
    found = [artifact.version for artifact in load_lock().neo4j if artifact.name == "neo4j"]
    return found[0] if found else "unknown"
