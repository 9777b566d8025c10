"""What callers may ask, and the one parser that turns their JSON into it or names what is wrong."""

from collections.abc import Mapping
from typing import Annotated, Any, Literal, TypeVar
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, model_validator
from pydantic_core import PydanticCustomError

from rearview_pipelines.errors import FieldError, InvalidInput
from rearview_pipelines.fields import (
    SAFE_INTEGER,
    Data,
    Instant,
    Key,
    Metadata,
    Name,
    Namespace,
    Ratio,
    Tag,
    Text,
    long_text,
    storable,
    turn_text,
)
from rearview_pipelines.memory import Draft, Kind, LayerField, Outcome, Source, State
from rearview_pipelines.principal import Right, Role

MAX_BATCH = 256
MAX_TOP_K = 100
MAX_DEADLINE_MS = 60_000
MAX_LIST = 500


def _zone(value: str) -> str:
    try:
        ZoneInfo(value)
    except (ZoneInfoNotFoundError, ValueError, OSError) as error:
        raise PydanticCustomError("timezone", "{reason}", {"reason": "is not an IANA time zone"}) from error
    return value


Timezone = Annotated[str, Field(strict=True, max_length=64), AfterValidator(_zone)]
_Item = TypeVar("_Item")


def _as_list(value: Any) -> Any:
    return value if isinstance(value, list | tuple) else [value]


OneOrMany = Annotated[tuple[_Item, ...], BeforeValidator(_as_list), Field(min_length=1, max_length=64)]
"""A value, or a list of values of which any may match."""


class Filters(BaseModel):
    """Which memories count. Fields are joined by and; a list of values by or."""

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)

    layer: OneOrMany[LayerField] | None = None
    kind: OneOrMany[Kind] | None = None
    key: OneOrMany[Key] | None = None
    namespace: OneOrMany[Namespace] | None = Field(None, description="Finds everything below it too.")
    metadata: Metadata | None = Field(None, description="All of its pairs equal.")
    tags: OneOrMany[Tag] | None = Field(None, description="All of these.")
    any_tags: OneOrMany[Tag] | None = Field(None, description="At least one of these.")
    task: OneOrMany[Name] | None = None
    task_type: OneOrMany[Name] | None = None
    outcome: OneOrMany[Outcome] | None = None
    session: OneOrMany[Name] | None = None
    user: OneOrMany[Name] | None = None
    agent: OneOrMany[Name] | None = None
    ref: OneOrMany[Name] | None = None
    min_importance: Ratio | None = None
    min_confidence: Ratio | None = None
    since: Instant | None = Field(None, description="Happened at or after.")
    until: Instant | None = Field(None, description="Happened at or before.")
    state: OneOrMany[State] | None = Field(None, description="Admins only.")

    @model_validator(mode="after")
    def _ends_after_it_starts(self) -> "Filters":
        if self.since is not None and self.until is not None and self.until < self.since:
            raise PydanticCustomError("time_range", "{reason}", {"reason": "until is before since"})
        return self


def _tool_call(value: dict[str, Any]) -> dict[str, Any]:
    unknown = set(value) - {"name", "arguments", "result", "ok"}
    if unknown or not isinstance(value.get("name"), str) or not value["name"].strip():
        raise PydanticCustomError("tool_call", "{reason}", {"reason": "is not a tool call"})
    return value


ToolCall = Annotated[Data, AfterValidator(_tool_call)]
"""`name`, and if they are known `arguments`, `result`, `ok`; at most 16 KiB of JSON."""


class WriteRequest(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)

    memories: Annotated[tuple[Draft, ...], Field(min_length=1, max_length=MAX_BATCH)]
    timezone: Timezone = Field("UTC", description="For relative dates, which nothing resolves yet.")


class Turn(BaseModel):
    """One thing that was said or done. A turn without text holds tool calls."""

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)

    role: Literal["user", "assistant", "tool", "system"] = "user"
    speaker: Name | None = None
    text: Annotated[str, Field(strict=True), AfterValidator(storable), AfterValidator(turn_text)] = ""
    occurred_at: Instant | None = None
    ref: Name | None = None
    tool_calls: Annotated[tuple[ToolCall, ...], Field(max_length=64)] = ()


