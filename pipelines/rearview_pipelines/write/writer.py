"""The one writer of a store: runs the stages, edits and forgets, one change at a time.

Concurrent writes are joined: whoever holds the lock commits what all the others have waiting, in
one upsert and one batch of the ledger. That also is why fifty writers of one text make one memory.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeVar
from weakref import WeakValueDictionary

from rearview_pipelines.errors import Conflict, NotFound
from rearview_pipelines.ledger.events import Op
from rearview_pipelines.lifecycle.jobs import Job, JobRunner
from rearview_pipelines.lifecycle.purge import PurgeNotes
from rearview_pipelines.lifecycle.schedule import Ended
from rearview_pipelines.lifecycle.snapshots import Snapshots
from rearview_pipelines.memory import Memory, Outcome, State, Trust
from rearview_pipelines.ports import Changes
from rearview_pipelines.principal import Principal
from rearview_pipelines.recall.boosts import Standing
from rearview_pipelines.receipts import Receipt
from rearview_pipelines.reflect.results import Results
from rearview_pipelines.requests import MAX_BATCH, ObserveRequest
from rearview_pipelines.sessions.keeper import Sessions
from rearview_pipelines.sessions.state import State as WorkingState
from rearview_pipelines.sessions.transcript import Transcripts
from rearview_pipelines.sessions.working import Session, WorkingMemory
from rearview_pipelines.write import edit, forgetting, merging, moving
from rearview_pipelines.write.admit import admit
from rearview_pipelines.write.commit import recover, store
from rearview_pipelines.write.embed import draft_of, embed
from rearview_pipelines.write.gone import Forgotten, Scope, forgotten
from rearview_pipelines.write.guard import guard
from rearview_pipelines.write.handouts import Handout
from rearview_pipelines.write.idempotency import Answers
from rearview_pipelines.write.item import Item, Stage, Tools, Work
from rearview_pipelines.write.known import identify, known
from rearview_pipelines.write.moves import Moves
from rearview_pipelines.write.observe import observe
from rearview_pipelines.write.quota import within_quota
from rearview_pipelines.write.records import sign_records, superseded
from rearview_pipelines.write.relate.stage import of_same_key, relate
from rearview_pipelines.write.screen import screen
from rearview_pipelines.write.usage import Use

PREPARE: tuple[Stage, ...] = (guard, identify, known, embed, screen)
"""Run side by side. `known` is here to spare the model what is stored already."""
COMMIT: tuple[Stage, ...] = (known, embed, relate, within_quota, sign_records, store)
"""Run under the lock. `known` decides; `embed` has work only if a memory vanished in between."""
HELPFUL = 0.05
"""What a helpful use adds to the confidence in a lesson."""
_Result = TypeVar("_Result")


class Writer(Moves):
    def __init__(
        self, tools: Tools, transcripts: Transcripts | None = None, working: WorkingMemory | None = None
    ) -> None:
        self._tools = tools
        self._kept = None
        if transcripts is not None and working is not None:
            self._kept = Sessions(working, transcripts, tools.scrubber, tools.clock)
        self._transcripts = transcripts
        self._sessions: WeakValueDictionary[tuple[str, str], asyncio.Lock] = WeakValueDictionary()
        self._lock = asyncio.Lock()
        self._waiting: list[tuple[list[Item], asyncio.Future[None]]] = []
        self._answers = Answers()
        self._changes = tools.changes
        self._unsure = True
        self.runner: JobRunner | None = None
        self.purging: PurgeNotes | None = None
        self.results: Results | None = None
        self.helpful = HELPFUL
        self.snapshots: Snapshots | None = None
        self.ended: Ended | None = None

    async def write(self, principal: Principal, items: list[Item], idempotency_key: str | None = None) -> list[Receipt]:
        """Store admitted items; answers their receipts in order once they are stored and recorded.

        Raises Unavailable if they could not be; then nothing was acknowledged and a retry is
        harmless. A repeated `idempotency_key` answers what the first request got.
        """
        if idempotency_key is None:
            return await self._write(items)
        drafts = [item.draft.model_dump_json() for item in items]
        return await self._answers.once(principal, idempotency_key, drafts, lambda: self._write(items))

    async def observe(
        self, principal: Principal, request: ObserveRequest, idempotency_key: str | None = None
    ) -> list[Receipt]:
        """Remember what is worth it of observed turns; a receipt a turn. All go to the session's transcript."""
        principal.require_writer()

        async def run() -> list[Receipt]:
            assert self._transcripts is not None
            async with self._session(principal, request.session):
                return await observe(principal, request, self._tools, self._transcripts, self._write, self._kept)

        if idempotency_key is None:
            return await asyncio.shield(asyncio.ensure_future(run()))
        return await self._answers.once(principal, idempotency_key, [request.model_dump_json()], run)

    def _session(self, principal: Principal, session: str) -> asyncio.Lock:
        """What happens in one session happens one after the other."""
        return self._sessions.setdefault((principal.tenant, session), asyncio.Lock())

    async def start_session(
        self,
        principal: Principal,
        session: str,
        agent: str,
        user: str,
        goal: str | None,
        seeds: Sequence[str],
        preferences: Sequence[str],
    ) -> Session:
        """Begin a session's working memory, or go on with it."""
        principal.require_writer()
        async with self._session(principal, session):
            return await self._sessions_kept().start(principal, session, agent, user, goal, seeds, preferences)

    async def put_session(
        self, principal: Principal, session: str, agent: str, user: str, version: int, state: WorkingState
    ) -> Session:
        """Replace a session's state. Raises NotFound, Conflict for another version, InvalidInput for a secret."""
        principal.require_writer()
        async with self._session(principal, session):
            return await self._sessions_kept().replace(principal, session, agent, user, version, state)

    async def end_session(
        self, principal: Principal, session: str, agent: str, user: str, outcome: Outcome | None
    ) -> list[Receipt]:
        """Sum a session up into an episode and facts; answers their receipts. Asked again it answers the same."""
        principal.require_writer()

        async def run() -> list[Receipt]:
            async with self._session(principal, session):
                kept = self._sessions_kept()
                held, drafts = await kept.leaving(principal, session, agent, user, outcome)
                items = [replace(item, revives=False) for item in admit(principal, drafts)]
                receipts = await self._write(items) if items else []
                await kept.left(principal, held)
                if self.ended is not None and receipts:
                    now = self._tools.clock.now()
                    await self.ended.note(principal.tenant, held.task_type, held.task, session, now)
                return receipts

        return await asyncio.shield(asyncio.ensure_future(run()))

    def _sessions_kept(self) -> Sessions:
        if self._kept is None:
            raise Conflict("this store keeps no sessions")
        return self._kept

    async def _write(self, items: list[Item]) -> list[Receipt]:
        await self._run(PREPARE, Work(items))
        _reopen(items)
        done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append((items, done))
        # Shielded: if this caller gives up, others' items may be in the same commit.
        await asyncio.shield(asyncio.ensure_future(self._commit(done)))
        await self._note_ended(items)
        return [item.receipt for item in items if item.receipt is not None]

    async def _note_ended(self, items: Sequence[Item]) -> None:
        """Tasks of which somebody wrote how they ended: to be reflected on by and by."""
        tasks = {
            (item.tenant, item.draft.task_type, item.draft.task)
            for item in items
            if item.draft.task and item.draft.outcome and item.receipt is not None and item.receipt.status == "stored"
        }
        for tenant, kind, task in tasks if self.ended is not None else ():
            assert self.ended is not None
            await self.ended.note(tenant, kind, task, task or "", self._tools.clock.now())

    async def _commit(self, mine: asyncio.Future[None]) -> None:
        async with self._lock:
            while not mine.done():
                await self._commit_some()
        await mine

    async def _commit_some(self) -> None:
        taken: list[tuple[list[Item], asyncio.Future[None]]] = []
        count = 0
        while self._waiting and (not taken or count + len(self._waiting[0][0]) <= MAX_BATCH):
            taken.append(self._waiting.pop(0))
            count += len(taken[-1][0])
        try:
            await self._committed(COMMIT, Work([item for items, _ in taken for item in items]))
        except Exception as error:
            if len(taken) == 1:
                _fail(taken[0][1], error)
            else:
                await self._commit_each(taken)
            return
        for _, future in taken:
            future.set_result(None)

    async def _commit_each(self, taken: list[tuple[list[Item], asyncio.Future[None]]]) -> None:
        """One by one, so that what cannot be stored fails alone and not its neighbours."""
        for items, future in taken:
            _reopen(items)
            try:
                await self._committed(COMMIT, Work(items))
            except Exception as error:
                _fail(future, error)
            else:
                future.set_result(None)

    async def _committed(self, stages: Sequence[Stage], work: Work) -> None:
        """Run stages that end with `store`, under the lock; what a failure left behind is looked at first."""
        await self._sure()
        try:
            await self._run(stages, work)
        except Exception:
            self._unsure = True
            raise
        finally:
            # Noted even if it failed: what a failure left behind is for readers to look up.
            for item in work.items:
                self._changes.note(item.tenant, item.id)
            for tenant, id_ in work.others:
                self._changes.note(tenant, id_)

    async def _sure(self) -> None:
        if self._unsure:
            await self._tools.ledger.open()
            await recover(self._tools)
            await moving.finish(self._tools)
            self._unsure = False

    async def _run(self, stages: Sequence[Stage], work: Work) -> None:
        for stage in stages:
            await stage(work, self._tools)

    async def changes(self, tenant: str, epoch: str, since: int) -> Changes:
        """What was changed of a tenant's memories since a reader looked."""
        return self._changes.since(tenant, epoch, since)

    async def handed(self, handout: Handout) -> None:
        """Remember what a recall handed out."""
        await self._tools.handouts.note(handout)
        standing = [id_ for id_ in handout.ids if not self._gone(handout.tenant, id_)]
        await self._tools.usage.recalled(handout.tenant, standing, self._tools.clock.now())
        head = self._tools.ledger.head
        cold = [id_ for id_ in standing if (held := head.get(handout.tenant, id_)) is not None and held.cold]
        if cold:  # wanted again
            await self.thaw(handout.tenant, cold)

    def _gone(self, tenant: str, id_: str) -> bool:
        """Whether it was forgotten meanwhile: nothing is counted of it then."""
        recorded = self._tools.ledger.head.get(tenant, id_)
        return recorded is not None and recorded.state == State.FORGOTTEN.value

    async def handout(self, tenant: str, recall_id: str) -> Handout | None:
        """What a recall handed out, if it is remembered."""
        return self._tools.handouts.find(tenant, recall_id)

    async def feedback(self, tenant: str, id_: str, who: str, *, used: bool | None, helpful: bool | None) -> Use:
        """Count what a caller thought of a memory. Raises NotFound for one that was forgotten."""
        if self._gone(tenant, id_):
            raise NotFound()
        before = (await self._tools.usage.of(tenant)).get(id_)
        liked = before.helpful - before.unhelpful if before is not None else 0
        use = await self._tools.usage.feedback(tenant, id_, who, used=used, helpful=helpful)
        more = use.helpful - use.unhelpful - liked
        if more:
            await self._moved(lambda: self._judged(tenant, id_, more))
        return use

    async def _judged(self, tenant: str, id_: str, more: int) -> None:
        """A lesson is as much surer, or less sure, as callers found it helpful."""
        work = await merging.judged(tenant, id_, more * self.helpful, self._tools)
        if work.others:
            await store(work, self._tools)

    async def standing(self, tenant: str) -> Mapping[str, Standing]:
        """By memory, how it was used so far: only what moves an order."""
        uses = await self._tools.usage.of(tenant)
        return {id_: use.standing for id_, use in uses.items()}

    async def close(self) -> None:
        """Stop jobs, which the next start goes on with, and write what is only kept in memory yet."""
        if self.runner is not None:
            await self.runner.close()
        await self._tools.handouts.flush()
        await self._tools.usage.flush()

    async def ping(self) -> None:
        """Raises Unavailable unless the index answers, BrokenLedger if the ledger does not hold."""
        await self._tools.index.ping()
        if self._unsure and not self._lock.locked():
            async with self._lock:
                await self._sure()

    async def patch(self, principal: Principal, id_: str, changes: Mapping[str, Any], if_match: int | None) -> Receipt:
        """Change a memory. One whose identity changes (its text) is superseded by a new one.

        Raises NotFound, Forbidden, Conflict (another version than `if_match`), InvalidInput.
        """
        principal.require_writer()
        return await self._alone(lambda: self._patch(principal, id_, changes, if_match))

    async def _patch(self, principal: Principal, id_: str, changes: Mapping[str, Any], if_match: int | None) -> Receipt:
        await self._sure()
        work = await edit.prepared(principal, id_, changes, if_match, self._tools)
        await self._run((guard,), work)
        [item] = work.items
        if item.receipt is None:
            await edit.settle_identity(work, self._tools)
            await self._committed(edit.stages(item), work)
        assert item.receipt is not None
        return item.receipt

    async def release(self, principal: Principal, id_: str) -> Memory:
        """Let a quarantined memory be recalled, on an admin's word: from then on it is verified."""
        principal.require_admin()

        async def released() -> Memory:
            await self._sure()
            [held] = await edit.own(principal, [id_], self._tools)
            if held.state is not State.QUARANTINED:
                raise Conflict("this memory is not in quarantine")
            edit.require_sound(held, self._tools)
            after = held.model_copy(
                update={
                    "state": State.ACTIVE,
                    "trust": Trust.VERIFIED,
                    "version": held.version + 1,
                    "updated_at": self._tools.clock.now(),
                }
            )
            work = Work([])
            work.change(Op.RELEASE, held, after)
            item = Item(held.tenant, held.agent, held.user, draft_of(held), held.trust, id=held.id)
            for other in await of_same_key(item, self._tools):
                if other.created_at > held.created_at:
                    raise Conflict(f"{other.id} was written later under the same key: forget one of the two first")
                work.change(Op.SUPERSEDE, other, superseded(other, item, self._tools.clock.now()))
            await self._committed((store,), work)
            return after

        return await self._alone(released)

    async def forget(self, principal: Principal, scope: Scope) -> Forgotten:
        """Replace memories by empty, signed tombstones, and take what held them out of transcripts and sessions.

        Raises NotFound if one of them is unknown, before any is touched. One whose forgetting failed half-way is
        finished. On return nothing of them can be recalled; their bytes go with the purge that is named.
        """
        principal.require_writer()
        return await self._moved(lambda: self._forget(principal, scope))

    async def _forget(self, principal: Principal, scope: Scope) -> Forgotten:
        async def note(ids: Sequence[str]) -> None:
            await self._note_purge(principal.tenant, ids)

        working = self._kept.memory if self._kept is not None else None
        done = await forgotten(principal, scope, self._tools, self._transcripts, working, self.results, note)
        if done.ids:
            if self.snapshots is not None:
                done.places["snapshots"] = len(await self.snapshots.holding(principal.tenant, done.ids))
            done.job = await self._start_purge(principal.tenant)
        for kind in done.kinds if self.runner is not None else ():
            await self.start_job(principal.tenant, "reflect", {"task_type": kind})
        return done

    async def _note_purge(self, tenant: str, ids: Sequence[str]) -> None:
        if self.purging is not None:
            await self.purging.add(tenant, ids)

    async def _start_purge(self, tenant: str) -> str | None:
        """The job that takes the bytes: one that waits already takes these too."""
        if self.runner is None or self.purging is None:
            return None
        return (await self.runner.joined(tenant, "purge")).id

    async def start_job(self, tenant: str, kind: str, parameters: Mapping[str, Any]) -> Job:
        """Begin long work. Raises Conflict where this process runs none of this kind."""
        if self.runner is None or kind not in self.runner.kinds:
            raise Conflict(f"this service runs no jobs of the kind {kind}")
        return await self.runner.start(tenant, kind, parameters)

    async def resign(self, tenant: str, ids: Sequence[str], kid: str) -> int:
        """Sign records of a tenant anew with the active key; answers how many were.

        One that the ledger vouches for is signed whatever key it bears, a revoked one too. With no `ids`, the
        tenant's transcripts are sealed anew; and from the answer on, this writer signs with `kid`.
        """
        if not ids:
            return await self._reseal(tenant, kid)

        async def resigned() -> int:
            await self._sure()
            return await forgetting.resign(tenant, ids, kid, self._tools)

        done = await self._alone(resigned)
        for id_ in ids:
            self._changes.note(tenant, id_)
        return done

    async def _reseal(self, tenant: str, kid: str) -> int:
        self._tools.keys.knowing(kid)
        if self._transcripts is None:
            return 0
        transcripts, done = self._transcripts, 0
        for name in await transcripts.names(tenant):  # one at a time: what is forgotten meanwhile stays forgotten
            done += await self._alone(lambda name=name: transcripts.reseal(name, tenant))  # type: ignore[misc]
        cold, snapshots = self._tools.cold, self.snapshots
        if cold is not None and self._tools.ledger.head.archived(tenant):
            done += await self._alone(lambda: cold.resign(tenant))
        if snapshots is not None:
            done += await snapshots.reseal(tenant)
        return done

    async def _alone(self, work: Callable[[], Awaitable[_Result]]) -> _Result:
        """Run under the lock, to the end even if the caller gives up."""

        async def run() -> _Result:
            async with self._lock:
                return await work()

        return await asyncio.shield(asyncio.ensure_future(run()))


def _reopen(items: Sequence[Item]) -> None:
    """Forget verdicts that only hold at the moment they were made."""
    for item in items:
        if not item.final:
            item.receipt = None
        item.supersedes, item.related, item.contradicts, item.ended_by = [], [], False, None
        item.reasons = [r for r in item.reasons if r.startswith(("secret:", "gate:"))]


def _fail(future: asyncio.Future[None], error: Exception) -> None:
    future.set_exception(error)
    future.exception()  # its waiter may be gone; that is no reason for a warning
