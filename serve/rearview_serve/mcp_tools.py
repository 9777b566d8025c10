"""The MCP tools: their parameters, and what each does with the service."""

import asyncio
import re
import uuid
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

from rearview_pipelines.errors import FieldError, InvalidInput, Unavailable
from rearview_pipelines.fields import Data, Instant, Key, Metadata, Name, Namespace, Ratio, Tags, Text
from rearview_pipelines.memory import Draft, Kind, LayerField, Outcome, Source, State, Visibility
from rearview_pipelines.principal import Principal, Right, Role
from rearview_pipelines.recall.answers import RecallAnswer
from rearview_pipelines.requests import (
    MAX_BATCH,
    MAX_DEADLINE_MS,
    FeedbackRequest,
    Filters,
    ForgetRequest,
    OneOrMany,
    RecallRequest,
    ReflectRequest,
    SummaryRequest,
    WriteRequest,
    parse,
)
from rearview_pipelines.service import MemoryService
from rearview_serve import mcp_text
from rearview_serve.limits import Limits
from rearview_serve.metrics import Metrics
from rearview_serve.wire import shown_answer

MAX_TOP_K = 20
REFLECT_SHARE = 0.8
"""Of the time of a call, that is waited for the end of a reflection; it goes on by itself."""
RequestId = Annotated[str, Field(strict=True, min_length=1, max_length=128)]


class _Arguments(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)


class SearchArguments(_Arguments):
    query_text: Text = Field(description="What you want to know, in the words of the question.")
    memory_layer: OneOrMany[LayerField] | None = Field(
        None, description="working, episodic (events), semantic (facts) or procedural (how to do things)."
    )
    task_type_filter: OneOrMany[Name] | None = Field(None, description="Only from tasks of this type.")
    tags: Tags = Field((), description="All of these.")
    time_range: str | None = Field(
        None, max_length=128, description='"A~B": happened from A to B, RFC 3339; either may be empty.'
    )
    top_k: Annotated[int, Field(strict=True, ge=1, le=MAX_TOP_K)] | None = Field(
        None, description="At most so many; leave out for the default."
    )
    min_score: Ratio | None = Field(None, description="Least score, 0 to 1; leave out for the default.")
    session: Name | None = Field(None, description="Only from this session.")


class WriteArguments(_Arguments):
    text: Text = Field(description="The memory, complete by itself.")
    layer: LayerField | None = Field(None, description="Default semantic.")
    kind: Kind = Kind.NOTE
    key: Key | None = Field(None, description="A stable name for a value that changes, such as user.city.")
    tags: Tags = ()
    metadata: Metadata = Field(default_factory=dict)
    data: Data | None = None
    namespace: Namespace | None = None
    task: Name | None = None
    task_type: Name | None = None
    outcome: Outcome | None = None
    importance: Ratio = 0.5
    confidence: Ratio = 0.7
    session: Name | None = None
    ref: Name | None = None
    source: Source = Source()
    occurred_at: Instant | None = None
    valid_from: Instant | None = None
    valid_to: Instant | None = None
    expires_at: Instant | None = None
    pinned: bool = False
    visibility: Visibility = Field(Visibility.PRIVATE, description="shared: every agent of the team sees it.")
    request_id: RequestId | None = Field(None, description="Send it again to ask how a late write ended.")


class UpdateArguments(_Arguments):
    memory_id: Name
    text: Text | None = None
    tags: Tags | None = None
    importance: Ratio | None = None
    pinned: bool | None = None
    outcome: Outcome | None = None


class ForgetArguments(_Arguments):
    memory_ids: Annotated[tuple[str, ...], Field(min_length=1, max_length=MAX_BATCH)] | None = None
    session: Name | None = None
    last_turns: Annotated[int, Field(strict=True, ge=1, le=10_000)] | None = Field(
        None, description="With session: only its newest turns, so many."
    )
    dry_run: bool = False
    weaken: bool = Field(False, description="Halve their importance instead.")


class FeedbackArguments(_Arguments):
    memory_id: Name = Field(description="The id of a memory that a search gave you.")
    recall_id: Name | None = Field(None, description="The recall_id of that search.")
    used: bool | None = Field(None, description="Whether you used it.")
    helpful: bool | None = Field(None, description="Whether it helped.")


class SummarizeArguments(_Arguments):
    session: Name | None = Field(None, description="A session whose turns were observed.")
    text: str | None = Field(None, min_length=1, max_length=2**18, description="Or a text.")
    store: bool = Field(False, description="Also remember the statements.")


class ReflectArguments(_Arguments):
    task: Name | None = Field(None, description="One task.")
    task_type: Name | None = Field(None, description="Or all tasks of a kind.")
    session: Name | None = Field(None, description="Or a session.")


