"""The bytes of what was forgotten: everything of ours that held them is written anew without them.

Forgetting notes which ids are to go before it answers; a purge takes all notes at once, so that many forgets make one
rewrite. What is noted while it runs is taken by the next round: it may have been copied before.
"""

import json
import logging
import secrets
from collections.abc import Awaitable, Callable, Collection, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Protocol

from rearview_pipelines.ledger.head import Head
from rearview_pipelines.ledger.ledger import LedgerReader
from rearview_pipelines.lifecycle.jobs import OPEN, Job, Jobs, Progress
from rearview_pipelines.lifecycle.snapshots import Snapshots
from rearview_pipelines.memory import State
from rearview_pipelines.ports import ObjectStore
from rearview_pipelines.stores.cold import ColdStore
from rearview_pipelines.stores.packing import tenant_hash

log = logging.getLogger(__name__)
_PREFIX = "purge/"


class IndexOwner(Protocol):
    """The writer, as far as it can write the index anew."""

    async def rewrite_index(self, progress: Progress) -> dict[str, Any]: ...


class PurgeNotes:
    """Which ids have still to go. Raises Unavailable."""

    def __init__(self, objects: ObjectStore) -> None:
        self._objects = objects

    async def add(self, tenant: str, ids: Collection[str]) -> None:
        key = f"{_PREFIX}{tenant_hash(tenant)}/{secrets.token_hex(8)}.json"
        await self._objects.put(key, json.dumps({"tenant": tenant, "ids": sorted(ids)}).encode())

    async def all_of(self, tenant: str) -> dict[str, list[str]]:
        """By key of the note."""
        found = {}
        for key in await self._objects.keys(f"{_PREFIX}{tenant_hash(tenant)}/"):
            raw = await self._objects.get(key)
            if raw is not None:
                found[key] = [str(id_) for id_ in json.loads(raw)["ids"]]
        return found

    async def left(self, head: Head) -> list[str]:
        """Tenants of whom something has still to go. Called at the start: what was noted and then not forgotten stays,
        and its note goes.
        """
        found = set()
        for key in await self._objects.keys(_PREFIX):
            noted = json.loads(await self._objects.get(key) or b"{}")
            gone = forgotten_of(head, noted["tenant"], noted["ids"]) if noted else []
            if gone:
                found.add(str(noted["tenant"]))
                await self._objects.put(key, json.dumps({"tenant": noted["tenant"], "ids": gone}).encode())
            else:
                await self._objects.delete(key)
        return sorted(found)

    async def done(self, tenant: str, taken: Mapping[str, Collection[str]]) -> None:
        """Take ids off their notes; a note with none left is gone."""
        for key, ids in taken.items():
            raw = await self._objects.get(key)
            left = sorted(set(json.loads(raw)["ids"]) - set(ids)) if raw else []
            if left:
                await self._objects.put(key, json.dumps({"tenant": tenant, "ids": left}).encode())
            else:
                await self._objects.delete(key)


@dataclass(frozen=True)
class Reindex:
    """The handler of reindex jobs: the collection written anew from what it holds and the ledger knows."""

    owner: IndexOwner

    async def __call__(self, job: Job, progress: Progress) -> None:
        job.detail |= await self.owner.rewrite_index(progress)


def forgotten_of(head: Head, tenant: str, ids: Collection[str]) -> list[str]:
    """Those of these that are forgotten: others are being forgotten, or were written anew since."""
    held = {id_: head.get(tenant, id_) for id_ in ids}
    return [id_ for id_, recorded in held.items() if recorded is not None and recorded.state is State.FORGOTTEN]


@dataclass(frozen=True)
class Purge:
    """The handler of purge jobs."""

    notes: PurgeNotes
    owner: IndexOwner
    cold: ColdStore
    snapshots: Snapshots
    reader: LedgerReader
    jobs: Jobs
    finish: Callable[[Progress], Awaitable[None]] | None = None

    async def __call__(self, job: Job, progress: Progress) -> None:
        until: datetime | None = None
        ids: set[str] = set()
        if self.finish is not None and await self._ready(job.tenant):
            await self.finish(progress)  # the collection that a migration keeps for the way back holds the bytes too
        while noted := await self._ready(job.tenant):
            gone = {id_ for of in noted.values() for id_ in of}
            index = await self.owner.rewrite_index(progress)
            cold = await self.cold.rewrite(job.tenant, ids=gone)
            under_way = any(j.kind == "snapshot" and j.status in OPEN for j in await self.jobs.listed(job.tenant))
            locked = await self.snapshots.forget(job.tenant, gone, under_way=under_way)
            until = max(filter(None, (until, cold.kept_until, locked)), default=None)
            ids |= gone
            job.detail |= {"index": index, "cold_copies": cold.dropped}
            await self.notes.done(job.tenant, noted)
        job.detail |= {"ids": len(ids), "left": await self._left(job.tenant, ids)}
        if until is not None:
            job.detail["kept_until"] = {"objects": until.isoformat()}

    async def _ready(self, tenant: str) -> dict[str, list[str]]:
        """Notes of what is forgotten by now; one that is being forgotten has a purge of its own."""
        noted = await self.notes.all_of(tenant)
        await self.reader.followed()
        ready = {key: forgotten_of(self.reader.head, tenant, ids) for key, ids in noted.items()}
        return {key: ids for key, ids in ready.items() if ids}

    async def _left(self, tenant: str, ids: Collection[str]) -> dict[str, int]:
        """What a last look finds: copies in the cold tier, parts of snapshots. The index holds tombstones only."""
        held = await self.snapshots.holding(tenant, ids) if ids else {}
        return {
            "cold": await self.cold.holding(tenant, ids),
            "snapshots": sum(len(parts) for parts in held.values()),
        }
