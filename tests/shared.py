"""Test collections and hard cases that lie beside the checkout. They are no part of the product."""

from pathlib import Path

import pytest

SHARED = Path(__file__).resolve().parents[2] / "shared"


def shared_path(*parts: str) -> Path:
    """A file or folder of the shared collections; skips the test, with the reason, where they are absent."""
    path = SHARED.joinpath(*parts)
    if not path.exists():
        pytest.skip(f"needs {'/'.join(parts)} of the shared collections, which are not beside this checkout")
    return path


def case_file(name: str) -> Path:
    """A file of the hard cases."""
    return shared_path("cases", "files", name)
