"""The HTTP contract: how a body is read, how a memory and an error look on the wire."""

import json
from collections.abc import Mapping
from typing import Any, Literal

from pydantic import BaseModel, Field, create_model

from rearview_pipelines.errors import FieldError, InvalidInput, RearviewError
from rearview_pipelines.memory import Memory
from rearview_pipelines.recall.answers import Hidden, Hit, RecallAnswer
from rearview_pipelines.receipts import Receipt
from rearview_pipelines.requests import Filters, ListRequest, RecallRequest, TranscriptRequest, WriteRequest, parse
from rearview_pipelines.sessions.state import State as WorkingState

_OURS = ("tenant", "derived", "signature", "support")
"""Fields of a record that are not shown as they are: the scope's name, and proof for our own use."""


class SignatureOut(BaseModel):
    kid: str


def _public(name: str, model: type[BaseModel]) -> type[BaseModel]:
    fields: dict[str, Any] = {
        key: (field.annotation, field) for key, field in model.model_fields.items() if key not in _OURS
    }
    return create_model(name, signature=(SignatureOut | None, None), **fields)


MemoryOut = _public("MemoryOut", Memory)
HitOut = _public("HitOut", Hit)


class MemoryPage(BaseModel):
    memories: list[MemoryOut]  # type: ignore[valid-type]
    next_cursor: str | None


class History(BaseModel):
    memories: list[MemoryOut]  # type: ignore[valid-type]


class TranscriptPage(BaseModel):
    turns: list[dict[str, Any]]
    next_cursor: str | None


class RecallOut(BaseModel):
    recall_id: str
    memories: list[HitOut]  # type: ignore[valid-type]
    degraded: list[str]
    hidden: Hidden
    took_ms: float
    explain: dict[str, Any] | None = None


class HandedOut(BaseModel):
    """A memory of a recall: where it came from, not what it says. `forgotten`: nothing is left of it."""

    id: str
    state: str
    version: int | None = None
    ref: str | None = None
    trust: str | None = None
    source: dict[str, Any] | None = None
    session: str | None = None
    created_at: str | None = None


class RecallTrace(BaseModel):
    recall_id: str
    at: str
    agent: str | None
    user: str | None
    session: str | None
    memories: list[HandedOut]


class FeedbackOut(BaseModel):
    """How often callers said so of this memory."""

    id: str
    used: int
    helpful: int
    unhelpful: int


class SessionOut(BaseModel):
    """Working memory of a session. `version`: send it back with PUT. `seeds`: memories that it begins with."""

    session: str
    version: int
    state: WorkingState
    task: str | None
    started_at: str
    updated_at: str
    expires_at: str
    ended: bool
    seed_ids: list[str]
    seeds: list[HitOut] | None = None  # type: ignore[valid-type]


class StatementOut(BaseModel):
    text: str
    kind: str
    tags: list[str]
    turns: list[int]


class SummaryOut(BaseModel):
    """`mode`: model, or extractive: sentences as they were said."""

    mode: Literal["model", "extractive"]
    statements: list[StatementOut]
    receipts: list[Receipt] | None = None


class ReflectionOut(BaseModel):
    """What a reflection found. `mode`: model, or extractive: in the words of the episodes."""

    id: str
    status: Literal["queued", "running", "done", "failed"]
    mode: Literal["model", "extractive"]
    lessons: list[str]
    errors: list[str]
    improvements: list[str]
    skipped: dict[str, int]
    done: int
    total: int
    error: str | None = None


class Started(BaseModel):
    """Work that goes on after the answer: ask for it by its id."""

    id: str


class JobOut(BaseModel):
    """How far a job is: `done` of `total`; `detail` says what was done, in counts."""

    id: str
    kind: str
    status: Literal["queued", "running", "done", "failed"]
    done: int
    total: int
    detail: dict[str, Any]
    created_at: str
    updated_at: str


class Problem(BaseModel):
    """application/problem+json (RFC 9457)."""

    type: str
    title: str
    status: int
    detail: str
    errors: list[dict[str, str]] = Field(default_factory=list)
    retryable: bool


def shown(memory: Memory) -> dict[str, Any]:
    """A memory, or a hit, as clients see it."""
    out = memory.model_dump(mode="json", exclude=set(_OURS))
    out["signature"] = {"kid": memory.signature.kid} if memory.signature else None
    return out


def shown_answer(answer: RecallAnswer) -> dict[str, Any]:
    out: dict[str, Any] = {
        "recall_id": answer.recall_id,
        "memories": [_shown_hit(hit) for hit in answer.memories],
        "degraded": list(answer.degraded),
        "hidden": answer.hidden.model_dump(),
        "took_ms": answer.took_ms,
    }
    if answer.explain is not None:
        out["explain"] = answer.explain
    return out


def _shown_hit(hit: Hit) -> dict[str, Any]:
    out = shown(hit)
    for optional in ("excerpt", "explain"):
        if out[optional] is None:
            del out[optional]
    return out