class ObserveRequest(BaseModel):
    """Turns of a session, in order."""

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)

    session: Name
    task: Name | None = None
    task_type: Name | None = None
    agent: Name | None = Field(None, description="Only where the credential leaves it open.")
    user: Name | None = Field(None, description="Only where the credential leaves it open.")
    timezone: Timezone = Field("UTC", description="For relative dates, which nothing resolves yet.")
    turns: Annotated[tuple[Turn, ...], Field(min_length=1, max_length=MAX_BATCH)]
    wait: Annotated[bool, Field(strict=True)] = Field(True, description="false: answer 202 and work after the reply.")


class StartRequest(BaseModel):
    """The begin of a session."""

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)

    goal: Annotated[str, Field(strict=True, min_length=1, max_length=2000), AfterValidator(storable)] | None = None
    agent: Name | None = Field(None, description="Only where the credential leaves it open.")
    user: Name | None = Field(None, description="Only where the credential leaves it open.")


class EndRequest(BaseModel):
    """The end of a session."""

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)

    outcome: Outcome | None = Field(None, description="How it went; else as far as the state says.")
    agent: Name | None = Field(None, description="Only where the credential leaves it open.")
    user: Name | None = Field(None, description="Only where the credential leaves it open.")


class SummaryRequest(BaseModel):
    """What is to be summed up: `session` or `text`, one of them."""

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)

    session: Name | None = None
    text: (
        Annotated[str, Field(strict=True, min_length=1), AfterValidator(storable), AfterValidator(long_text)] | None
    ) = Field(None, description="At most 256 KiB.")
    store: Annotated[bool, Field(strict=True)] = Field(False, description="Write the statements as memories.")
    agent: Name | None = Field(None, description="Only where the credential leaves it open.")
    user: Name | None = Field(None, description="Only where the credential leaves it open.")

    @model_validator(mode="after")
    def _names_one(self) -> "SummaryRequest":
        if (self.session is None) == (self.text is None):
            raise PydanticCustomError("session", "{reason}", {"reason": "send either session or text"})
        return self


class ReflectRequest(BaseModel):
    """What is to be reflected on: one of `task`, `task_type`, `session`."""

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)

    task: Name | None = None
    task_type: Name | None = None
    session: Name | None = None

    @property
    def scope(self) -> tuple[str, str]:
        """(what, its name)."""
        return next((name, value) for name, value in self if value is not None)

    @model_validator(mode="after")
    def _names_one(self) -> "ReflectRequest":
        if sum(value is not None for _, value in self) != 1:
            raise PydanticCustomError("task", "{reason}", {"reason": "send exactly one of task, task_type, session"})
        return self


class TokenRequest(BaseModel):
    """A credential to make, of the caller's own tenant."""

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)

    role: Role
    agent: Name | None = Field(None, description="Fix the agent; leave out to leave it open.")
    user: Name | None = Field(None, description="Fix the user; leave out to leave it open.")
    rights: Annotated[tuple[Right, ...], Field(max_length=8)] = ()


class TranscriptRequest(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)

    session: Name
    limit: Annotated[int, Field(strict=True, ge=1, le=MAX_LIST)] = 100
    cursor: Annotated[int, Field(strict=True, ge=0, le=SAFE_INTEGER)] = 0


Query = Annotated[Text, Field(description="1 to 16,384 bytes; never read as query syntax.")]


class RecallRequest(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)

    query: Query
    top_k: Annotated[int, Field(strict=True, ge=1, le=MAX_TOP_K)] = 5
    mode: Literal["hybrid", "semantic", "keyword", "exact"] = "hybrid"
    filters: Filters = Filters()
    token_budget: Annotated[int, Field(strict=True, ge=1, le=1_000_000)] | None = Field(
        500, description="Tokens of text, as the contract counts them; null for none."
    )
    min_score: Ratio | None = Field(
        None, description="Least score; default 0 for recall, REARVIEW_FLOOR for context and MCP."
    )
    recency_weight: Ratio = 0.0
    as_of: Instant | None = Field(None, description="Answer what was held true then.")
    timezone: Timezone = Field("UTC", description="Zone of times that the query names: last Tuesday, 上周二.")
    deadline_ms: Annotated[int, Field(strict=True, ge=1, le=MAX_DEADLINE_MS)] = 3000
    after: Annotated[str, Field(strict=True, max_length=64)] | None = None
    explain: Annotated[bool, Field(strict=True)] = False
    session: Name | None = Field(None, description="The session that asks: what it is handed is no second source.")
    reveal: Annotated[bool, Field(strict=True)] = Field(
        False, description="Decrypt what scrubbing encrypted; needs the right `reveal`."
    )


