"""The one entry: what Serve, the command line and stdio MCP call. Holds no state of its own."""

import base64
import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Protocol

from rearview_pipelines.errors import Forbidden, InvalidInput, NotFound
from rearview_pipelines.memory import Memory, SourceKind, State
from rearview_pipelines.ports import Embedder, MemoryIndex, Reranker
from rearview_pipelines.principal import Principal, Role
from rearview_pipelines.recall.answers import ContextAnswer, RecallAnswer
from rearview_pipelines.recall.context import render
from rearview_pipelines.recall.filters import in_states, where_of
from rearview_pipelines.recall.pipeline import RecallPipeline
from rearview_pipelines.receipts import Receipt
from rearview_pipelines.requests import Filters, ForgetRequest, ListRequest, RecallRequest, WriteRequest
from rearview_pipelines.write.identity import is_memory_id
from rearview_pipelines.write.admit import admit
from rearview_pipelines.write.item import Item

READABLE = (State.ACTIVE, State.PENDING, State.SUPERSEDED)
PAGE = 1000
"""Memories read at a time where all are wanted."""


class WritePort(Protocol):
    """The writer, here or behind a deployment handle."""

    async def write(
        self, principal: Principal, items: list[Item], idempotency_key: str | None = None
    ) -> list[Receipt]: ...

    async def patch(
        self, principal: Principal, id_: str, changes: Mapping[str, Any], if_match: int | None
    ) -> Receipt: ...

    async def forget(self, principal: Principal, ids: Sequence[str]) -> list[str]: ...


class SystemClock:
    def now(self) -> datetime:
        return datetime.now(UTC)