def problem(error: RearviewError, status: int) -> dict[str, Any]:
    kind = type(error).__name__
    slug = "".join(f"-{c.lower()}" if c.isupper() else c for c in kind).lstrip("-")
    return {
        "type": f"urn:rearview:{slug}",
        "title": error.title,
        "status": status,
        "detail": error.detail,
        "errors": [vars(e) for e in error.errors],
        "retryable": error.retryable,
    }


def read_json(body: bytes) -> Any:
    """A request's JSON. Raises InvalidInput for what is not JSON, with the place where it stops being."""
    try:
        return json.loads(body.decode("utf-8"), parse_constant=_not_json, object_pairs_hook=_once)
    except UnicodeDecodeError as error:
        raise InvalidInput.one("body", f"is not UTF-8 at byte {error.start}", "send JSON in UTF-8") from error
    except RecursionError as error:
        raise InvalidInput.one("body", "is nested too deeply", "flatten it") from error
    except ValueError as error:
        where = f" at character {error.pos}" if isinstance(error, json.JSONDecodeError) else ""
        raise InvalidInput.one("body", f"is not JSON{where}", "send a JSON object") from error


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) < len(pairs):
        raise InvalidInput.one("body", "names a field twice in one object", "send each field once")
    return made


def _not_json(name: str) -> None:
    raise ValueError(f"{name} is not JSON")


def read_write(value: Any) -> WriteRequest:
    """A write of one memory or of many."""
    if not isinstance(value, dict):
        raise InvalidInput.one("body", "is not an object", 'send one memory, or {"memories": [...]}')
    if "memories" in value:
        return parse(WriteRequest, value)
    one = {k: v for k, v in value.items() if k != "timezone"}
    zone = {"timezone": value["timezone"]} if "timezone" in value else {}
    try:
        return parse(WriteRequest, {"memories": [one], **zone})
    except InvalidInput as error:
        raise _without_index(error) from error


def _without_index(error: InvalidInput) -> InvalidInput:
    """The same complaint for a single memory: `text`, not `memories[0].text`."""
    prefix = "memories[0]."
    errors = [FieldError(e.field.removeprefix(prefix), e.message, e.remedy) for e in error.errors]
    return InvalidInput(error.detail.replace(prefix, ""), errors)


def read_recall(value: Any, defaults: Mapping[str, Any]) -> RecallRequest:
    """A recall; what it leaves out is as the settings say."""
    return parse(RecallRequest, {**defaults, **value} if isinstance(value, dict) else value)


_NUMBERS = ("min_importance", "min_confidence")


def read_list(query: Mapping[str, list[str]]) -> ListRequest:
    """Filters, limit and cursor of a list from its query string. Raises InvalidInput naming the field."""
    filters: dict[str, Any] = {}
    request: dict[str, Any] = {"filters": filters}
    for name, values in query.items():
        if name == "limit":
            request[name] = _number(name, values[-1], int)
        elif name == "cursor":
            request[name] = values[-1]
        elif name not in Filters.model_fields:
            names = ", ".join(sorted([*Filters.model_fields, "limit", "cursor"]))
            raise InvalidInput.one(name, "is not a filter", f"remove it; the filters are {names}")
        elif name in _NUMBERS:
            filters[name] = _number(name, values[-1], float)
        elif name in ("since", "until"):
            filters[name] = values[-1]
        elif name == "metadata":
            filters[name] = _object(name, values[-1])
        else:
            filters[name] = values
    try:
        return parse(ListRequest, request)
    except InvalidInput as error:
        raise _as_parameters(error) from error


def read_transcript(session: str, query: Mapping[str, list[str]]) -> TranscriptRequest:
    """Which turns of a session, from its path and query string. Raises InvalidInput naming the field."""
    request: dict[str, Any] = {"session": session}
    for name, values in query.items():
        if name not in ("limit", "cursor"):
            raise InvalidInput.one(name, "is not a parameter", "remove it; the parameters are limit and cursor")
        request[name] = _number(name, values[-1], int)
    return parse(TranscriptRequest, request)


def _as_parameters(error: InvalidInput) -> InvalidInput:
    """The same complaint in the words of a query string: `kind`, not `filters.kind[0]`."""
    names = [e.field.removeprefix("filters.").partition("[")[0] for e in error.errors]
    errors = [FieldError(n, e.message, e.remedy) for n, e in zip(names, error.errors, strict=True)]
    return InvalidInput("; ".join(f"{e.field}: {e.message}" for e in errors), errors)


def _object(name: str, text: str) -> Any:
    try:
        return read_json(text.encode())
    except InvalidInput as error:
        raise InvalidInput.one(name, "is not JSON", 'send an object such as {"team": "billing"}') from error


def _number(name: str, value: str, kind: type[int] | type[float]) -> int | float:
    try:
        return kind(value)
    except ValueError as error:
        raise InvalidInput.one(name, "is not a number", f"send a number for {name}") from error
