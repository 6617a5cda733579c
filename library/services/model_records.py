"""The records of the system's models, made from the settings."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal
from urllib.parse import urlsplit

from django.db import models, transaction

from library.exceptions import InvalidRequest, NotConfigured
from library.models import AIModel, ModelAPI

API_NAMES: Final = {
    "embedding": "System embedding service",
    "reranker": "System reranker service",
    "chat": "System chat service",
}
_DEFAULT_API_TYPES: Final = {"embedding": "openai", "reranker": "synesis", "chat": "openai"}

Outcome = Literal["created", "updated", "unchanged"]


@dataclass(frozen=True, slots=True)
class RecordStep:
    """What was done about one record. `dimensions_before` is set where the length of vectors has changed."""

    record: str
    outcome: Outcome
    dimensions_before: int | None = None


def record_system_models(configured: Mapping[str, Mapping[str, Any]]) -> Iterator[RecordStep]:
    """Make the records say what the settings say; yields a step for each.

    Raises `NotConfigured` where no embedding model is named, `InvalidRequest` naming a setting that makes no sense;
    then nothing has been changed.
    """
    if "embedding" not in configured:
        raise NotConfigured(
            "No embedding model is configured. Start the local stand-ins with "
            "'python -m mnemosyne.local up', or set EMBEDDING_URL, EMBEDDING_MODEL and EMBEDDING_DIMENSIONS."
        )
    wanted = {role: _checked(role, given) for role, given in configured.items()}
    with transaction.atomic():
        steps = [step for role, values in wanted.items() for step in _record(role, *values)]
    yield from steps


def _checked(role: str, given: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """The fields of the service's and of the model's record."""
    prefix = "LLM" if role == "chat" else role.upper()
    address = str(given.get("base_url", "")).rstrip("/").removesuffix("/v1")
    if urlsplit(address).scheme not in ("http", "https") or not urlsplit(address).hostname:
        raise InvalidRequest(f"{prefix}_URL", f"must be an http or https address, not {address!r}")
    if not given.get("model"):
        raise InvalidRequest(f"{prefix}_MODEL", "must name the model as its service does")
    api_type = str(given.get("api_type") or _DEFAULT_API_TYPES[role])
    if api_type not in ModelAPI.ApiType.values:
        raise InvalidRequest(
            f"{prefix}_API_TYPE", f"must be one of {', '.join(ModelAPI.ApiType.values)}, not {api_type!r}"
        )
    service = {"base_url": address, "api_key": str(given.get("api_key", "")), "api_type": api_type}
    model: dict[str, Any] = {"name": str(given["model"])}
    if role == "embedding":
        if not given.get("dimensions") or given["dimensions"] < 1:
            raise InvalidRequest(f"{prefix}_DIMENSIONS", "must be the length of the model's vectors")
        model["dimensions"] = given["dimensions"]
    for name in ("max_tokens", "tokenizer_path", "supports_images"):
        if given.get(name) is not None:
            model[name] = given[name]
    return service, {**model, "is_system": True}


def _record(role: str, service: dict[str, Any], model: dict[str, Any]) -> Iterator[RecordStep]:
    api = ModelAPI.objects.filter(name=API_NAMES[role]).first()
    made_api = api is None
    api = api if api is not None else ModelAPI(name=API_NAMES[role])
    yield RecordStep(f"{api.name} at {service['base_url']}", _save(api, service | {"is_active": True}, made_api))
    before = AIModel.objects.filter(role=role, is_system=True).first()
    found = AIModel.objects.filter(api=api, name=model["name"], role=role).first()
    if before is not None and (found is None or before.pk != found.pk):
        # One system model a role: the old one stays on record, with its usage, but is not used any more.
        before.is_system = False
        before.save(update_fields=["is_system"])
    made = found is None
    record = found if found is not None else AIModel(api=api, role=role)
    lengths = (before.dimensions if before is not None else None, model.get("dimensions"))
    changed = lengths[0] if lengths[0] is not None and lengths[0] != lengths[1] else None
    yield RecordStep(f"system {role} model {model['name']}", _save(record, model, made), changed)


def _save(record: models.Model, values: Mapping[str, Any], made: bool) -> Outcome:
    differing = [name for name, value in values.items() if getattr(record, name) != value]
    for name in differing:
        setattr(record, name, values[name])
    if made or differing:
        record.save()
    return "created" if made else "updated" if differing else "unchanged"
