"""Reflection as a job: gather → review → distil → ground → write, one scope after the other. Harmless when repeated."""

import logging
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

from rearview_pipelines.errors import NotFound
from rearview_pipelines.ledger.ledger import LedgerReader
from rearview_pipelines.lifecycle.jobs import Job, Progress
from rearview_pipelines.memory import Layer, Memory, Outcome, State
from rearview_pipelines.ports import Clock, Condition, MemoryIndex, Where
from rearview_pipelines.principal import Principal, Right, Role
from rearview_pipelines.receipts import Receipt, Status
from rearview_pipelines.reflect.distil import Distilled
from rearview_pipelines.reflect.episodes import MOST, Episode, Scope, by_calls, scopes
from rearview_pipelines.reflect.lessons import Reinforcement, draft_of, reinforcement
from rearview_pipelines.reflect.model import ChatModel, reflected
from rearview_pipelines.reflect.results import Result, Results
from rearview_pipelines.sessions.summary import Said
from rearview_pipelines.sessions.transcript import Transcripts
from rearview_pipelines.write.admit import admit
from rearview_pipelines.write.item import Item

log = logging.getLogger(__name__)
OUTCOMES = tuple(outcome.value for outcome in Outcome)
SCOPES = ("task", "task_type", "session")
MOST_TURNS = 10_000
"""Turns of transcripts that one reflection reads."""
PAGE = 500


class LessonPort(Protocol):
    """The writer, as far as lessons go through it."""

    async def write(
        self, principal: Principal, items: list[Item], idempotency_key: str | None = None
    ) -> list[Receipt]: ...

    async def reinforce(self, tenant: str, again: Sequence[Reinforcement]) -> int: ...


@dataclass(frozen=True)
class Reflect:
    """The handler of reflect jobs. `model` of None: extractive."""

    writer: LessonPort
    index: MemoryIndex
    reader: LedgerReader
    transcripts: Transcripts
    results: Results
    clock: Clock
    model: ChatModel | None = None

    async def __call__(self, job: Job, progress: Progress) -> None:
        await self.reader.followed()
        who = principal_of(job)
        memories = await self.gathered(who, job.parameters)
        result = Result(job.id, who.id)
        skipped: Counter[str] = Counter()
        found = scopes(memories)
        if not found:
            skipped["no_episodes"] += 1
        await progress.at(0, len(found))
        for at, scope in enumerate(found, 1):
            scope.episodes = [await self._reviewed(who, scope, episode, memories) for episode in scope.episodes]
            mode, done = await reflected(self.model, scope.episodes, scope.task_type)
            if mode == "model":
                result.mode = mode
            result.lessons += await self._written(who, scope, mode, done)
            result.errors += done.errors
            result.improvements += done.improvements
            result.sources += [id_ for episode in scope.episodes for id_ in episode.ids]
            skipped += done.skipped
            await progress.at(at, len(found))
        result.skipped = dict(skipped)
        result.lessons = list(dict.fromkeys(result.lessons))
        await self.results.put(job.tenant, result)
        await self.reader.followed()
        gone = [id_ for id_ in result.sources if self._is_gone(job.tenant, id_)]
        if gone:  # forgotten while it was looked at
            await self.results.forget(job.tenant, gone)
        await progress.at(len(found), len(found), lessons=len(result.lessons), mode=result.mode)

    def _is_gone(self, tenant: str, id_: str) -> bool:
        held = self.reader.head.get(tenant, id_)
        return held is None or held.state is State.FORGOTTEN

    async def gathered(self, who: Principal, parameters: dict[str, Any]) -> list[Memory]:
        """Episodes of a task, a session or a kind of task that its holder sees; of one alone, its kind beside it."""
        name = next(scope for scope in SCOPES if parameters.get(scope))
        found = await self._episodes(who, name, str(parameters[name]))
        kinds = {m.task_type for m in found if m.task_type}
        if name != "task_type" and len(kinds) == 1:  # a task shows little by itself
            found += await self._episodes(who, "task_type", kinds.pop())
        return list({memory.id: memory for memory in found}.values())

    async def _episodes(self, who: Principal, name: str, value: str) -> list[Memory]:
        states = (State.ACTIVE.value, State.PENDING.value)
        where = Where(
            (
                Condition(name, "eq", value),
                Condition("state", "in", states),
            ),
            ((Condition("layer", "eq", Layer.EPISODIC.value), Condition("outcome", "in", OUTCOMES)),),
        )
        keys = await self.index.page(who.tenant, where, None, 4 * MOST)
        found: list[Memory] = []
        for start in range(0, len(keys), PAGE):
            chunk = await self.index.get(who.tenant, [id_ for _, id_ in keys[start : start + PAGE]])
            found += [memory for memory in chunk.values() if who.may_change(memory)]
        return found

    async def _reviewed(self, who: Principal, scope: Scope, episode: Episode, memories: Sequence[Memory]) -> Episode:
        """The episode with the turns of its sessions, of its own holder; without, where there is no transcript."""
        sessions = sorted({m.session for m in memories if m.id in episode.ids and m.session})
        said: list[Said] = []
        for session in sessions:
            page = await self.transcripts.page(
                who, session, 0, MOST_TURNS, self.clock.now(), of=(scope.agent, scope.user)
            )
            said += [Said(t["role"], _told(t), t["turn"], t["id"]) for t in page.turns]
        if not said:
            return episode
        good = episode.good if episode.good is not None else by_calls([turn.text for turn in said])
        return replace(episode, said=tuple(said[-MOST_TURNS:]), good=good)

    async def _written(self, who: Principal, scope: Scope, mode: str, done: Distilled) -> list[str]:
        """Ids of the lessons that stand now: written, or found again."""
        kept = []
        for lesson in done.lessons:
            [item] = admit(who, [draft_of(lesson, scope, mode)])
            [receipt] = await self.writer.write(who, [replace(item, revives=False)])
            if receipt.id is None:
                done.skipped[receipt.reasons[0] if receipt.reasons else receipt.status.value] += 1
                continue
            if receipt.status is Status.DUPLICATE:
                await self.writer.reinforce(who.tenant, [reinforcement(lesson, receipt.id, mode)])
            kept.append(receipt.id)
        return kept


def _told(turn: dict[str, Any]) -> str:
    calls = [
        f"{call['name']} {'failed' if call.get('ok') is False else 'worked' if call.get('ok') else 'was called'}"
        for call in turn.get("tool_calls", ())
    ]
    return "; ".join(part for part in (turn["text"], *calls) if part)


def parameters_of(who: Principal, name: str, value: str) -> dict[str, Any]:
    """A reflection's parameters: what it is about, and in whose name."""
    holder = {
        "role": who.role.value,
        "agent": who.agent,
        "user": who.user,
        "rights": sorted(right.value for right in who.rights),
        "id": who.id,
    }
    return {name: value, "who": holder}


def principal_of(job: Job) -> Principal:
    """In whose name a job is done: the caller's, or, where it was begun by the clock, nobody's own."""
    who = job.parameters.get("who") or {"role": Role.ADMIN.value, "id": "reflection"}
    rights = frozenset(Right(right) for right in who.get("rights", ()))
    return Principal(job.tenant, Role(who["role"]), who.get("agent"), who.get("user"), rights, who.get("id", ""))


def require_known(memories: Sequence[Memory], has_transcript: bool) -> None:
    """Raises NotFound for what nothing is known of."""
    if not memories and not has_transcript:
        raise NotFound("no such task, session or kind of task")