class MemoryService:
    """Every verb, for a principal that was authenticated by the caller."""

    def __init__(
        self,
        writer: WritePort,
        recaller: RecallPipeline,
        index: MemoryIndex,
        embedder: Embedder,
        reranker: Reranker | None,
        floor: float,
    ) -> None:
        self._writer = writer
        self._recaller = recaller
        self._index = index
        self._embedder = embedder
        self._reranker = reranker
        self._floor = floor

    @property
    def rejected_rows(self) -> int:
        """Rows left out of recalls since the start because their signature did not hold."""
        return self._recaller.rejected_rows

    async def write(
        self, principal: Principal, request: WriteRequest, idempotency_key: str | None = None
    ) -> list[Receipt]:
        items = admit(principal, request.memories)
        return await self._writer.write(principal, items, idempotency_key)

    async def recall(self, principal: Principal, request: RecallRequest, *, floored: bool = False) -> RecallAnswer:
        """`floored`: apply the configured floor where the request names none, as for a model's eyes."""
        return await self._recaller.recall(principal, request, self._floor if floored else 0.0)

    async def context(self, principal: Principal, request: RecallRequest) -> ContextAnswer:
        answer = await self.recall(principal, request, floored=True)
        text, tokens, ids = render(answer.memories, request.token_budget)
        return ContextAnswer(
            recall_id=answer.recall_id, text=text, tokens=tokens, memories=ids, degraded=answer.degraded
        )

    async def get(self, principal: Principal, id_: str) -> Memory:
        """Raises NotFound for what is unknown, forgotten, or another's: the same answer."""
        found = await self._index.get(principal.tenant, [id_]) if is_memory_id(id_) else {}
        memory = found.get(id_)
        if memory is None or not principal.sees(memory):
            raise NotFound()
        hidden = memory.state not in READABLE and principal.role is not Role.ADMIN
        if hidden or memory.state is State.FORGOTTEN or not self._recaller.holds(memory):
            raise NotFound()
        return memory

    async def list_memories(self, principal: Principal, request: ListRequest) -> tuple[list[Memory], str | None]:
        """(memories, next cursor), newest first; the cursor is None at the end."""
        where = where_of(principal, request.filters)
        states = request.filters.state or (State.ACTIVE, State.PENDING)
        where = in_states(where, tuple(states))
        before = _read_cursor(request.cursor) if request.cursor else None
        keys = await self._index.page(principal.tenant, where, before, request.limit)
        found = await self._index.get(principal.tenant, [id_ for _, id_ in keys])
        read = [found[id_] for _, id_ in keys if id_ in found]
        memories = [m for m in read if principal.sees(m) and self._recaller.holds(m)]
        return memories, _cursor(keys[-1]) if len(keys) == request.limit else None

    async def patch(
        self, principal: Principal, id_: str, changes: Mapping[str, Any], if_match: int | None = None
    ) -> Receipt:
        return await self._writer.patch(principal, id_, changes, if_match)

    async def forget(self, principal: Principal, request: ForgetRequest) -> Sequence[str]:
        """Forget what the request names; answers the ids. A dry run answers them and keeps them."""
        if (request.ids is None) == (request.session is None):
            raise InvalidInput.one("ids", "exactly one scope is needed", "send either ids or session")
        if request.last_turns is not None and request.session is None:
            raise InvalidInput.one("last_turns", "needs a session", "send session too")
        principal.require_writer()
        if request.ids is not None:
            ids: Sequence[str] = await self._changeable(principal, request) if request.dry_run else request.ids
        else:
            ids = await self._of_session(principal, request)
        if request.dry_run or not ids:
            return ids
        return await self._writer.forget(principal, ids)

    async def _changeable(self, principal: Principal, request: ForgetRequest) -> Sequence[str]:
        """The ids of a dry run, if each is a memory that the principal may change."""
        ids = list(dict.fromkeys(request.ids or ()))
        found = await self._index.get(principal.tenant, [id_ for id_ in ids if is_memory_id(id_)])
        for id_ in ids:
            if id_ not in found or not principal.sees(found[id_]) or found[id_].state is State.FORGOTTEN:
                raise NotFound()
            if not principal.may_change(found[id_]):
                raise Forbidden("this memory belongs to another agent or user; only they or an admin change it")
        return ids

    async def _of_session(self, principal: Principal, request: ForgetRequest) -> Sequence[str]:
        filters = Filters(session=(request.session or "",))
        where = in_states(where_of(principal, filters), (State.ACTIVE, State.PENDING, State.SUPERSEDED))
        mine: list[Memory] = []
        before: tuple[int, str] | None = None
        while keys := await self._index.page(principal.tenant, where, before, PAGE):
            found = await self._index.get(principal.tenant, [id_ for _, id_ in keys])
            mine += [m for m in found.values() if principal.may_change(m)]
            before = keys[-1]
        if request.last_turns is None:
            return [m.id for m in mine]
        turns = [m for m in mine if m.source.kind is SourceKind.TURN]
        turns.sort(key=lambda m: (m.occurred_at or m.created_at, m.source.turn or 0), reverse=True)
        return [m.id for m in turns[: request.last_turns]]

    async def stats(self, principal: Principal) -> dict[str, Any]:
        """Counts of the tenant's memories by state, and the models in use."""
        counts = dict(await self._index.counts(principal.tenant))
        languages = self._embedder.languages
        return {
            "tenant": principal.tenant,
            "memories": counts,
            "embedding_model": self._embedder.name,
            "dimension": self._embedder.dimension,
            "languages": sorted(languages) if languages is not None else None,
            "reranker": self._reranker.name if self._reranker else None,
            "rejected_rows": self.rejected_rows,
        }

    async def ping(self) -> None:
        """Raises Unavailable unless the index answers."""
        await self._index.ping()


def _cursor(key: tuple[int, str]) -> str:
    return base64.urlsafe_b64encode(json.dumps(key).encode()).decode().rstrip("=")


def _read_cursor(cursor: str) -> tuple[int, str]:
    try:
        created, id_ = json.loads(base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)))
        if not 0 <= int(created) < 2**62:
            raise ValueError("out of range")
        return int(created), str(id_)
    except (ValueError, TypeError, OverflowError) as error:
        raise InvalidInput.one("cursor", "is not one that a list answered", "leave it out to begin anew") from error
