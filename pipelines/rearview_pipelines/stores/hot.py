"""The index with its hot tenants in memory. Milvus stays the truth; this is a cache of it.

A scope is read from Milvus once, in the background, and then follows the writer: before each read it
asks what changed since, and reads just that again. So every read sees every acknowledged write, in
every replica. Scopes over the limit, and those still being read, are answered by Milvus itself.
"""

import asyncio
import logging
import time
from collections import Counter, OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from rearview_pipelines.errors import RearviewError
from rearview_pipelines.fields import millis
from rearview_pipelines.memory import Memory, State
from rearview_pipelines.ports import ChangeLog, Changes, Inspected, Match, MemoryIndex, Part, Tokens, Vector, Where
from rearview_pipelines.stores.scope import Scope

log = logging.getLogger(__name__)

AGAIN_SECONDS = 600.0
"""How long a scope that was too large, or could not be read, is left to Milvus."""
FOLLOW_SECONDS = 1.0
"""How long the writer may take to say what changed; a recall does not wait for one that is being restarted."""
ASK_SECONDS = 1.0
"""After which the writer is asked though the ledger stands still: rows are signed anew without an event."""
LOAD_PAGE = 100
"""Memories taken into a scope before other requests get their turn: some 30 ms."""


class LoadableIndex(MemoryIndex, Protocol):
    async def everything(
        self, tenant: str, limit: int, *, tokens: bool = False
    ) -> list[tuple[Memory, tuple[Part, ...]]] | None:
        """All memories of a tenant with their parts; None if there are more than `limit` rows."""
        ...

    async def whole(
        self, tenant: str, ids: Sequence[str], *, tokens: bool = False
    ) -> list[tuple[Memory, tuple[Part, ...]]]:
        """These memories with their parts; what is not there is left out."""
        ...


@dataclass
class _Held:
    """A scope and how far it has followed. `running`, `queued`: calls to follow further.

    `mark`: the state of the ledger that it is known to be in step with, as of `asked`. `left_alone`: until
    when a writer that did not answer is not asked again.
    """

    scope: Scope
    epoch: str
    seq: int
    mark: str | None = None
    asked: float = 0.0
    left_alone: float = 0.0
    running: asyncio.Task[bool] | None = None
    queued: asyncio.Task[bool] | None = None


