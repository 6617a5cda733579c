"""What became of everything that was to be taken in. Pure."""

from collections import Counter
from dataclasses import dataclass, field
from typing import Any, Literal

Status = Literal["ready", "unchanged", "no text", "failed", "skipped"]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one file or record. `reason` is empty when all is well."""

    source: str
    name: str
    status: Status
    reason: str = ""
    chunks: int = 0
    images: int = 0


@dataclass(slots=True)
class IngestReport:
    """Outcomes in the order in which they were known, and warnings as (name, text)."""

    library_uid: str = ""
    collection_uid: str = ""
    outcomes: list[Outcome] = field(default_factory=list)
    warnings: list[tuple[str, str]] = field(default_factory=list)

    def count(self, status: Status) -> int:
        """How many ended so."""
        return sum(outcome.status == status for outcome in self.outcomes)

    @property
    def failed(self) -> list[Outcome]:
        """Those that failed."""
        return [outcome for outcome in self.outcomes if outcome.status == "failed"]

    @property
    def chunks(self) -> int:
        """Passages written."""
        return sum(outcome.chunks for outcome in self.outcomes)

    @property
    def images(self) -> int:
        """Pictures written."""
        return sum(outcome.images for outcome in self.outcomes)

    def summary(self) -> str:
        """One line: how many of each."""
        counts = Counter(outcome.status for outcome in self.outcomes)
        parts = [
            f"{counts[status]} {status}"
            for status in ("ready", "unchanged", "no text", "failed", "skipped")
            if counts[status] or status == "ready"
        ]
        return f"{', '.join(parts)}; {self.chunks} passages and {self.images} pictures written"

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "library_uid": self.library_uid,
            "collection_uid": self.collection_uid,
            "ready": self.count("ready"),
            "unchanged": self.count("unchanged"),
            "no_text": self.count("no text"),
            "failed": self.count("failed"),
            "skipped": self.count("skipped"),
            "chunks": self.chunks,
            "images": self.images,
            "warnings": [{"name": name, "message": text} for name, text in self.warnings],
            "items": [
                {
                    "source": outcome.source,
                    "name": outcome.name,
                    "status": outcome.status,
                    "reason": outcome.reason,
                    "chunks": outcome.chunks,
                    "images": outcome.images,
                }
                for outcome in self.outcomes
                if outcome.status != "unchanged"
            ],
        }
