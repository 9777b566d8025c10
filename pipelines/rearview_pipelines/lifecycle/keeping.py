"""The handlers of snapshot and restore jobs."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from rearview_pipelines.ledger.ledger import LedgerReader
from rearview_pipelines.lifecycle.jobs import Job, Progress
from rearview_pipelines.lifecycle.snapshots import KEPT, PART_ROWS, Snapshots
from rearview_pipelines.lifecycle.sweep import WholeIndex
from rearview_pipelines.memory import Memory, State
from rearview_pipelines.ports import Clock, MemoryIndex, Where
from rearview_pipelines.stores.cold import ColdStore
from rearview_pipelines.stores.packing import Row
from rearview_pipelines.write.keys import Keys


class Restorer(Protocol):
    """The writer, as far as it puts memories back."""

    async def restore(self, tenant: str, rows: Sequence[Row]) -> dict[str, int]: ...

    async def bury(self, tenant: str, ids: Sequence[str]) -> int:
        """Record as forgotten what the ledger does not know; answers how many."""
        ...


@dataclass(frozen=True)
class TakeSnapshot:
    """A snapshot that a kill interrupted is begun anew; what it left is removed with the next pruning."""

    hot: WholeIndex
    cold: ColdStore
    reader: LedgerReader
    snapshots: Snapshots
    clock: Clock
    kept: int = KEPT

    async def __call__(self, job: Job, progress: Progress) -> None:
        tenant = job.tenant
        await self.reader.followed()
        head = self.reader.head
        manifest = self.snapshots.begin(self.clock.now(), head.seq)
        manifest.forgotten = sorted(id_ for id_, held in head.of_tenant(tenant) if held.state is State.FORGOTTEN)
        total = head.count(tenant)
        await progress.at(0, total, snapshot=manifest.name)
        ids = await self.hot.ids(tenant)
        for start in range(0, len(ids), PART_ROWS):
            rows = await self.hot.whole(tenant, ids[start : start + PART_ROWS], tokens=True)
            live = [row for row in rows if self._counts(tenant, row[0])]
            if live:
                await self.snapshots.add(tenant, manifest, live)
            await progress.at(manifest.count, total)
        cold = await self.cold.matching(tenant, Where())
        for start in range(0, len(cold), PART_ROWS):
            found = await self.cold.get(tenant, cold[start : start + PART_ROWS])
            if found:
                await self.snapshots.add(tenant, manifest, list(found.values()))
            await progress.at(manifest.count, total)
        await self.snapshots.end(tenant, manifest)
        await self.reader.followed()
        gone = [id_ for id_ in (*ids, *cold) if self._is_gone(tenant, id_) and id_ not in manifest.forgotten]
        if gone:  # forgotten while it was written
            await self.snapshots.forget(tenant, gone)
        removed = await self.snapshots.prune(tenant, self.kept)
        await progress.at(manifest.count, manifest.count, memories=manifest.count, older_removed=removed)

    def _is_gone(self, tenant: str, id_: str) -> bool:
        held = self.reader.head.get(tenant, id_)
        return held is not None and held.state is State.FORGOTTEN

    def _counts(self, tenant: str, memory: Memory) -> bool:
        """Whether a hot row is one to keep: no tombstone, and not left over of what went cold."""
        held = self.reader.head.get(tenant, memory.id)
        return memory.state is not State.FORGOTTEN and held is not None and not held.cold


class Signer(Protocol):
    """The writer, as far as it signs anew."""

    async def resign(self, tenant: str, ids: Sequence[str], kid: str) -> int: ...


@dataclass(frozen=True)
class Resign:
    """Everything of a tenant signed and sealed with the active key: hot and cold, transcripts, snapshots."""

    signer: Signer
    index: MemoryIndex
    keys: Keys

    async def __call__(self, job: Job, progress: Progress) -> None:
        active = self.keys.ring.active
        done = await self.signer.resign(job.tenant, [], active)
        ids = await self.index.ids(job.tenant)
        for start in range(0, len(ids), PART_ROWS):
            chunk = ids[start : start + PART_ROWS]
            done += await self.signer.resign(job.tenant, chunk, active)
            await progress.at(start + len(chunk), len(ids), signed=done)
        await progress.at(len(ids), len(ids), signed=done)


@dataclass(frozen=True)
class RestoreSnapshot:
    """Puts back what is missing; checks every part before the first memory is touched. Harmless when repeated."""

    owner: Restorer
    snapshots: Snapshots

    async def __call__(self, job: Job, progress: Progress) -> None:
        tenant = job.tenant
        manifest = await self.snapshots.read(tenant, str(job.parameters.get("snapshot") or "latest"))
        await self.snapshots.check(tenant, manifest)
        counts: Counter[str] = Counter()
        done = 0
        await progress.at(0, manifest.count, snapshot=manifest.name)
        buried = await self.owner.bury(tenant, manifest.forgotten)
        for part in manifest.parts:
            rows = await self.snapshots.rows(tenant, manifest, part)
            counts.update(await self.owner.restore(tenant, rows))
            done += len(rows)
            await progress.at(done, manifest.count, **counts)
        await progress.at(done, manifest.count, tombstones=buried, **counts)