class HotIndex:
    """`MemoryIndex` over another. `limit`: rows held at most, over all tenants; 0 holds none.

    `changes` of None: this is the writer's own, and what it writes is all that changes. Only the writer,
    which writes parts again, holds their token vectors too.
    """

    def __init__(self, index: LoadableIndex, changes: ChangeLog | None, limit: int) -> None:
        self._index = index
        self._changes = changes
        self._limit = limit
        self._tokens = changes is None
        self._looked: tuple[str | None, float] = (None, 0.0)
        self._held: OrderedDict[str, _Held] = OrderedDict()
        self._loading: dict[str, asyncio.Task[None]] = {}
        self._not_before: dict[str, float] = {}
        self._touched: dict[str, set[str]] = {}
        """What the writer changed of a scope while it is being read."""

    async def _scope(self, tenant: str) -> Scope | None:
        """The tenant's scope in step with the writer, or None where Milvus has to answer."""
        held = self._held.get(tenant)
        if held is None:
            self._load_soon(tenant)
            return None
        self._held.move_to_end(tenant)
        if self._changes is None:
            return held.scope
        if held.queued is None:
            # One call serves all who asked before it began; those who ask later wait for the next.
            held.queued = asyncio.ensure_future(self._follow(tenant, held, held.running))
        return held.scope if await asyncio.shield(held.queued) else None

    async def _follow(self, tenant: str, held: _Held, before: asyncio.Task[bool] | None) -> bool:
        """Bring a scope in step; False if it is not, and Milvus has to answer who must see every write."""
        if before is not None and not before.done():
            await asyncio.wait([before])
        held.running, held.queued = held.queued, None
        assert self._changes is not None
        try:
            async with asyncio.timeout(FOLLOW_SECONDS):
                changed = await self._changes.changes(tenant, held.epoch, held.seq)
            if changed.generation and changed.generation != self._index.generation:
                model = self._index.model
                await self._index.refresh()
                if self._index.model != model:  # else it holds the same rows as the one before
                    await self.refresh()
                    self._load_soon(tenant)
                    return False
            if changed.ids is None:  # another writer, or too long ago
                self._held.pop(tenant, None)
                self._load_soon(tenant)
                return False
            if changed.ids:
                await self._refresh(tenant, held.scope, changed.ids)
                self._evict()
            held.seq = changed.seq
        except (RearviewError, TimeoutError) as error:
            # No writer, no writes: for a recall what is held is right as far as anyone can know, and the next ones do
            # not wait. Who has to see every write asks Milvus.
            held.left_alone = time.monotonic() + ASK_SECONDS
            log.warning("hot scope not refreshed: %s", type(error).__name__)
            return False
        return True

    async def _refresh(self, tenant: str, scope: Scope, ids: Sequence[str]) -> None:
        found = {
            memory.id: (memory, parts) for memory, parts in await self._index.whole(tenant, ids, tokens=self._tokens)
        }
        for id_ in ids:
            if id_ in found:
                scope.put(*found[id_])
            else:
                scope.drop(id_)

    @property
    def model(self) -> str | None:
        return self._index.model

    @property
    def generation(self) -> str:
        return self._index.generation

    @property
    def dimension(self) -> int:
        return self._index.dimension

    async def refresh(self) -> None:
        """Another collection took the place of the one that was read: what is held of it is let go of."""
        await self._index.refresh()
        self._held.clear()
        for task in list(self._loading.values()):
            task.cancel()

    def _load_soon(self, tenant: str) -> None:
        if tenant in self._loading or self._limit == 0 or time.monotonic() < self._not_before.get(tenant, 0):
            return
        task = asyncio.ensure_future(self._load(tenant))
        self._loading[tenant] = task
        task.add_done_callback(lambda _: self._loading.pop(tenant, None))

    async def _load(self, tenant: str) -> None:
        touched = self._touched[tenant] = set()
        try:
            start = await self._changes.changes(tenant, "", 0) if self._changes else Changes("", 0, None)
            if start.generation and start.generation != self._index.generation:
                await self._index.refresh()
            everything = await self._index.everything(tenant, self._limit, tokens=self._tokens)
            if everything is None:
                self._not_before[tenant] = time.monotonic() + AGAIN_SECONDS
                return
            scope = Scope(self._index.dimension)
            for at, (memory, parts) in enumerate(everything):
                scope.put(memory, parts)
                if at % LOAD_PAGE == LOAD_PAGE - 1:
                    await asyncio.sleep(0)  # other requests are waiting for this loop
            while touched:  # what we wrote ourselves meanwhile: read again until nothing is left
                ids = list(touched)
                touched.clear()
                await self._refresh(tenant, scope, ids)
        except RearviewError as error:
            log.warning("hot scope not read: %s", type(error).__name__)
            self._not_before[tenant] = time.monotonic() + 1.0
            return
        finally:
            del self._touched[tenant]
        self._held[tenant] = _Held(scope, start.epoch, start.seq)
        self._evict()

    def _evict(self) -> None:
        """Let scopes go that are over the limit, the one asked longest ago first; the last too, if it grew over it."""
        while sum(len(h.scope) for h in self._held.values()) > self._limit:
            tenant, _ = self._held.popitem(last=False)
            self._not_before[tenant] = time.monotonic() + (AGAIN_SECONDS if not self._held else 0.0)

    def _touch(self, tenant: str, ids: Sequence[str]) -> None:
        if self._changes is None and tenant in self._touched:
            self._touched[tenant].update(ids)

    async def close(self) -> None:
        """Stop reading scopes; the index below is its owner's to close."""
        tasks = list(self._loading.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def follow(self, tenant: str, mark: str | None = None) -> None:
        held, now = self._held.get(tenant), time.monotonic()
        if held is not None:
            unchanged = mark is not None and held.mark == mark and now - held.asked < ASK_SECONDS
            if unchanged or now < held.left_alone:
                self._held.move_to_end(tenant)
                return  # nothing was recorded since, or the writer did not answer a moment ago
        mark_seen, looked = self._looked
        if held is None and self._changes is not None and (mark != mark_seen or now - looked >= ASK_SECONDS):
            self._looked = (mark, now)
            await self._look_up(self._changes, tenant)
        if await self._scope(tenant) is not None and held is not None:
            held.mark, held.asked = mark, now

    async def _look_up(self, changes: ChangeLog, tenant: str) -> None:
        """Hear which collection the writer writes to, where nothing is held that would tell."""
        try:
            async with asyncio.timeout(FOLLOW_SECONDS):
                heard = await changes.changes(tenant, "", 0)
            if heard.generation and heard.generation != self._index.generation:
                await self.refresh()
        except (RearviewError, TimeoutError) as error:
            log.warning("the writer did not say which collection it writes to: %s", type(error).__name__)

    async def _at_hand(self, tenant: str, fresh: bool) -> Scope | None:
        """The scope as the last `follow` left it, or in step with the writer where the caller asks for that."""
        if fresh:
            return await self._scope(tenant)
        held = self._held.get(tenant)
        return held.scope if held else None

    async def upsert(self, rows: Sequence[tuple[Memory, Sequence[Part]]]) -> None:
        try:
            await self._index.upsert(rows)
        except RearviewError:
            self._doubt({memory.tenant for memory, _ in rows})
            raise
        finally:
            for memory, _ in rows:  # a scope that is being read may have been read before this arrived
                self._touch(memory.tenant, [memory.id])
        for memory, parts in rows:
            if self._changes is None and memory.tenant in self._held:
                self._held[memory.tenant].scope.put(memory, parts)
        self._evict()

    async def drop_parts(self, tenant: str, id_: str, keep: int) -> None:
        try:
            await self._index.drop_parts(tenant, id_, keep)
        except RearviewError:
            self._doubt({tenant})  # what is still there has to be found, to be dropped again
            raise
        finally:
            self._touch(tenant, [id_])

    async def remove(self, tenant: str, ids: Sequence[str]) -> None:
        try:
            await self._index.remove(tenant, ids)
        except RearviewError:
            self._doubt({tenant})
            raise
        finally:
            self._touch(tenant, ids)
        if self._changes is None and tenant in self._held:
            for id_ in ids:
                self._held[tenant].scope.drop(id_)

    def _doubt(self, tenants: set[str]) -> None:
        """A write of our own that failed half-way: what is held may be wrong, read it again."""
        if self._changes is None:
            for tenant in tenants:
                self._held.pop(tenant, None)

    async def get(self, tenant: str, ids: Sequence[str], *, fresh: bool = True) -> dict[str, Memory]:
        scope = await self._at_hand(tenant, fresh)
        if scope is None:
            return await self._index.get(tenant, ids, fresh=fresh)
        return {id_: scope.memories[id_] for id_ in ids if id_ in scope.memories}

    async def parts(self, tenant: str, ids: Sequence[str]) -> dict[str, tuple[Part, ...]]:
        scope = await self._scope(tenant) if self._tokens else None
        if scope is None:
            return await self._index.parts(tenant, ids)
        return {id_: scope.parts[id_] for id_ in ids if id_ in scope.parts}

    async def ids(self, tenant: str) -> list[str]:
        """Every memory that a tenant has rows of."""
        scope = await self._scope(tenant)
        return await self._index.ids(tenant) if scope is None else sorted(scope.memories)

    async def whole(
        self, tenant: str, ids: Sequence[str], *, tokens: bool = False
    ) -> list[tuple[Memory, tuple[Part, ...]]]:
        """These memories with their parts; what is not there is left out."""
        scope = await self._scope(tenant) if self._tokens or not tokens else None
        if scope is None:
            return await self._index.whole(tenant, ids, tokens=tokens)
        return [(scope.memories[id_], scope.parts[id_]) for id_ in ids if id_ in scope.memories]

    async def spans(self, tenant: str, found: Sequence[tuple[str, int]]) -> dict[tuple[str, int], Part]:
        held = self._held.get(tenant)
        if held is None:
            return await self._index.spans(tenant, found)
        parts = {(id_, number): held.scope.parts.get(id_, ())[number : number + 1] for id_, number in found}
        return {key: part[0] for key, part in parts.items() if part}

    async def tokens(
        self, tenant: str, late: str, ids: Sequence[str] | None = None, *, most: int | None = None
    ) -> dict[str, Tokens] | None:
        return await self._index.tokens(tenant, late, ids, most=most)

    async def held(self, tenant: str, *, fresh: bool = False) -> Scope | None:
        return await self._at_hand(tenant, fresh)

    async def dense(self, tenant: str, where: Where, vector: Vector, limit: int, *, fresh: bool = False) -> list[Match]:
        scope = await self._at_hand(tenant, fresh)
        if scope is None:
            return await self._index.dense(tenant, where, vector, limit, fresh=fresh)
        return scope.dense(where, vector, limit)

    async def keyword(
        self, tenant: str, where: Where, terms: Sequence[str], limit: int, *, fresh: bool = False
    ) -> list[Match]:
        scope = await self._at_hand(tenant, fresh)
        if scope is None:
            return await self._index.keyword(tenant, where, terms, limit, fresh=fresh)
        return scope.keyword(where, terms, limit)

    async def page(
        self, tenant: str, where: Where, before: tuple[int, str] | None, limit: int
    ) -> list[tuple[int, str]]:
        scope = await self._scope(tenant)
        if scope is None:
            return await self._index.page(tenant, where, before, limit)
        keys = ((millis(m.created_at), m.id) for m in scope.matching(where))
        return sorted((key for key in keys if before is None or key < before), reverse=True)[:limit]

    async def counts(self, tenant: str) -> Mapping[str, int]:
        scope = await self._scope(tenant)
        if scope is None:
            return await self._index.counts(tenant)
        counted = Counter({state.value: 0 for state in State})
        counted.update(memory.state.value for memory in scope.memories.values())
        return counted

    async def inspect(self, tenant: str, ids: Sequence[str] | None = None) -> list[Inspected]:
        return await self._index.inspect(tenant, ids)

    async def ping(self) -> None:
        await self._index.ping()
