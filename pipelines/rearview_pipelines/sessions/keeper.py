"""Sessions as the writer keeps them: begun, changed, updated by what is observed, and ended."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from rearview_pipelines.errors import Conflict, InvalidInput, NotFound
from rearview_pipelines.fields import MAX_DATA_BYTES
from rearview_pipelines.memory import Draft, Kind, Outcome
from rearview_pipelines.ports import Clock
from rearview_pipelines.principal import Principal
from rearview_pipelines.privacy.scrub import Found, Scrubber
from rearview_pipelines.requests import ObserveRequest, Turn, parse
from rearview_pipelines.sessions.compress import compressed
from rearview_pipelines.sessions.ending import ended
from rearview_pipelines.sessions.state import State, after_turn
from rearview_pipelines.sessions.summary import Said
from rearview_pipelines.sessions.transcript import Transcripts
from rearview_pipelines.sessions.working import Session, WorkingMemory

PAGE = 1000
MOST_TURNS = 10_000
"""Turns of a session that are looked at when it ends, the newest."""
MAX_STATE_BYTES = 4 * MAX_DATA_BYTES


class Sessions:
    """Called under a lock of the session. Raises Unavailable."""

    def __init__(
        self, memory: WorkingMemory, transcripts: Transcripts, scrubber: Scrubber | None, clock: Clock
    ) -> None:
        self.memory = memory
        self._transcripts = transcripts
        self._scrubber = scrubber
        self._clock = clock

    async def start(
        self,
        principal: Principal,
        session: str,
        agent: str,
        user: str,
        goal: str | None,
        seeds: Sequence[str],
        preferences: Sequence[str] = (),
    ) -> Session:
        """Begin a session, or go on with one that is under way; a goal that is named is the goal from now on.

        `preferences`: what is known already of how things are wanted.
        """
        now = self._clock.now()
        state = self._clean(principal.tenant, State(goal=goal, preferences=tuple(preferences)))
        held = await self.memory.get(principal.tenant, session, agent, user, now)
        if held is not None and not held.ended:
            kept = held.state if goal is None else held.state.model_copy(update={"goal": state.goal})
            return await self._put(principal, replace(held, state=kept, seeds=tuple(seeds) or held.seeds))
        version = held.version if held is not None else 0
        return await self._put(principal, Session(session, agent, user, version, state, now, now, seeds=tuple(seeds)))

    async def replace(
        self, principal: Principal, session: str, agent: str, user: str, version: int, state: State
    ) -> Session:
        """Put another state in the place of the one of `version`. Raises NotFound, Conflict."""
        held = await self._held(principal, session, agent, user)
        if held.version != version:
            raise Conflict(f"the session is at version {held.version}, not {version}; read it again")
        return await self._put(principal, replace(held, state=self._clean(principal.tenant, state)))

    async def observed(
        self,
        principal: Principal,
        request: ObserveRequest,
        agent: str,
        user: str,
        turns: Sequence[tuple[Turn, Kind | None, str | None]],
        at: datetime,
    ) -> Session:
        """Take in observed turns: each scrubbed, what it was remembered as, the id of that memory.

        `at`: the moment that the transcript notes for them, so that a session that they begin holds them.
        """
        now = at
        held = await self.memory.get(principal.tenant, request.session, agent, user, now)
        if held is None or held.ended:
            version = held.version if held is not None else 0
            held = Session(request.session, agent, user, version, State(), now, now)
        state, ids = held.state, list(held.turns)
        for turn, kind, id_ in turns:
            state = after_turn(state, turn, kind)
            ids += [id_] if id_ else []
        return await self._put(
            principal,
            replace(
                held,
                state=state,
                turns=tuple(dict.fromkeys(ids))[-MOST_TURNS:],
                task=request.task or held.task,
                task_type=request.task_type or held.task_type,
            ),
        )

    async def leaving(
        self, principal: Principal, session: str, agent: str, user: str, outcome: Outcome | None
    ) -> tuple[Session, list[Draft]]:
        """What a session leaves; it is under way until `left`. Raises NotFound."""
        held = await self._held(principal, session, agent, user)
        said = await self._said(principal, held)
        return held, await asyncio.to_thread(ended, held, said, outcome)

    async def left(self, principal: Principal, session: Session) -> None:
        """It was summed up. Kept until it was idle for long enough, so that ending it again answers the same."""
        await self.memory.put(principal.tenant, replace(session, ended=True))

    async def _said(self, principal: Principal, session: Session) -> list[Said]:
        """The session's turns since it began, oldest first."""
        said: list[Said] = []
        start = 0
        now = self._clock.now()
        while True:
            page = await self._transcripts.page(
                principal, session.session, start, PAGE, now, since=session.started_at, of=(session.agent, session.user)
            )
            said += [Said(turn["role"], turn["text"], turn["turn"], turn["id"]) for turn in page.turns]
            if page.next is None:
                return said[-MOST_TURNS:]
            start = page.next

    async def _held(self, principal: Principal, session: str, agent: str, user: str) -> Session:
        held = await self.memory.get(principal.tenant, session, agent, user, self._clock.now())
        if held is None:
            raise NotFound("no such session")
        return held

    async def _put(self, principal: Principal, session: Session) -> Session:
        state = compressed(session.state)
        return await self.memory.put(
            principal.tenant, replace(session, state=state, updated_at=self._clock.now(), ended=False)
        )

    def _clean(self, tenant: str, state: State) -> State:
        """The state without personal data. Raises InvalidInput for one that holds a secret."""
        if self._scrubber is None:
            return state
        found = Found()
        clean = self._scrubber.json(state.model_dump(mode="json"), tenant, found, MAX_STATE_BYTES)
        if found.secrets:
            raise InvalidInput.one("state", "holds a secret", "leave keys, tokens and passwords out of it")
        return parse(State, clean)
