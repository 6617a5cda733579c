"""What was asked of model services: recorded by the clients, written by the caller's own thread."""

import logging
from collections.abc import Iterable
from dataclasses import dataclass

from django.db import DatabaseError

from library.models import LLMUsage

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class UsageRecord:
    """One call to a model service. `tokens` is None where the service does not report them."""

    model_id: int | None
    model_name: str
    purpose: str
    status: str
    inputs: int
    tokens: int | None
    duration_ms: float


def write(records: Iterable[UsageRecord]) -> None:
    """Store the records; a database that refuses them costs a log line, never the work that they describe."""
    rows = [
        LLMUsage(
            model_id=record.model_id,
            model_name=record.model_name,
            purpose=record.purpose,
            status=record.status,
            inputs=record.inputs,
            tokens=record.tokens,
            duration_ms=record.duration_ms,
        )
        for record in records
    ]
    if not rows:
        return
    try:
        LLMUsage.objects.bulk_create(rows)
    except DatabaseError:
        log.exception("%d model usage records could not be written", len(rows))
