"""What runs in a state folder: the file that ``up`` writes and the settings read.

Standard library only: this module is imported at every start of the project.
"""

import json
import os
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

SERVICES_FILE = "services.json"
FORMAT = 1


@dataclass(frozen=True, slots=True)
class Neo4jService:
    """A Neo4j started by us. ``url`` is a Bolt URL on the loopback interface."""

    url: str
    user: str
    password: str
    pid: int
    port: int
    home: str
    java: str


@dataclass(frozen=True, slots=True)
class ModelService:
    """A model server started by us. ``url`` has no path: append ``/v1/embeddings`` and so on."""

    url: str
    key: str
    pid: int
    port: int
    embedding_model: str
    reranker_model: str
    dimensions: int
    max_tokens: int
    query_prefix: str
    tokenizer_path: str


@dataclass(frozen=True, slots=True)
class Services:
    """The services of one state folder; None where the service was not started here."""

    neo4j: Neo4jService | None = None
    models: ModelService | None = None

    def as_dict(self) -> dict[str, Any]:
        """Plain data, passwords included, as written to disk."""
        return {"format": FORMAT, **asdict(self)}


def read_services(state_dir: Path) -> Services | None:
    """The services last started in ``state_dir``, or None where there are none (or the file is not ours to read).

    Says nothing about whether they still run: the first request does.
    """
    try:
        content = json.loads((state_dir / SERVICES_FILE).read_text(encoding="utf-8"))
        if content.pop("format") != FORMAT:
            return None
        neo4j, models = content["neo4j"], content["models"]
        return Services(
            neo4j=None if neo4j is None else Neo4jService(**neo4j),
            models=None if models is None else ModelService(**models),
        )
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None


def write_services(state_dir: Path, services: Services) -> None:
    """Write ``services`` whole or not at all, readable by the owner only."""
    write_private(state_dir / SERVICES_FILE, json.dumps(services.as_dict(), indent=2) + "\n")


def write_private(path: Path, text: str) -> None:
    """Replace ``path`` atomically by a file of mode 0600."""
    make_private_dir(path.parent)
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as stream:
        os.fchmod(stream.fileno(), 0o600)
        stream.write(text)
    os.replace(temporary, path)


def make_private_dir(path: Path) -> None:
    """Create ``path`` (and its parents) for the owner only; an existing folder keeps its mode."""
    path.mkdir(parents=True, exist_ok=True, mode=0o700)