class Tools:
    """The tools over one service. `seconds`: how long a call may take before it answers regardless.

    `defaults`: of recalls that do not say, as the settings have them.
    """

    def __init__(
        self,
        service: MemoryService,
        seconds: float,
        metrics: Metrics | None = None,
        limits: Limits | None = None,
        defaults: Mapping[str, Any] | None = None,
    ) -> None:
        self._defaults = defaults or {}
        self.limits = limits
        self._service = service
        self._seconds = seconds
        self._metrics = metrics
        self._late: set[asyncio.Task[Any]] = set()

    async def search(self, principal: Principal, arguments: SearchArguments) -> dict[str, Any]:
        filters = {
            "layer": arguments.memory_layer,
            "task_type": arguments.task_type_filter,
            "tags": arguments.tags or None,
            "session": arguments.session,
            **_time_range(arguments.time_range),
        }
        with _named({"since": "time_range", "until": "time_range"}):
            parsed = parse(Filters, {k: v for k, v in filters.items() if v is not None})
        bounds = {name: self._defaults[name] for name in ("top_k", "token_budget") if name in self._defaults}
        if arguments.top_k is not None:
            bounds["top_k"] = arguments.top_k
        if "top_k" in bounds:
            bounds["top_k"] = min(bounds["top_k"], MAX_TOP_K)
        request = RecallRequest(
            query=arguments.query_text,
            **bounds,
            min_score=arguments.min_score,
            filters=parsed,
            session=arguments.session,
            deadline_ms=min(max(int(self._seconds * 900), 1), MAX_DEADLINE_MS),
        )
        try:
            async with asyncio.timeout(self._seconds):
                answer = await self._service.recall(principal, request, floored=True)
        except (TimeoutError, Unavailable) as error:
            word = "deadline" if isinstance(error, TimeoutError) else "index"
            answer = RecallAnswer(recall_id=f"r_{uuid.uuid4().hex[:24]}", degraded=(word,))
        if self._metrics:
            self._metrics.answered(len(answer.memories), answer.degraded)
        shown = shown_answer(answer)
        # Without nulls: a model pays for every token. What the caller stored is left as it is.
        shown["memories"] = [{k: v for k, v in m.items() if v is not None} for m in shown["memories"]]
        return shown

    async def write(self, principal: Principal, arguments: WriteArguments) -> dict[str, Any]:
        request_id = arguments.request_id or f"mcp-{uuid.uuid4()}"
        fields = arguments.model_dump(exclude={"request_id"}, exclude_unset=True)
        request = WriteRequest(memories=(parse(Draft, fields),))

        async def run() -> dict[str, Any]:
            with _named({"Idempotency-Key": "request_id"}):
                receipts = await self._service.write(principal, request, request_id)
            if self._metrics:
                self._metrics.wrote(receipts)
            return {"receipts": [r.model_dump(mode="json") for r in receipts]}

        return await self._in_time(run(), request_id)

    async def update(self, principal: Principal, arguments: UpdateArguments) -> dict[str, Any]:
        changes = arguments.model_dump(mode="json", exclude={"memory_id"}, exclude_unset=True)
        changes = {k: v for k, v in changes.items() if v is not None}

        async def run() -> dict[str, Any]:
            receipt = (await self._service.patch(principal, arguments.memory_id, changes)).model_dump(mode="json")
            return {**receipt, "receipts": [receipt]}

        return await self._in_time(run(), None)

    async def forget(self, principal: Principal, arguments: ForgetArguments) -> dict[str, Any]:
        request = ForgetRequest(
            ids=arguments.memory_ids,
            session=arguments.session,
            last_turns=arguments.last_turns,
            dry_run=arguments.dry_run or arguments.weaken,
        )

        async def run() -> dict[str, Any]:
            with _named({"ids": "memory_ids"}):
                report = await self._service.forget(principal, request)
            if arguments.weaken:
                return await self._weaken(principal, report.ids, dry_run=arguments.dry_run)
            return report.model_dump(mode="json")

        return await self._in_time(run(), None)

    async def feedback(self, principal: Principal, arguments: FeedbackArguments) -> dict[str, Any]:
        fields = arguments.model_dump(exclude={"memory_id"}, exclude_none=True)

        async def run() -> dict[str, Any]:
            with _named({"id": "memory_id"}):
                asked = parse(FeedbackRequest, {"id": arguments.memory_id, **fields})
                answer = await self._service.feedback(principal, asked)
            if self._metrics:
                self._metrics.judged(asked.used, asked.helpful)
            return answer

        return await self._in_time(run(), None)

    async def summarize(self, principal: Principal, arguments: SummarizeArguments) -> dict[str, Any]:
        async def run() -> dict[str, Any]:
            asked = parse(SummaryRequest, arguments.model_dump(exclude_none=True))
            return await self._service.sessions.summarize(principal, asked)

        return await self._in_time(run(), None)

    async def reflect(self, principal: Principal, arguments: ReflectArguments) -> dict[str, Any]:
        """Begin, and wait for the end as long as a call may take."""

        async def run() -> dict[str, Any]:
            asked = parse(ReflectRequest, arguments.model_dump(exclude_none=True))
            id_ = (await self._service.reflect(principal, asked))["id"]
            end = asyncio.get_running_loop().time() + self._seconds * REFLECT_SHARE
            while True:
                found = await self._service.reflection(principal, id_)
                if found["status"] not in ("queued", "running") or asyncio.get_running_loop().time() > end:
                    lessons = [await self._service.get(principal, lesson) for lesson in found["lessons"]]
                    return found | {"lesson_texts": [lesson.text for lesson in lessons]}
                await asyncio.sleep(0.1)

        return await self._in_time(run(), None)

    async def _weaken(self, principal: Principal, ids: Sequence[str], *, dry_run: bool) -> dict[str, Any]:
        """Halve the importance of what is still in use; all are read before the first is changed."""
        memories = [await self._service.get(principal, id_) for id_ in ids]
        used = [m for m in memories if m.state in (State.ACTIVE, State.PENDING)]
        if not dry_run:
            for memory in used:
                await self._service.patch(principal, memory.id, {"importance": memory.importance / 2}, memory.version)
        return {"forgotten": 0, "weakened": len(used), "dry_run": dry_run, "ids": [m.id for m in used]}

    async def _in_time(self, work: Awaitable[dict[str, Any]], request_id: str | None) -> dict[str, Any]:
        """The result, or, when it is late, word that it goes on and may be asked for again."""
        task = asyncio.ensure_future(work)
        done, _ = await asyncio.wait([task], timeout=self._seconds)
        if done:
            return task.result()
        self._late.add(task)  # a task that nobody holds may be collected before it ends
        task.add_done_callback(self._ended)
        late = f"not done after {self._seconds:g} s, it goes on"
        if request_id is None:
            return {"retryable": False, "detail": f"{late}; search to see how it ended"}
        hint = "call again with the same request_id to learn how it ended"
        return {"retryable": True, "detail": f"{late}; {hint}", "request_id": request_id}

    def _ended(self, task: asyncio.Task[Any]) -> None:
        self._late.discard(task)
        if not task.cancelled():
            task.exception()  # nobody waits for it any more; the caller learns it when asking again


