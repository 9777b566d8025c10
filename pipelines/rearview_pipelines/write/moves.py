"""What jobs ask of the writer: memories between tiers, merged, expired, put back; the index written anew."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Protocol, TypeVar

from rearview_pipelines.errors import Conflict, Unavailable
from rearview_pipelines.ledger.events import Op
from rearview_pipelines.memory import State
from rearview_pipelines.reflect.lessons import Reinforcement
from rearview_pipelines.stores.packing import Row
from rearview_pipelines.stores.rewriting import Rewriter
from rearview_pipelines.write import forgetting, merging, moving
from rearview_pipelines.write.commit import store
from rearview_pipelines.write.item import Tools
from rearview_pipelines.write.usage import Use

COPY = 100
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

    async def expire(self, tenant: str, ids: Sequence[str]) -> list[str]:
        """Forget memories whose time is over; answers which were. Their bytes go with the next purge."""

        async def expired() -> list[str]:
            found = await self._tools.index.get(tenant, ids)
            over = [memory for memory in found.values() if memory.state is not State.FORGOTTEN]
            if over:
                await forgetting.forget(over, self._tools)
                await self._note_purge(tenant, [memory.id for memory in over])
            return [memory.id for memory in over]

        return await self._moved(expired)

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

    async def rewrite_index(self, progress: Reports) -> dict[str, Any]:
        """Copy what is live to a fresh collection and drop the old one, with the bytes of all that was deleted.

        Writes and recalls go on meanwhile. Raises Conflict where there is nothing to rewrite it with.
        """
        rewriter = self.rewriter
        if rewriter is None:
            raise Conflict("this process does not own the index")
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
            old = await self._alone(rewriter.switch)
        except Unavailable:
            await rewriter.abandon()
            raise
        await rewriter.drop(old)
        return {"rows_copied": copied, "dropped": old}
