"""Sessions as callers meet them: begun with seeds from recall, read, replaced, ended, summed up."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Protocol

from rearview_pipelines.errors import InvalidInput, NotFound
from rearview_pipelines.memory import Draft, Kind, Layer, Outcome, Source, SourceKind
from rearview_pipelines.ports import Clock
from rearview_pipelines.principal import Principal
from rearview_pipelines.privacy.scrub import Found, Scrubber
from rearview_pipelines.recall.answers import RecallAnswer
from rearview_pipelines.receipts import Receipt
from rearview_pipelines.requests import EndRequest, RecallRequest, StartRequest, SummaryRequest
from rearview_pipelines.sessions.requests import PutRequest
from rearview_pipelines.sessions.state import State
from rearview_pipelines.sessions.summary import Said, Statement
from rearview_pipelines.sessions.transcript import Transcripts
from rearview_pipelines.sessions.working import Session, WorkingMemory
from rearview_pipelines.write.admit import admit
from rearview_pipelines.write.item import Item

SEEDS = 10
"""Memories that a session begins with: broad, where a recall inside a task is narrow."""
SEED_TOKENS = 1000
MOST_TURNS = 10_000
PAGE = 1000


class SessionPort(Protocol):
    """The writer, as far as it keeps sessions."""

    async def write(
        self, principal: Principal, items: list[Item], idempotency_key: str | None = None
    ) -> list[Receipt]: ...

    async def start_session(
        self,
        principal: Principal,
        session: str,
        agent: str,
        user: str,
        goal: str | None,
        seeds: Sequence[str],
        preferences: Sequence[str],
    ) -> Session: ...

    async def put_session(
        self, principal: Principal, session: str, agent: str, user: str, version: int, state: State
    ) -> Session: ...

    async def end_session(
        self, principal: Principal, session: str, agent: str, user: str, outcome: Outcome | None
    ) -> list[Receipt]: ...


class Recalls(Protocol):
    async def recall(self, principal: Principal, request: RecallRequest, *, floored: bool = False) -> RecallAnswer: ...


class Summarizer(Protocol):
    """Sums turns up. `mode`: model, or extractive where there is none or it failed."""

    async def statements(self, turns: Sequence[Said]) -> tuple[str, list[Statement]]: ...


class SessionService:
    def __init__(
        self,
        writer: SessionPort,
        recalls: Recalls,
        working: WorkingMemory,
        transcripts: Transcripts,
        summarizer: Summarizer,
        scrubber: Scrubber | None,
        clock: Clock,
    ) -> None:
        self._writer = writer
        self._recalls = recalls
        self._working = working
        self._transcripts = transcripts
        self._summarizer = summarizer
        self._scrubber = scrubber
        self._clock = clock

    async def start(self, principal: Principal, session: str, request: StartRequest) -> dict[str, Any]:
        """Begin a session: its state, and memories that bear on its goal."""
        principal.require_writer()
        agent, user = self._holder(principal, session, request.agent, request.user)
        held = await self._working.get(principal.tenant, session, agent, user, self._clock.now())
        goal = request.goal or (held.state.goal if held is not None and not held.ended else None)
        seeds: list[Any] = []
        if goal is not None:
            asked = RecallRequest(query=goal, top_k=SEEDS, token_budget=SEED_TOKENS, session=session)
            holder = replace(principal, agent=agent or principal.agent, user=user or principal.user)
            seeds = list((await self._recalls.recall(holder, asked, floored=True)).memories)
        known = [m.text for m in seeds if m.kind is Kind.PREFERENCE and (m.agent, m.user) == (agent, user)]
        begun = await self._writer.start_session(
            principal, session, agent, user, request.goal, [memory.id for memory in seeds], known
        )
        return {**self._shown(begun), "seeds": seeds}

    async def get(self, principal: Principal, session: str, agent: str | None, user: str | None) -> dict[str, Any]:
        """Raises NotFound for one that is unknown, another's, or was idle for too long: the same answer."""
        settled = principal.settle_agent(agent), principal.settle_user(user)
        held = await self._working.get(principal.tenant, session, *settled, self._clock.now())
        if held is None:
            raise NotFound("no such session")
        return self._shown(held)

    async def put(self, principal: Principal, session: str, request: PutRequest) -> dict[str, Any]:
        agent, user = self._holder(principal, session, request.agent, request.user)
        return self._shown(
            await self._writer.put_session(principal, session, agent, user, request.version, request.state)
        )

    async def end(self, principal: Principal, session: str, request: EndRequest) -> list[Receipt]:
        agent, user = self._holder(principal, session, request.agent, request.user)
        return await self._writer.end_session(principal, session, agent, user, request.outcome)

    async def summarize(self, principal: Principal, request: SummaryRequest) -> dict[str, Any]:
        """Up to ten statements of a session or a text, each with the turns that say it; written down if asked for."""
        if request.store:
            principal.require_writer()
        turns = await self._said(principal, request)
        mode, found = await self._summarizer.statements(turns)
        answer: dict[str, Any] = {"mode": mode, "statements": [_shown_statement(one) for one in found]}
        if request.store and found:
            drafts = [self._draft(request, one) for one in found]
            items = [replace(item, revives=False) for item in admit(principal, drafts)]
            receipts = await self._writer.write(principal, items)
            answer["receipts"] = [receipt.model_dump(mode="json") for receipt in receipts]
        return answer

    async def _said(self, principal: Principal, request: SummaryRequest) -> list[Said]:
        if request.text is not None:
            text = request.text
            if self._scrubber is not None:
                found = Found()
                text = self._scrubber.text(text, principal.tenant, found)
            return [Said("user", text)]
        session = request.session or ""
        said: list[Said] = []
        start = 0
        of = None
        if request.store or request.agent or request.user:  # one holder's: what is kept of it is theirs
            of = (principal.settle_agent(request.agent), principal.settle_user(request.user))
        while True:
            page = await self._transcripts.page(principal, session, start, PAGE, self._clock.now(), of=of)
            said += [Said(turn["role"], turn["text"], turn["turn"], turn["id"]) for turn in page.turns]
            if page.next is None:
                break
            start = page.next
        if not said:
            raise NotFound("no such session")
        return said[-MOST_TURNS:]

    @staticmethod
    def _draft(request: SummaryRequest, one: Statement) -> Draft:
        return Draft(
            text=one.text,
            layer=Layer.SEMANTIC,
            kind=one.kind,
            tags=one.tags,
            session=request.session,
            agent=request.agent,
            user=request.user,
            source=Source(kind=SourceKind.REFLECTION, derived_from=one.sources),
        )

    def _holder(self, principal: Principal, session: str, agent: str | None, user: str | None) -> tuple[str, str]:
        """Whose session it is. Raises InvalidInput for a secret in its name."""
        if self._scrubber is not None and self._scrubber.secrets(session):
            raise InvalidInput.one("session", "holds a secret", "use a name that is none")
        return principal.settle_agent(agent), principal.settle_user(user)

    def _shown(self, session: Session) -> dict[str, Any]:
        return {
            "session": session.session,
            "version": session.version,
            "state": session.state.model_dump(mode="json"),
            "task": session.task,
            "started_at": session.started_at.isoformat(),
            "updated_at": session.updated_at.isoformat(),
            "expires_at": (session.updated_at + self._working.idle).isoformat(),
            "ended": session.ended,
            "seed_ids": list(session.seeds),
        }


def _shown_statement(one: Statement) -> dict[str, Any]:
    return {"text": one.text, "kind": one.kind.value, "tags": list(one.tags), "turns": list(one.turns)}
