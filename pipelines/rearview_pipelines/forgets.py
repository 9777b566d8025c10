"""Forgetting as callers ask for it: which memories a scope names, and the report of what went."""

from collections.abc import Sequence
from typing import Any, Protocol

from pydantic import BaseModel, ConfigDict, Field

from rearview_pipelines.errors import InvalidInput, NotFound
from rearview_pipelines.memory import Memory, SourceKind, State, Tier
from rearview_pipelines.ports import Clock, MemoryIndex, Where
from rearview_pipelines.principal import Principal
from rearview_pipelines.recall.filters import in_states, where_of
from rearview_pipelines.requests import Filters, ForgetRequest
from rearview_pipelines.sessions.transcript import Transcripts
from rearview_pipelines.write.gone import PLACES, Forgotten, Scope
from rearview_pipelines.write.identity import is_memory_id

PAGE = 1000
"""Memories read at a time where all are wanted."""
SCOPES = ("ids", "session", "user", "filters")


class PurgeState(BaseModel):
    """Whether the bytes are gone: `running`, and the job that says when; or `done`."""

    model_config = ConfigDict(frozen=True)

    status: str
    job: str | None = None


class ForgetReport(BaseModel):
    """What was forgotten. `places`: how many, by where they were; `rejudged`: lessons that rested on them.

    `kept_until`: by place, until when an object lock keeps bytes that nobody can recall any more.
    """

    model_config = ConfigDict(frozen=True)

    forgotten: int
    dry_run: bool = False
    ids: tuple[str, ...] = ()
    purge: PurgeState = PurgeState(status="done")
    places: dict[str, int] = Field(default_factory=dict)
    rejudged: tuple[str, ...] = ()
    kept_until: dict[str, str] = Field(default_factory=dict)


class ForgetPort(Protocol):
    async def forget(self, principal: Principal, scope: Scope) -> Forgotten: ...


class Forgets:
    """Finds what a request names, and has the writer forget it."""

    def __init__(self, writer: ForgetPort, index: MemoryIndex, transcripts: Transcripts | None, clock: Clock) -> None:
        self._writer = writer
        self._index = index
        self._transcripts = transcripts
        self._clock = clock

    async def forget(self, principal: Principal, request: ForgetRequest) -> ForgetReport:
        """Raises InvalidInput for no scope or several, NotFound for an unknown id, Forbidden."""
        _require_scope(request)
        principal.require_writer()
        scope = await self._scope(principal, request)
        if request.dry_run:
            return ForgetReport(forgotten=0, dry_run=True, ids=scope.ids, places=await self._places(principal, scope))
        if not scope.ids and scope.session is None and scope.user is None and scope.turns is None:
            return ForgetReport(forgotten=0, places=dict.fromkeys(PLACES, 0))
        done = await self._writer.forget(principal, scope)
        return ForgetReport(
            forgotten=len(done.ids),
            ids=tuple(done.ids),
            purge=PurgeState(status="running" if done.job else "done", job=done.job),
            places=done.places,
            rejudged=tuple(done.rejudged),
            kept_until=done.kept_until,
        )

    async def _places(self, principal: Principal, scope: Scope) -> dict[str, int]:
        """Where the memories of a dry run lie now."""
        places = dict.fromkeys(PLACES, 0)
        for start in range(0, len(scope.ids), PAGE):
            found = await self._index.get(principal.tenant, scope.ids[start : start + PAGE])
            for memory in found.values():
                places["cold" if memory.tier is Tier.COLD else "hot"] += 1
        return places

    async def _scope(self, principal: Principal, request: ForgetRequest) -> Scope:
        if request.ids is not None:
            ids = await self._changeable(principal, request.ids) if request.dry_run else request.ids
            return Scope(tuple(ids))
        if request.user is not None:
            principal.settle_user(request.user)
            found = await self._matching(principal, where_of(principal, Filters(user=(request.user,))))
            return Scope(tuple(m.id for m in found), user=request.user, exact=False)
        if request.filters is not None:
            states = request.filters.state
            where = where_of(principal, request.filters)
            found = await self._matching(principal, where if states is None else in_states(where, tuple(states)))
            return Scope(tuple(m.id for m in found), exact=False)
        session = request.session or ""
        found = await self._matching(principal, where_of(principal, Filters(session=(session,))))
        if request.last_turns is None:
            return Scope(tuple(m.id for m in found), session=session, exact=False)
        last = await self._last_turns(principal, session, request.last_turns)
        if last:
            said = {turn["id"] for turn in last if turn["id"]}
            numbers = tuple(turn["turn"] for turn in last)
            of_them = [m.id for m in found if m.id in said or m.source.turn in numbers]
            return Scope(tuple(of_them), exact=False, turns=(session, numbers))
        turns = [m for m in found if m.source.kind is SourceKind.TURN]  # written as turns, never observed
        turns.sort(key=lambda m: (m.source.turn or 0, m.occurred_at or m.created_at), reverse=True)
        return Scope(tuple(m.id for m in turns[: request.last_turns]), exact=False)

    async def _last_turns(self, principal: Principal, session: str, count: int) -> list[dict[str, Any]]:
        """The newest turns of a session's transcript, kept as memories or not."""
        if self._transcripts is None:
            return []
        found: list[dict[str, Any]] = []
        start = 0
        while True:
            page = await self._transcripts.page(principal, session, start, PAGE, self._clock.now())
            found = [*found, *page.turns][-count:]
            if page.next is None:
                return found
            start = page.next

    async def _changeable(self, principal: Principal, ids: Sequence[str]) -> Sequence[str]:
        """The ids of a dry run, if each is a memory that the principal may change."""
        ids = list(dict.fromkeys(ids))
        found = await self._index.get(principal.tenant, [id_ for id_ in ids if is_memory_id(id_)])
        for id_ in ids:
            if principal.changeable(found.get(id_)).state is State.FORGOTTEN:
                raise NotFound()
        return ids

    async def _matching(self, principal: Principal, where: Where) -> list[Memory]:
        """What passes a filter, is still there in whatever state, and may be changed by the principal."""
        where = in_states(where, tuple(state for state in State if state is not State.FORGOTTEN))
        mine: list[Memory] = []
        before: tuple[int, str] | None = None
        while keys := await self._index.page(principal.tenant, where, before, PAGE):
            found = await self._index.get(principal.tenant, [id_ for _, id_ in keys])
            mine += [found[id_] for _, id_ in keys if id_ in found and principal.may_change(found[id_])]
            before = keys[-1]
        return mine


def _narrows(filters: Filters) -> bool:
    """Whether any filter is one: an empty object is none."""
    return any(value not in (None, {}, ()) for _, value in filters)


def _require_scope(request: ForgetRequest) -> None:
    named = [name for name in SCOPES if getattr(request, name) is not None]
    if len(named) != 1:
        raise InvalidInput.one("ids", "exactly one scope is needed", f"send one of {', '.join(SCOPES)}")
    if request.last_turns is not None and request.session is None:
        raise InvalidInput.one("last_turns", "needs a session", "send session too")
    if request.filters is not None and not _narrows(request.filters):
        raise InvalidInput.one("filters", "names nothing, which would be everything", "send at least one filter")
