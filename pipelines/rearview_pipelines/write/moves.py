"""What jobs ask of the writer: memories between tiers, merged, expired, put back; the index written anew."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Protocol, TypeVar

from rearview_pipelines.errors import Conflict, Unavailable
from rearview_pipelines.ledger.events import Op
from rearview_pipelines.memory import Memory, State
from rearview_pipelines.models.following import follow_model
from rearview_pipelines.ports import Embedder
from rearview_pipelines.reflect.lessons import Reinforcement
from rearview_pipelines.stores.packing import Row
from rearview_pipelines.stores.rewriting import Rewriter
from rearview_pipelines.write import forgetting, merging, moving
from rearview_pipelines.write.commit import store
from rearview_pipelines.write.item import Tools
from rearview_pipelines.write.known import is_sound
from rearview_pipelines.write.rendition import Second
from rearview_pipelines.write.usage import Use

COPY = 250
"""Memories copied at a time into a fresh collection; writes get their turn in between."""
_Result = TypeVar("_Result")


class Reports(Protocol):
    """Who is told how far it is."""

    async def at(self, done: int, total: int | None = None, **detail: Any) -> None: ...


class Moves:
    """Part of the writer: everything here runs under its lock, a batch at a time."""

    _tools: Tools
    _unsure: bool
    rewriter: Rewriter | None = None

    async def _alone(self, work: Callable[[], Awaitable[_Result]]) -> _Result:
        raise NotImplementedError

    async def _sure(self) -> None:
        raise NotImplementedError

    async def _moved(self, work: Callable[[], Awaitable[_Result]]) -> _Result:
        async def run() -> _Result:
            await self._sure()
            try:
                return await work()
            except Exception:
                self._unsure = True
                raise

        return await self._alone(run)

    async def archive(self, tenant: str, ids: Sequence[str]) -> list[str]:
        """Move memories to the cold tier; answers which were."""
        return await self._moved(lambda: moving.archive(tenant, ids, self._tools))

    async def thaw(self, tenant: str, ids: Sequence[str]) -> list[str]:
        """Bring cold memories back; answers which were."""
        return await self._moved(lambda: moving.thaw(tenant, ids, self._tools))

    async def restore(self, tenant: str, rows: Sequence[Row]) -> dict[str, int]:
        """Put memories of a snapshot back; answers how many, by what was done with them."""
        return await self._moved(lambda: moving.restore(tenant, rows, self._tools))

    async def bury(self, tenant: str, ids: Sequence[str]) -> int:
        """Record as forgotten what the ledger does not know; answers how many."""
        return await self._moved(lambda: moving.bury(tenant, ids, self._tools))

    async def expire(self, tenant: str, versions: Mapping[str, int]) -> list[str]:
        """Forget memories whose time is over, unless they changed since; answers which were."""

        async def expired() -> list[str]:
            found = await self._tools.index.get(tenant, list(versions))
            over = [m for m in found.values() if m.state is not State.FORGOTTEN and m.version == versions[m.id]]
            if over:
                await self._note_purge(tenant, [memory.id for memory in over])
                await forgetting.forget(over, self._tools)
                await self._start_purge(tenant)
            return [memory.id for memory in over]

        return await self._moved(expired)

    async def _start_purge(self, tenant: str) -> str | None:
        raise NotImplementedError

    async def _note_purge(self, tenant: str, ids: Sequence[str]) -> None:
        raise NotImplementedError

    async def merge(self, tenant: str, keep: str, others: Sequence[str]) -> int:
        """Let `keep` stand for `others` too, which become history; answers how many did."""

        async def merged() -> int:
            work = await merging.merged(tenant, keep, others, self._tools)
            if work is None:
                return 0
            await store(work, self._tools)
            return sum(change.op is Op.SUPERSEDE for change in work.others.values())

        return await self._moved(merged)

    async def reinforce(self, tenant: str, again: Sequence[Reinforcement]) -> int:
        """Lessons that were found again rest on more, and are as sure as that makes them; answers how many changed."""

        async def reinforced() -> int:
            work = await merging.reinforced(tenant, again, self._tools)
            if work.others:
                await store(work, self._tools)
            return len(work.others)

        return await self._moved(reinforced)

    async def tidy(self, tenant: str, least: float) -> int:
        """Write cold segments anew of which a share under `least` counts; answers how many copies were dropped."""
        if self._tools.cold is None:
            return 0
        return (await self._tools.cold.rewrite(tenant, least=least)).dropped

    async def uses(self, tenant: str) -> Mapping[str, Use]:
        """By memory, how it was used."""
        return await self._tools.usage.of(tenant)

    async def _switched(self) -> str:
        assert self.rewriter is not None
        old = await self.rewriter.switch()
        self._tools.changes.generation = self.rewriter.generation
        return old

    async def begin_beside(self, embedder: Embedder, name: str | None) -> str:
        """From now on everything is written for another model too, in a collection beside; answers its name."""
        rewriter = self._owned()

        async def begun() -> str:
            made = await rewriter.beside(embedder.name, embedder.dimension, name)
            self._tools.beside.second = Second(embedder, rewriter.index)
            return made

        return await self._moved(begun)

    async def end_beside(self) -> None:
        """Nothing is written beside any more; what was, is dropped."""

        async def ended() -> None:
            self._tools.beside.second = None
            await self._owned().abandon()

        await self._moved(ended)

    async def render(self, tenant: str, ids: Sequence[str]) -> int:
        """Make what is recorded of these memories anew for the other model; answers how many were.

        Embedded without the lock: what changed meanwhile was written beside by whoever changed it.
        """
        second, rewriter = self._tools.beside.second, self._owned()
        assert second is not None
        held = [row for row in await rewriter.whole(tenant, ids) if self._is_recorded(row[0])]
        rows, vouching = await second.rendered(held, self._tools.keys.ring)

        async def copied() -> int:
            now = {memory.id: memory for memory, _ in await rewriter.whole(tenant, ids)}
            kept = [row for row in rows if now.get(row[0].id) and now[row[0].id].version == row[0].version]
            wanted = {memory.id for memory, _ in kept}
            await second.index.copy(kept)
            events = [event for event in vouching if event.id in wanted]
            if events:
                await self._tools.ledger.append(events)
            second.missed -= {(tenant, id_) for id_ in wanted}
            return len(kept)

        return await self._moved(copied)

    def _is_recorded(self, memory: Memory) -> bool:
        return memory.state is State.FORGOTTEN or is_sound(memory, self._tools)

    async def take_place(self, name: str, kept: Embedder | None) -> str:
        """Let the collection beside be the store from now on; answers the old one's name.

        `kept`: the model of the old one, which then is kept in step, so that it may be taken back. Raises
        Unavailable, and changes nothing, if something was written in one of them only.
        """
        rewriter = self._owned()

        async def taken() -> str:
            second, head = self._tools.beside.second, self._tools.ledger.head
            if second is not None:  # what was taken back, or went cold since, is not missed
                known = {key: head.get(*key) for key in second.missed}
                second.missed = {k for k, held in known.items() if held is not None and not held.cold}
            if second is None or second.missed or not rewriter.index.mirrors:
                raise Unavailable("something was not written for both models: it is done again")
            old = await rewriter.take_place(name)
            await follow_model(self._tools.embedder, rewriter.index.model)
            self._tools.changes.generation = rewriter.generation
            self._tools.beside.second = None
            if kept is not None:
                await rewriter.index.mirror(old, kept.dimension)
                self._tools.beside.second = Second(kept, rewriter.index)
            return old

        return await self._moved(taken)

    def _owned(self) -> Rewriter:
        if self.rewriter is None:
            raise Conflict("this process does not own the index")
        return self.rewriter

    async def rewrite_index(self, progress: Reports) -> dict[str, Any]:
        """Copy what is live to a fresh collection and drop the old one, with the bytes of all that was deleted.

        Writes and recalls go on meanwhile. Raises Conflict where there is nothing to rewrite it with.
        """
        rewriter = self._owned()
        if self._tools.beside.second is not None:
            raise Unavailable("the store is moving to another model: its old rows go when that is over")
        await self._moved(rewriter.begin)
        copied = 0
        try:
            tenants = self._tools.ledger.head.tenants()
            of = {tenant: await rewriter.ids(tenant) for tenant in tenants}
            total = sum(len(ids) for ids in of.values())
            for tenant, ids in of.items():
                for start in range(0, len(ids), COPY):
                    chunk = ids[start : start + COPY]
                    copied += await self._alone(lambda t=tenant, c=chunk: rewriter.copy(t, c))  # type: ignore[misc]
                    await progress.at(copied, total)
            old = await self._alone(self._switched)
        except Unavailable:
            await rewriter.abandon()
            raise
        await rewriter.drop(old)
        return {"rows_copied": copied, "dropped": old}
