"""What there is and what it cost: counts of the graph, states of its indexes, sums of model usage."""

from dataclasses import dataclass

from django.db.models import Avg, Count, Q, Sum

from library.graph.stats import IndexState, LibraryStats, index_states, library_stats
from library.models import AIModel, LLMUsage
from library.services.types import Scope


@dataclass(frozen=True, slots=True)
class UsageSum:
    """Calls to one model for one purpose. `tokens` counts what the service reported."""

    model_name: str
    purpose: str
    calls: int
    failed: int
    inputs: int
    tokens: int
    mean_ms: float


@dataclass(frozen=True, slots=True)
class Statistics:
    """All of it. `embedding_model` is '' where none is configured; then no vector can be told to be stale."""

    embedding_model: str
    libraries: tuple[LibraryStats, ...]
    indexes: tuple[IndexState, ...]
    usage: tuple[UsageSum, ...]


def statistics(scope: Scope) -> Statistics:
    """Statistics of the libraries of a scope. Raises `GraphError` where Neo4j cannot answer.

    What the models were asked tells of every library: it is told only where every library is.
    """
    model = AIModel.objects.filter(role=AIModel.Role.EMBEDDING, is_system=True).first()
    name = model.name if model is not None else ""
    usage = _usage() if scope == Scope() else ()
    return Statistics(name, library_stats(scope, name), index_states(), usage)


def _usage() -> tuple[UsageSum, ...]:
    rows = (
        LLMUsage.objects.values("model_name", "purpose")
        .annotate(
            calls=Count("id"),
            failed=Count("id", filter=~Q(status=LLMUsage.Status.SUCCESS)),
            inputs_sum=Sum("inputs", default=0),
            tokens_sum=Sum("tokens", default=0),
            mean_ms=Avg("duration_ms"),
        )
        .order_by("model_name", "purpose")
    )
    return tuple(
        UsageSum(
            model_name=row["model_name"],
            purpose=row["purpose"],
            calls=row["calls"],
            failed=row["failed"],
            inputs=row["inputs_sum"],
            tokens=row["tokens_sum"],
            mean_ms=row["mean_ms"],
        )
        for row in rows
    )
