"""Answers in JSON from an OpenAI-compatible chat model."""

import json
import re
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, TypeVar

from pydantic import BaseModel, ValidationError

from library.conf import model_config
from library.exceptions import ModelError, ModelTimeout
from library.models import AIModel, LLMUsage
from library.services.breaker import BREAKER
from library.services.embeddings import reported_tokens
from library.services.http import Endpoint, post_json
from library.services.usage import UsageRecord

Recorder = Callable[[UsageRecord], None]
Message = Mapping[str, str]
Answer = TypeVar("Answer", bound=BaseModel)

# How often a model may try again after an answer that does not fit.
RETRIES: Final = 2
# What a model is shown of its own answer and of what is wrong with it.
_SHOWN_CHARS: Final = 2_000
_FENCED: Final = re.compile(r"```(?:json)?\s*(.*?)```", re.DOTALL)


class ChatClient:
    """One chat model of one service. Safe to use from several threads where `record` is."""

    def __init__(self, model: AIModel, record: Recorder) -> None:
        self.name = model.name
        self.max_tokens = model.max_tokens
        self._model_id = model.pk
        self._endpoint = Endpoint.of(model.api)
        self._timeout = model_config().llm_timeout
        self._record = record

    @classmethod
    def from_system(cls, record: Recorder) -> "ChatClient":
        """The system's chat model; raises `NotConfigured` when there is none."""
        return cls(AIModel.system(AIModel.Role.CHAT), record)

    def ask(self, instruction: str, text: str, shape: type[Answer]) -> Answer:
        """The model's answer to `text` under `instruction`, as `shape`.

        An answer that is no JSON, or of another shape, is sent back with what is wrong with it, twice at most. What
        stands around the JSON is passed over. Raises `ModelError` where the service fails or no answer fits.
        """
        messages: list[Message] = [{"role": "system", "content": instruction}, {"role": "user", "content": text}]
        problem = ""
        for _ in range(1 + RETRIES):
            answer = self._complete(messages, shape)
            try:
                return shape.model_validate_json(_json_in(answer))
            except (ValidationError, ValueError) as error:
                problem = _problem(error)
            messages += [
                {"role": "assistant", "content": answer[:_SHOWN_CHARS]},
                {"role": "user", "content": f"That does not fit: {problem}. Answer again, with the JSON alone."},
            ]
        raise ModelError(f"{self.name} gave no answer that fits: {problem}")

    def _complete(self, messages: Sequence[Message], shape: type[BaseModel]) -> str:
        started = time.perf_counter()
        tokens: int | None = None
        status = LLMUsage.Status.ERROR
        schema = {"name": shape.__name__, "schema": shape.model_json_schema()}
        body = {
            "model": self.name,
            "messages": list(messages),
            "temperature": 0,
            "response_format": {"type": "json_schema", "json_schema": schema},
        }
        # A circuit of its own: a model that is slow to write says nothing about the others of its service.
        circuit = self._endpoint.url("/v1/chat/completions")
        with BREAKER.guarding(circuit):
            try:
                answer = post_json(self._endpoint, "/v1/chat/completions", body, self._timeout, retries=2)
                text = _content(answer)
                tokens = reported_tokens(answer)
                status = LLMUsage.Status.SUCCESS
                return text
            except ModelTimeout:
                status = LLMUsage.Status.TIMEOUT
                raise
            finally:
                elapsed = 1000 * (time.perf_counter() - started)
                purpose = LLMUsage.Purpose.CONCEPT_EXTRACTION
                self._record(UsageRecord(self._model_id, self.name, purpose, status, 1, tokens, elapsed))


def _content(answer: Any) -> str:
    """The text of the first choice. Raises `ModelError` where there is none."""
    try:
        text = answer["choices"][0]["message"]["content"]
    except (KeyError, IndexError, TypeError):
        text = None
    if not isinstance(text, str):
        raise ModelError("The chat model gave no answer")
    return text


def _json_in(text: str) -> str:
    """The JSON object in an answer: inside a fence, else from the first brace to the last. Raises `ValueError`."""
    fenced = _FENCED.search(text)
    body = fenced.group(1) if fenced is not None else text
    start, end = body.find("{"), body.rfind("}")
    if start < 0 or end < start:
        raise ValueError("there is no JSON object")
    found = body[start : end + 1]
    json.loads(found)
    return found


def _problem(error: ValueError) -> str:
    if isinstance(error, ValidationError):
        first = error.errors(include_url=False, include_input=False)[0]
        return f"{'.'.join(str(part) for part in first['loc'])}: {first['msg']}"
    return str(error)
