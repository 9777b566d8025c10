"""Any OpenAI-compatible chat model, asked for JSON of a schema: bounded in time, retries, concurrency and cost.

What it answers is a stranger's text: parsed tolerantly, held against the schema, and never more than data.
"""

import asyncio
import json
import logging
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from json_repair import repair_json
from pydantic import BaseModel, ValidationError

from rearview_pipelines.errors import Unavailable
from rearview_pipelines.models.chat_options import ChatOptions

if TYPE_CHECKING:
    from openai import AsyncOpenAI

log = logging.getLogger(__name__)
DAY_SECONDS = 86_400.0
_OVERFLOW = ("context_length", "context length", "maximum context", "too many tokens", "context window", "exceed")
_Answer = TypeVar("_Answer", bound=BaseModel)


class ModelFailed(Unavailable):
    """The model gave no answer that can be used. `why`: one word, for counting."""

    def __init__(self, why: str, detail: str = "") -> None:
        super().__init__(detail or f"the language model gave no answer that can be used: {why}")
        self.why = why

    def __reduce__(self) -> tuple[Any, ...]:
        return (type(self), (self.why, self.detail))


class TooLong(ModelFailed):
    """The question does not fit into the model: ask a shorter one."""

    def __init__(self, detail: str = "") -> None:
        super().__init__("too_long", detail)

    def __reduce__(self) -> tuple[Any, ...]:
        return (type(self), (self.detail,))


class OpenAIChat:
    """`ChatModel` over an OpenAI-compatible endpoint. Nothing connects before the first question."""

    def __init__(self, options: ChatOptions) -> None:
        self._options = options
        self._gate = asyncio.Semaphore(options.concurrency)
        self._formats = ["json_schema", "json_object", "text"]
        self._spent = 0
        self._since = time.monotonic()

    @property
    def name(self) -> str:
        return self._options.model

    @property
    def spent(self) -> int:
        """Tokens of the last day."""
        return self._spent

    async def ask(self, system: str, question: str, schema: type[_Answer]) -> _Answer:
        """An answer of this shape. Raises TooLong, ModelFailed."""
        self._require_budget()
        async with self._gate:
            return await self._asked(system, question, schema)

    def _require_budget(self) -> None:
        if time.monotonic() - self._since > DAY_SECONDS:
            self._spent, self._since = 0, time.monotonic()
        limit = self._options.tokens_a_day
        if limit and self._spent >= limit:
            raise ModelFailed("budget", f"the language model has had its {limit} tokens of the day")

    async def _asked(self, system: str, question: str, schema: type[_Answer]) -> _Answer:
        import openai  # a second to import, which a store without a model need not pay

        client = openai.AsyncOpenAI(
            base_url=self._options.url,
            api_key=self._options.key or "none",
            timeout=self._options.seconds,
            max_retries=self._options.retries,
        )
        async with client:  # an answer takes seconds: a connection of its own costs nothing beside it
            return await self._answered(client, system, question, schema)

    async def _answered(self, client: "AsyncOpenAI", system: str, question: str, schema: type[_Answer]) -> _Answer:
        import openai

        messages: Any = [{"role": "system", "content": system}, {"role": "user", "content": question}]
        while True:
            kind = self._formats[0]
            try:
                answer = await client.chat.completions.create(
                    model=self._options.model,
                    messages=messages,
                    temperature=0,
                    max_tokens=self._options.output,
                    **_format(kind, schema),
                )
            except openai.APITimeoutError as error:
                raise ModelFailed("timeout") from error
            except openai.APIConnectionError as error:
                raise ModelFailed("unreachable") from error
            except openai.RateLimitError as error:
                raise ModelFailed("rate_limited") from error
            except openai.APIStatusError as error:
                if _is_overflow(error):
                    raise TooLong from error
                if error.status_code in (400, 422) and len(self._formats) > 1:
                    self._formats.pop(0)  # a server that does not know this way of asking for JSON
                    continue
                raise ModelFailed(f"status_{error.status_code}") from error
            except openai.OpenAIError as error:
                raise ModelFailed("unusable") from error
            return self._read(answer, schema)

    def _read(self, answer: Any, schema: type[_Answer]) -> _Answer:
        usage = getattr(answer, "usage", None)
        self._spent += int(getattr(usage, "total_tokens", 0) or 0)
        choices = getattr(answer, "choices", None) or []
        if not choices or choices[0].message is None:
            raise ModelFailed("empty")
        return read_answer(choices[0].message.content or "", schema)


def read_answer(text: str, schema: type[_Answer]) -> _Answer:
    """What a model answered, as this shape; mended where it is nearly JSON. Raises ModelFailed."""
    if not text.strip():
        raise ModelFailed("empty")
    value = _json(text)
    if isinstance(value, list) and len(schema.model_fields) == 1:  # the list alone, where an object holds it
        value = {next(iter(schema.model_fields)): value}
    try:
        return schema.model_validate(value)
    except ValidationError as error:
        raise ModelFailed("schema") from error


def _json(text: str) -> Any:
    """The JSON of an answer: as it is, or mended: fences, trailing commas, an end that was cut off."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        try:
            value = repair_json(text, return_objects=True)
        except (ValueError, RecursionError) as error:
            raise ModelFailed("json") from error
    if value in ("", [], {}):
        raise ModelFailed("json")
    return value


def _format(kind: str, schema: type[BaseModel]) -> Mapping[str, Any]:
    if kind == "text":
        return {}
    if kind == "json_object":
        return {"response_format": {"type": "json_object"}}
    described = {"name": schema.__name__, "schema": schema.model_json_schema()}
    return {"response_format": {"type": "json_schema", "json_schema": described}}


def _is_overflow(error: Any) -> bool:
    if error.status_code == 413:
        return True
    said = str(getattr(error, "message", "")).lower()
    return error.status_code in (400, 422) and any(word in said for word in _OVERFLOW)