@dataclass(frozen=True)
class ToolSpec:
    """One tool as it is listed: name, description, arguments, hints."""

    name: str
    description: str
    arguments: type[BaseModel]
    call: Callable[[Tools, Principal, Any], Awaitable[dict[str, Any]]]
    read_only: bool = False
    destructive: bool = False
    idempotent: bool = True


SPECS = (
    ToolSpec("memory_write", mcp_text.WRITE, WriteArguments, Tools.write),
    ToolSpec("memory_search", mcp_text.SEARCH, SearchArguments, Tools.search, read_only=True),
    ToolSpec("memory_update", mcp_text.UPDATE, UpdateArguments, Tools.update, destructive=True),
    ToolSpec("memory_forget", mcp_text.FORGET, ForgetArguments, Tools.forget, destructive=True, idempotent=False),
    ToolSpec("memory_summarize", mcp_text.SUMMARIZE, SummarizeArguments, Tools.summarize),
    ToolSpec("memory_reflect", mcp_text.REFLECT, ReflectArguments, Tools.reflect),
    ToolSpec("memory_feedback", mcp_text.FEEDBACK, FeedbackArguments, Tools.feedback, idempotent=False),
)
CORE = 4
"""The first so many are what an agent needs at least."""


def specs_of(setting: str) -> tuple[ToolSpec, ...]:
    """The tools that are listed: `all`, or `core`."""
    return SPECS if setting == "all" else SPECS[:CORE]


ALIASES = {"memory_store": "memory_write", "memory_recall": "memory_search"}
"""Names that other systems use: answered, not listed."""


def schema_for(spec: ToolSpec, principal: Principal) -> dict[str, Any]:
    """The tool's parameters as JSON schema; `visibility` only for who may share."""
    schema = spec.arguments.model_json_schema()
    may_share = principal.role is Role.ADMIN or Right.SHARE in principal.rights
    if not may_share:
        schema.get("properties", {}).pop("visibility", None)
    return schema


def _time_range(value: str | None) -> dict[str, str]:
    if value is None:
        return {}
    start, tilde, end = (piece.strip() for piece in value.partition("~"))
    if not tilde or not (start or end):
        raise InvalidInput.one("time_range", "is not of the form A~B", "send 2026-11-01T00:00:00Z~2026-11-30T00:00:00Z")
    bounds = {"since": start, "until": end}
    return {name: _day(bound, name) for name, bound in bounds.items() if bound}


def _day(bound: str, name: str) -> str:
    """A bare date means its first moment as a start and its last as an end."""
    if len(bound) == len("2026-11-30") and "T" not in bound:
        return f"{bound}T00:00:00Z" if name == "since" else f"{bound}T23:59:59.999Z"
    return bound


@contextmanager
def _named(names: Mapping[str, str]) -> Iterator[None]:
    """Complaints in the words of the tool's own parameters."""
    try:
        yield
    except InvalidInput as error:

        def said(text: str) -> str:
            return re.sub(r"[\w-]+", lambda word: names.get(word[0], word[0]), text)

        fields = [FieldError(said(e.field), e.message, said(e.remedy)) for e in error.errors]
        raise InvalidInput("; ".join(f"{e.field}: {e.message}" for e in fields), fields) from error