class FeedbackRequest(BaseModel):
    """What the caller thought of a memory that it was handed. `used`, `helpful`: at least one of them."""

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)

    id: Name
    recall_id: Name | None = None
    used: Annotated[bool, Field(strict=True)] | None = None
    helpful: Annotated[bool, Field(strict=True)] | None = None

    @model_validator(mode="after")
    def _says_something(self) -> "FeedbackRequest":
        if self.used is None and self.helpful is None:
            raise PydanticCustomError("feedback", "{reason}", {"reason": "says neither used nor helpful"})
        return self


class ListRequest(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)

    filters: Filters = Filters()
    limit: Annotated[int, Field(strict=True, ge=1, le=MAX_LIST)] = 50
    cursor: Annotated[str, Field(strict=True, max_length=128)] | None = None


class ForgetRequest(BaseModel):
    """Exactly one scope: `ids`, `session`, `user` or `filters`. `last_turns` narrows a session to its newest turns."""

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)

    # Any string: what has not the form of an id is unknown, and answers like any unknown id.
    ids: Annotated[tuple[str, ...], Field(min_length=1, max_length=MAX_BATCH)] | None = None
    session: Name | None = None
    last_turns: Annotated[int, Field(strict=True, ge=1, le=10_000)] | None = None
    user: Name | None = Field(None, description="All that is kept of this user.")
    filters: Filters | None = Field(None, description="What these find; at least one is needed.")
    dry_run: Annotated[bool, Field(strict=True)] = Field(False, description="Only say what would be forgotten.")


class JobRequest(BaseModel):
    """Long work to begin."""

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)

    kind: Literal["sweep", "snapshot", "restore", "migrate", "reindex", "resign", "purge", "reflect"]
    snapshot: Name | None = Field(None, description="restore: which one; `latest`, or where none is named.")
    model: Annotated[str, Field(strict=True, min_length=1, max_length=512)] | None = Field(
        None, description="migrate: the embedding model to move to: a name in the cache, or an exported folder."
    )
    rollback: Annotated[bool, Field(strict=True)] = Field(False, description="migrate: take the last one back.")
    finish: Annotated[bool, Field(strict=True)] = Field(
        False, description="migrate: let go of the collection that was kept for the way back."
    )
    agreement: Ratio | None = Field(
        None, description="migrate: least share that both models find alike, below which nothing is switched."
    )
    force: Annotated[bool, Field(strict=True)] = Field(
        False, description="sweep: the clock is right, however long ago the last one was."
    )

    task: Name | None = Field(None, description="reflect: one task.")
    task_type: Name | None = Field(None, description="reflect: or all tasks of a kind.")
    session: Name | None = Field(None, description="reflect: or a session.")

    @property
    def parameters(self) -> dict[str, Any]:
        return self.model_dump(mode="json", exclude={"kind"}, exclude_defaults=True)

    @model_validator(mode="after")
    def _fits_its_kind(self) -> "JobRequest":
        named = sum(value is not None for value in (self.task, self.task_type, self.session))
        if (self.kind == "reflect") != (named == 1):
            reason = "a reflection needs exactly one of task, task_type, session; other jobs none"
            raise PydanticCustomError("task", "{reason}", {"reason": reason})
        ways = sum((self.model is not None, self.rollback, self.finish))
        if (self.kind == "migrate") != (ways == 1):
            reason = "a migration needs exactly one of model, rollback, finish; other jobs none"
            raise PydanticCustomError("model", "{reason}", {"reason": reason})
        return self


_Model = TypeVar("_Model", bound=BaseModel)


