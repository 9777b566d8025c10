"""Forgetting, place by place: records, transcripts, counters, who was handed what; and what it says it did."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from rearview_pipelines.ledger.events import Op
from rearview_pipelines.memory import Memory, State
from rearview_pipelines.principal import Principal
from rearview_pipelines.reflect.results import Results
from rearview_pipelines.sessions.transcript import Transcripts
from rearview_pipelines.sessions.working import WorkingMemory
from rearview_pipelines.write import edit, forgetting
from rearview_pipelines.write.commit import store
from rearview_pipelines.write.item import Tools, Work
from rearview_pipelines.write.rejudge import rejudged

PLACES = ("hot", "cold", "transcripts", "sessions", "snapshots", "lessons")
BATCH = 256
"""Memories forgotten in one batch of the ledger."""


@dataclass(frozen=True)
class Scope:
    """What is to go: memories by id; with `session` its whole transcript, with `user` all that is kept of one.

    exact   whether each of `ids` was named by the caller, so that an unknown one is an error
    turns   (session, numbers) of turns that go from its transcript, kept as memories or not
    """

    ids: tuple[str, ...] = ()
    session: str | None = None
    user: str | None = None
    exact: bool = True
    turns: tuple[str, tuple[int, ...]] | None = None


@dataclass
class Forgotten:
    """What went. `places`: how many, by where. `rejudged`: lessons that rested on it, and of which `kinds` of
    task. `job`: takes the bytes."""

    ids: list[str] = field(default_factory=list)
    places: dict[str, int] = field(default_factory=lambda: dict.fromkeys(PLACES, 0))
    rejudged: list[str] = field(default_factory=list)
    kept_until: dict[str, str] = field(default_factory=dict)
    kinds: list[str] = field(default_factory=list)
    job: str | None = None

    def held(self, place: str, until: datetime | None) -> None:
        """Note that a lock keeps something."""
        if until is not None:
            self.kept_until[place] = max(self.kept_until.get(place, ""), until.isoformat())


async def forgotten(
    principal: Principal,
    scope: Scope,
    tools: Tools,
    transcripts: Transcripts | None,
    working: WorkingMemory | None,
    results: Results | None,
    note: Callable[[Sequence[str]], Awaitable[None]],
) -> Forgotten:
    """Forget under the writer's lock. Raises NotFound or Forbidden before anything is touched.

    `note`: writes down whose bytes have to go, before the first is forgotten: a crash forgets none of them.
    """
    memories = await _own(principal, scope, tools)
    done = Forgotten()
    derived = await rejudged(principal.tenant, memories, tools)
    done.rejudged, done.kinds = derived.ids, derived.kinds
    done.places["lessons"] = len(derived.ids)
    memories += derived.gone
    if memories:
        await note([memory.id for memory in memories])
    if tools.cold is not None and memories:
        done.places["cold"] = await tools.cold.holding(principal.tenant, [m.id for m in memories])
    done.places["hot"] = sum(not _is_cold(memory, tools) for memory in memories)
    # First what nobody finds again by the records: a failure here is tried again while those are still there.
    if results is not None:
        await results.forget(principal.tenant, [m.id for m in memories] + done.rejudged)
    said: list[str] = []
    if transcripts is not None:
        said = await _transcripts(principal, scope, memories, transcripts, done)
    if working is not None:
        done.places["sessions"] = await _sessions(principal, scope, memories, working)
        if scope.turns is not None and said:
            done.places["sessions"] += await working.scrub(principal.tenant, scope.turns[0], said, ())
    if scope.user is not None:
        await tools.handouts.forget(principal.tenant, scope.user)
    for start in range(0, len(memories), BATCH):
        chunk = memories[start : start + BATCH]
        try:
            await forgetting.forget(chunk, tools)
        finally:
            for memory in chunk:
                tools.changes.note(principal.tenant, memory.id)
        done.ids += [memory.id for memory in chunk]
    if derived.kept:
        work = Work([])
        for before, after in derived.kept:
            work.change(Op.UPDATE, before, after)
        await store(work, tools)
        for before, _ in derived.kept:
            tools.changes.note(principal.tenant, before.id)
    return done


async def _own(principal: Principal, scope: Scope, tools: Tools) -> list[Memory]:
    ids = list(dict.fromkeys(scope.ids))
    if scope.exact:
        return await edit.own(principal, ids, tools, unfinished=True)
    found: list[Memory] = []
    for start in range(0, len(ids), BATCH):
        there = await tools.index.get(principal.tenant, ids[start : start + BATCH])
        found += [m for m in there.values() if m.state is not State.FORGOTTEN and principal.may_change(m)]
    return found


def _is_cold(memory: Memory, tools: Tools) -> bool:
    recorded = tools.ledger.head.get(memory.tenant, memory.id)
    return recorded is not None and recorded.cold


async def _sessions(principal: Principal, scope: Scope, memories: Sequence[Memory], working: WorkingMemory) -> int:
    """Working memory that says what is forgotten: a whole session's or user's goes, of others what said it."""
    gone = 0
    if scope.session is not None or scope.user is not None:
        gone += await working.forget(principal, scope.session, scope.user)
    if memories:  # in whichever session they were said, or seeded
        gone += await working.scrub(principal.tenant, None, [m.text for m in memories], {m.id for m in memories})
    return gone


async def _transcripts(
    principal: Principal, scope: Scope, memories: Sequence[Memory], transcripts: Transcripts, done: Forgotten
) -> list[str]:
    """What was said in turns that went though no memory holds them."""
    gone = []
    for said in sorted({m.session for m in memories if m.session is not None and m.session != scope.session}):
        gone.append(await transcripts.forget_turns(principal.tenant, said, {m.id for m in memories}))
    if scope.turns is not None:
        gone.append(await transcripts.forget_numbers(principal, *scope.turns))
    if scope.session is not None:
        gone.append(await transcripts.forget(principal, scope.session))
    if scope.user is not None:
        gone.append(await transcripts.forget_user(principal, scope.user))
    done.places["transcripts"] = sum(one.count for one in gone)
    for one in gone:
        done.held("transcripts", one.until)
    return [text for one in gone for text in one.said]
