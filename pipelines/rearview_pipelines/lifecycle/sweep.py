"""The nightly sweep of a tenant: what is over is forgotten, what faded goes cold, what is old leaves the store."""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Protocol

from rearview_pipelines.errors import Conflict
from rearview_pipelines.ledger.ledger import LedgerReader
from rearview_pipelines.lifecycle.consolidate import clusters
from rearview_pipelines.lifecycle.decide import DAY, NEVER, Fate, fate, over_capacity
from rearview_pipelines.lifecycle.jobs import Job, Jobs, Progress
from rearview_pipelines.lifecycle.notes import Notes
from rearview_pipelines.lifecycle.policy import Lifecycle
from rearview_pipelines.lifecycle.snapshots import Snapshots
from rearview_pipelines.memory import Memory, State
from rearview_pipelines.ports import Clock, MemoryIndex, ObjectStore, Part, Where
from rearview_pipelines.stores.cold import ColdStore
from rearview_pipelines.write.usage import Use

log = logging.getLogger(__name__)
PAGE = 500
BATCH = 200
"""Memories moved at a time: writes get their turn in between."""
LONG = timedelta(days=35)
"""Since the last sweep: more, and a clock may have jumped, so that one sweep only looks."""
LEAST_LIVE = 0.5
"""Share of a cold segment that counts; with less it is written anew."""


class Owner(Protocol):
    """The writer, as far as it moves memories."""

    async def archive(self, tenant: str, ids: Sequence[str]) -> list[str]: ...

    async def expire(self, tenant: str, versions: Mapping[str, int]) -> list[str]: ...

    async def merge(self, tenant: str, keep: str, others: Sequence[str]) -> int: ...

    async def tidy(self, tenant: str, least: float) -> int: ...

    async def uses(self, tenant: str) -> Mapping[str, Use]: ...


class Aging(Protocol):
    """What holds sessions: transcripts, working memory."""

    async def expire(self, tenant: str, now: datetime) -> int: ...


class WholeIndex(MemoryIndex, Protocol):
    """An index that says all there is of a memory."""

    async def whole(
        self, tenant: str, ids: Sequence[str], *, tokens: bool = False
    ) -> list[tuple[Memory, tuple[Part, ...]]]: ...


@dataclass(frozen=True)
class Sweep:
    """The handler of sweep jobs. `hot`: the hot index alone. `aging`: by name, what else has a time to live."""

    owner: Owner
    hot: WholeIndex
    cold: ColdStore
    reader: LedgerReader
    snapshots: Snapshots
    jobs: Jobs
    objects: ObjectStore
    clock: Clock
    policy: Lifecycle
    aging: Mapping[str, Aging]

    async def __call__(self, job: Job, progress: Progress) -> None:
        tenant, now = job.tenant, self.clock.now()
        await self.reader.followed()
        await self._require_time(tenant, now, bool(job.parameters.get("force")))
        held = await self._all(tenant, progress)
        versions = {m.id: m.version for m, u in held if fate(m, u, self.policy, now) is Fate.EXPIRE}
        versions |= await self._cold_expired(tenant, now)
        expired = list(versions)
        archived = [m.id for m, u in held if fate(m, u, self.policy, now) is Fate.ARCHIVE]
        gone = {*expired, *archived}
        archived += self._crowded([(m, u) for m, u in held if m.id not in gone], now)
        total = len(held) + len(expired) + len(archived)
        done = len(held)
        counts = {"looked_at": len(held), "expired": 0, "archived": 0}
        for name, ids in (("expired", expired), ("archived", archived)):
            for start in range(0, len(ids), BATCH):
                chunk = ids[start : start + BATCH]
                if name == "expired":
                    counts[name] += len(await self.owner.expire(tenant, {id_: versions[id_] for id_ in chunk}))
                else:
                    counts[name] += len(await self.owner.archive(tenant, chunk))
                done += len(chunk)
                await progress.at(done, total, **counts)
        counts["merged"] = await self._merge(tenant, now)
        counts["cold_copies_dropped"] = await self.owner.tidy(tenant, LEAST_LIVE)
        for name, aging in self.aging.items():
            counts[name] = await aging.expire(tenant, now)
        counts["snapshots_removed"] = await self.snapshots.prune(tenant, self.policy.snapshots)
        counts["jobs_removed"] = await self.jobs.prune(tenant)
        await self._notes.add(tenant, {"swept": now.isoformat()})
        await progress.at(total, total, **counts)

    async def _all(self, tenant: str, progress: Progress) -> list[tuple[Memory, Use]]:
        uses = await self.owner.uses(tenant)
        held: list[tuple[Memory, Use]] = []
        ids = await self.hot.ids(tenant)
        for start in range(0, len(ids), PAGE):
            found = await self.hot.get(tenant, ids[start : start + PAGE])
            held += [(m, uses.get(m.id, NEVER)) for m in found.values() if m.state is not State.FORGOTTEN]
            await progress.at(len(held), len(ids))
        return held

    async def _cold_expired(self, tenant: str, now: datetime) -> dict[str, int]:
        """Version of each cold memory whose time is over."""
        over: dict[str, int] = {}
        if not self.reader.head.cold(tenant):
            return over
        ids = await self.cold.matching(tenant, Where())
        for start in range(0, len(ids), PAGE):
            rows = await self.cold.get(tenant, ids[start : start + PAGE])
            for id_, (memory, _) in rows.items():
                if fate(memory, NEVER, self.policy, now) is Fate.EXPIRE:
                    over[id_] = memory.version
        return over

    def _crowded(self, held: Sequence[tuple[Memory, Use]], now: datetime) -> list[str]:
        """What has no place: in the store, in the tenant, of its user."""
        moved = dict.fromkeys(over_capacity(held, self.policy, now, self.policy.capacity))
        left = [(m, u) for m, u in held if m.id not in moved]
        moved |= dict.fromkeys(over_capacity(left, self.policy, now, self.policy.capacity_tenant))
        for user in sorted({m.user for m, _ in left}):
            of_user = [(m, u) for m, u in left if m.user == user and m.id not in moved]
            moved |= dict.fromkeys(over_capacity(of_user, self.policy, now, self.policy.capacity_user))
        return list(moved)

    async def _merge(self, tenant: str, now: datetime) -> int:
        """Weekly: near-duplicates become one."""
        noted = await self._notes.of(tenant)
        last = noted.get("merged")
        if not self.policy.merge_days or (last and now - datetime.fromisoformat(last) < self.policy.merge_days * DAY):
            return 0
        rows: list[tuple[Memory, tuple[Part, ...]]] = []
        ids = await self.hot.ids(tenant)
        for start in range(0, len(ids), PAGE):
            rows += await self.hot.whole(tenant, ids[start : start + PAGE])
        merged = 0
        for keep, others in clusters(rows):
            merged += await self.owner.merge(tenant, keep, others)
        await self._notes.add(tenant, {"merged": now.isoformat()})
        return merged

    async def _require_time(self, tenant: str, now: datetime, force: bool) -> None:
        """Raises Conflict if the clock is not to be trusted: what time decides cannot be taken back."""
        last = (await self._notes.of(tenant)).get("swept")
        if last is None:
            return
        before = datetime.fromisoformat(last)
        if now < before:
            raise Conflict(f"the clock is behind the last sweep ({last}): set it right")
        if now - before > LONG and not force:
            await self._notes.add(tenant, {"swept": now.isoformat()})
            raise Conflict(
                f"the last sweep was {(now - before) / DAY:.0f} days ago: if the clock is right, sweep once more"
            )

    @property
    def _notes(self) -> Notes:
        return Notes(self.objects, "sweeps")