def parse(model: type[_Model], value: Any, prefix: str = "") -> _Model:
    """Validate JSON as `model`. Raises InvalidInput with one entry for each thing wrong.

    `prefix` is put before every field's path, as in `memories[3].text`.
    """
    try:
        return model.model_validate(value)
    except ValidationError as error:
        raise _invalid(error, model, prefix) from error


def _invalid(error: ValidationError, model: type[BaseModel], prefix: str) -> InvalidInput:
    found: dict[str, FieldError] = {}
    for problem in error.errors(include_url=False, include_input=False):
        field = _path(prefix, problem["loc"]) or "body"
        kind, context = problem["type"], problem.get("ctx") or {}
        message = problem["msg"]
        owner = _owner(model, problem["loc"])
        found.setdefault(field, FieldError(field, message, _remedy(kind, context, owner)))
    # A list whose items are all bad is also reported as too short: name the items only.
    errors = [e for e in found.values() if not any(other.startswith(f"{e.field}[") for other in found)]
    detail = "; ".join(f"{e.field}: {e.message}" for e in errors[:3])
    more = f" (and {len(errors) - 3} more)" if len(errors) > 3 else ""
    return InvalidInput(detail + more, errors)


_NESTED: dict[str, type[BaseModel]] = {"memories": Draft, "source": Source, "filters": Filters, "turns": Turn}


def _owner(model: type[BaseModel], location: tuple[int | str, ...]) -> type[BaseModel]:
    """The model whose field a location ends in."""
    for step in location[:-1]:
        model = _NESTED.get(str(step), model)
    return model


LONGEST_NAME = 40
_UNNAMED = "(a field of another name)"


def _path(prefix: str, location: tuple[int | str, ...]) -> str:
    path = prefix
    for step in location:
        if isinstance(step, int):
            path += f"[{step}]"
        elif not step.replace("_", "").isalpha() or len(step) > LONGEST_NAME:
            path += f".{_UNNAMED}" if path else _UNNAMED  # a name of the caller's own may be a value in the wrong place
        elif not step.startswith(("function-", "constrained-", "nullable[", "tuple[")):
            path += f".{step}" if path else step
    return path


def _remedy(kind: str, context: Mapping[str, Any], model: type[BaseModel]) -> str:
    if kind == "extra_forbidden":
        return "remove it; the fields are " + ", ".join(sorted(model.model_fields))
    if kind in ("enum", "literal_error"):
        return f"send one of {context.get('expected', 'the listed values')}"
    if kind in _REMEDIES:
        return _REMEDIES[kind].format(**context)
    if kind.endswith(("_type", "_parsing")) or kind.startswith(("int_", "float_", "bool_")):
        return f"send a JSON value of type {kind.split('_')[0]}"
    return "send a value that the field allows; see /openapi.json"


_REMEDIES = {
    "missing": "add it",
    "blank": "send at least one character that is not white space",
    "text_too_long": "split it into several memories, each at most 16,384 bytes of UTF-8",
    "valid_to": "send a valid_to that is later than valid_from",
    "nul": "remove the NUL character",
    "surrogate": "send complete Unicode characters",
    "string_unicode": "send complete Unicode characters",
    "string_too_long": "shorten it to {max_length} characters",
    "rfc3339": "send a time such as 2026-11-30T09:00:00+08:00",
    "timezone": "send a name such as Asia/Shanghai, or leave it out for UTC",
    "namespace": "send a path such as project/billing with at most 16 segments, none empty",
    "flat": "move nested values into `data`",
    "json_too_long": "store less, or keep the rest elsewhere and a pointer here",
    "json_number": "send it as a string",
    "json_depth": "flatten it",
    "json_value": "send plain JSON",
    "feedback": "send used, helpful, or both",
    "time_range": "send an until that is not before since",
    "tool_call": "send an object with name, and if you have them arguments, result, ok",
    "too_long": "send at most {max_length}",
    "too_short": "send at least {min_length}",
    "greater_than_equal": "send at least {ge}",
    "less_than_equal": "send at most {le}",
    "model_type": "send a JSON object",
    "dict_type": "send a JSON object",
    "string_type": "send a JSON string",
    "tuple_type": "send a JSON array",
    "string_pattern_mismatch": "send the id of a memory",
}
