"""Answers in JSON from an OpenAI-compatible chat model."""

import json
import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final, TypeVar

from pydantic import BaseModel, ValidationError

from library.conf import model_config
from library.exceptions import ModelError, ModelRefused, ModelTimeout
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
# How JSON is asked for, the strictest first. Many servers know one of the two only, and some neither.
_FORMATS: Final = ("json_schema", "json_object", "")
_UNKNOWN_FORMAT: Final = frozenset({400, 422})
# What some models think aloud before they answer.
_THOUGHT: Final = re.compile(r"<think(?:ing)?>.*?</think(?:ing)?>", re.DOTALL)
# At so many braces of an answer it is looked whether the object begins there.
_BRACES: Final = 50
_DECODER: Final = json.JSONDecoder()


class ChatClient:
    """One chat model of one service. Safe to use from several threads where `record` is."""

    def __init__(self, model: AIModel, record: Recorder) -> None:
        self.name = model.name
        self.max_tokens = model.max_tokens
        self._model_id = model.pk
        self._endpoint = Endpoint.of(model.api)
        self._timeout = model_config().llm_timeout
        self._record = record
        self._format = 0

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
                return _fitting(answer, shape)
            except ValueError as error:
                problem = _problem(error)
            messages += [
                {"role": "assistant", "content": answer[:_SHOWN_CHARS]},
                {"role": "user", "content": f"That does not fit: {problem}. Answer again, with the JSON alone."},
            ]
        raise ModelError(f"{self.name} gave no answer that fits: {problem}")

    def _complete(self, messages: Sequence[Message], shape: type[BaseModel]) -> str:
        """The model's words. A service that refuses a way of asking for JSON is asked in the next one, and stays so."""
        first = self._format
        for number in range(first, len(_FORMATS)):
            try:
                text = self._call(messages, _FORMATS[number], shape)
            except ModelRefused as error:
                if error.status not in _UNKNOWN_FORMAT or number + 1 == len(_FORMATS):
                    raise
            else:
                self._format = max(number, self._format)
                return text
        raise AssertionError("unreachable")

    def _call(self, messages: Sequence[Message], form: str, shape: type[BaseModel]) -> str:
        """One call, with one row of usage."""
        started = time.perf_counter()
        tokens: int | None = None
        status = LLMUsage.Status.ERROR
        body = {"model": self.name, "messages": list(messages), "temperature": 0, **_asking_for(form, shape)}
        # A circuit of its own: a model that is slow to write says nothing about the others of its service.
        circuit = self._endpoint.url("/v1/chat/completions")
        with BREAKER.guarding(circuit):
            try:
                answer = post_json(self._endpoint, "/v1/chat/completions", body, self._timeout, retries=2)
                tokens = reported_tokens(answer)
                text = _content(answer)
                status = LLMUsage.Status.SUCCESS
                return text
            except ModelTimeout:
                status = LLMUsage.Status.TIMEOUT
                raise
            finally:
                elapsed = 1000 * (time.perf_counter() - started)
                purpose = LLMUsage.Purpose.CONCEPT_EXTRACTION
                self._record(UsageRecord(self._model_id, self.name, purpose, status, 1, tokens, elapsed))


def _asking_for(form: str, shape: type[BaseModel]) -> dict[str, Any]:
    """The part of a request that asks for JSON; nothing where the instruction alone must do."""
    if form == "json_schema":
        schema = {"name": shape.__name__, "schema": shape.model_json_schema()}
        return {"response_format": {"type": form, "json_schema": schema}}
    return {"response_format": {"type": form}} if form else {}


def _content(answer: Any) -> str:
    """The text of the first choice, in one piece or in parts. Raises `ModelError` where there is none."""
    try:
        text = answer["choices"][0]["message"]["content"]
    except (KeyError, IndexError, TypeError):
        text = None
    if isinstance(text, list):
        text = "".join(str(part.get("text") or "") for part in text if isinstance(part, dict))
    if not isinstance(text, str):
        raise ModelError("The chat model gave no answer")
    return text


def _fitting(text: str, shape: type[Answer]) -> Answer:
    """The first JSON object of an answer that is of the shape, whatever stands around it.

    Raises `ValueError` with what is wrong with the first object of all.
    """
    problem: ValueError = ValueError("there is no JSON object")
    for number, found in enumerate(_objects(_THOUGHT.sub("", text))):
        try:
            if isinstance(found, ValueError):
                raise found
            return shape.model_validate_json(found)
        except ValueError as error:
            problem = problem if number else error
    raise problem


def _objects(text: str) -> Iterator[str | ValueError]:
    """The JSON objects in a text, in order; an error for a brace that opens none."""
    start = text.find("{")
    for _ in range(_BRACES):
        if start < 0:
            return
        end = start + 1
        try:
            _, end = _DECODER.raw_decode(text, start)
            yield text[start:end]
        except json.JSONDecodeError as error:
            yield ValueError(f"it is no valid JSON: {error.msg} at character {error.pos}")
        except RecursionError:
            yield ValueError("it is nested too deeply")
        start = text.find("{", end)


def _problem(error: ValueError) -> str:
    if isinstance(error, ValidationError):
        first = error.errors(include_url=False, include_input=False)[0]
        return f"{'.'.join(str(part) for part in first['loc'])}: {first['msg']}"
    return str(error)
