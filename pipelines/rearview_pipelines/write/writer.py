"""The one writer of a store: runs the stages, edits and forgets, one change at a time.

Concurrent writes are joined: whoever holds the lock commits what all the others have waiting, in
one upsert. That also is why fifty writers of one text make one memory.
"""

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

from rearview_pipelines.errors import Conflict, Forbidden, NotFound
from rearview_pipelines.memory import Memory, State
from rearview_pipelines.ports import Changes
from rearview_pipelines.principal import Principal
from rearview_pipelines.receipts import Receipt
from rearview_pipelines.requests import MAX_BATCH
from rearview_pipelines.write.changes import ChangeNotes
from rearview_pipelines.write.edits import merged
from rearview_pipelines.write.idempotency import Answers
from rearview_pipelines.write.identity import is_memory_id
from rearview_pipelines.write.signing import sign, verify
from rearview_pipelines.write.stages import (
    Item,
    Stage,
    Tools,
    admit,
    context_of,
    draft_of,
    embed,
    identify,
    known,
    sign_records,
    sound_parts,
    store,
)

PREPARE: tuple[Stage, ...] = (identify, known, embed)
"""Run side by side. `known` is here to spare the model what is stored already."""
COMMIT: tuple[Stage, ...] = (known, embed, sign_records, store)
"""Run under the lock. `known` decides; `embed` has work only if a memory vanished in between."""


class Writer:
    def __init__(self, tools: Tools) -> None:
        self._tools = tools
        self._lock = asyncio.Lock()
        self._waiting: list[tuple[list[Item], asyncio.Future[None]]] = []
        self._answers = Answers()
        self._changes = ChangeNotes()

    async def write(self, principal: Principal, items: list[Item], idempotency_key: str | None = None) -> list[Receipt]:
        """Store admitted items; answers their receipts in order once they are stored.

        Raises Unavailable if they could not be; then nothing was acknowledged and a retry is
        harmless. A repeated `idempotency_key` answers what the first request got.
        """
        if idempotency_key is None:
            return await self._write(items)
        drafts = [item.draft.model_dump_json() for item in items]
        return await self._answers.once(principal, idempotency_key, drafts, lambda: self._write(items))

    async def _write(self, items: list[Item]) -> list[Receipt]:
        await self._run(PREPARE, items)
        for item in items:
            item.receipt = None
        done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append((items, done))
        # Shielded: if this caller gives up, others' items may be in the same commit.
        await asyncio.shield(asyncio.ensure_future(self._commit(done)))
        return [item.receipt for item in items if item.receipt is not None]

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
            await self._run(COMMIT, [item for items, _ in taken for item in items])
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
            for item in items:
                item.receipt = None
            try:
                await self._run(COMMIT, items)
            except Exception as error:
                _fail(future, error)
            else:
                future.set_result(None)

    async def _run(self, stages: Sequence[Stage], items: list[Item]) -> None:
        try:
            for stage in stages:
                await stage(items, self._tools)
        finally:
            # Noted even if it failed: what a failure left behind is for readers to look up.
            for item in items if stages[-1] is store else ():
                self._changes.note(item.tenant, item.id)
                if item.supersedes is not None:
                    self._changes.note(item.tenant, item.supersedes.id)

    async def changes(self, tenant: str, epoch: str, since: int) -> Changes:
        """What was changed of a tenant's memories since a reader looked."""
        return self._changes.since(tenant, epoch, since)

    async def ping(self) -> None:
        """Raises Unavailable unless the index answers."""
        await self._tools.index.ping()

    async def patch(self, principal: Principal, id_: str, changes: Mapping[str, Any], if_match: int | None) -> Receipt:
        """Change a memory. One whose identity changes (its text) is superseded by a new one.

        Raises NotFound, Forbidden, Conflict (another version than `if_match`), InvalidInput.
        """
        principal.require_writer()
        async with self._lock:
            [old] = await self._own(principal, [id_])
            if not verify(old, self._tools.ring):
                raise Conflict("this memory's signature does not hold: it can be forgotten, not changed")
            if old.state is State.SUPERSEDED:
                raise Conflict(f"this memory was superseded by {old.superseded_by}; change that one")
            if if_match is not None and if_match != old.version:
                raise Conflict(f"the memory is at version {old.version}, not {if_match}; read it again")
            draft = merged(old, changes)
            [item] = admit(principal, [draft])
            item.agent, item.trust = item.agent or old.agent, old.trust
            await identify([item], self._tools)
            if item.id == old.id:
                item.previous = old
                if context_of(draft) == context_of(draft_of(old)) and draft.text == old.text:
                    item.parts = await sound_parts(old, self._tools)
                await self._run((embed, sign_records, store), [item])
            else:
                item.supersedes = old
                await self._run(COMMIT, [item])
            assert item.receipt is not None
            return item.receipt

    async def forget(self, principal: Principal, ids: Sequence[str]) -> list[str]:
        """Replace memories by empty, signed tombstones; answers their ids.

        Raises NotFound if one is unknown, before any is touched. One whose forgetting failed half-way
        is finished.
        """
        principal.require_writer()
        async with self._lock:
            memories = await self._own(principal, list(dict.fromkeys(ids)), unfinished=True)
            now = self._tools.clock.now()
            tombstones = [
                Memory(
                    id=m.id,
                    version=m.version + 1,
                    tenant=m.tenant,
                    agent=m.agent,
                    user=m.user,
                    visibility=m.visibility,
                    text="",
                    layer=m.layer,
                    state=State.FORGOTTEN,
                    created_at=m.created_at,
                    updated_at=now,
                )
                for m in memories
            ]
            # The record first: from here on nothing of it is served, whatever happens to its parts.
            try:
                await self._tools.index.upsert([(sign(t, self._tools.ring), ()) for t in tombstones])
            finally:
                for tombstone in tombstones:
                    self._changes.note(principal.tenant, tombstone.id)
            for tombstone in tombstones:
                await self._tools.index.drop_parts(principal.tenant, tombstone.id, 1)
            return [t.id for t in tombstones]

    async def _own(self, principal: Principal, ids: Sequence[str], *, unfinished: bool = False) -> list[Memory]:
        """Memories that the principal may change. `unfinished`: tombstones that still have parts, too."""
        found = await self._tools.index.get(principal.tenant, [id_ for id_ in ids if is_memory_id(id_)])
        memories = []
        for id_ in ids:
            memory = found.get(id_)
            if memory is None or not principal.sees(memory):
                raise NotFound()
            if memory.state is State.FORGOTTEN and not (unfinished and await self._has_parts(memory)):
                raise NotFound()
            if not principal.may_change(memory):
                raise Forbidden("this memory belongs to another agent or user; only they or an admin change it")
            memories.append(memory)
        return memories

    async def _has_parts(self, memory: Memory) -> bool:
        parts = await self._tools.index.parts(memory.tenant, [memory.id])
        return any(part.number > 0 for part in parts.get(memory.id, ()))


def _fail(future: asyncio.Future[None], error: Exception) -> None:
    future.set_exception(error)
    future.exception()  # its waiter may be gone; that is no reason for a warning
