"""What happens by the clock: snapshot and sweep at night, reflection when tasks ended or a kind of task has enough.

Every look is harmless when repeated; what was done is noted in the object store: a restart does not do it twice.
"""

import asyncio
import json
import logging
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, time, timedelta
from typing import Any, Protocol
from zoneinfo import ZoneInfo

from rearview_pipelines.errors import RearviewError
from rearview_pipelines.ledger.ledger import LedgerReader
from rearview_pipelines.lifecycle.jobs import OPEN, Job, Jobs
from rearview_pipelines.lifecycle.notes import Notes
from rearview_pipelines.memory import Layer
from rearview_pipelines.ports import Clock, Condition, MemoryIndex, ObjectStore, Where
from rearview_pipelines.reflect.episodes import is_episode
from rearview_pipelines.stores.packing import tenant_hash

log = logging.getLogger(__name__)
LOOK_SECONDS = 20.0
BATCH_TASKS = 10
BATCH_TIME = timedelta(minutes=5)
"""Ended tasks are reflected on when there are so many of them, or the first has waited so long."""
HOUR = timedelta(hours=1)
NEW_EPISODES = 10
"""Of a kind of task in the hours since its last reflection."""
MOST = 5000


@dataclass(frozen=True)
class Timetable:
    """nightly: when snapshot and sweep run, in `zone`; None: not from here. reflect: whether reflections begin here."""

    nightly: time | None = time(3, 30)
    zone: str = "UTC"
    reflect: bool = True


class Starter(Protocol):
    async def start_job(self, tenant: str, kind: str, parameters: Mapping[str, Any]) -> Job: ...


class Ended:
    """Tasks that ended and were not reflected on yet, in the object store: a crash forgets none."""

    def __init__(self, objects: ObjectStore) -> None:
        self._objects = objects

    async def note(self, tenant: str, task_type: str | None, task: str | None, session: str, at: datetime) -> None:
        """The session of a task has ended."""
        what = {"task_type": task_type} if task_type else {"task": task} if task else {"session": session}
        body = {"tenant": tenant, "scope": what, "at": at.isoformat()}
        key = f"ended/{tenant_hash(tenant)}/{tenant_hash(json.dumps([what, session]))}.json"
        await self._objects.put(key, json.dumps(body).encode())

    async def waiting(self) -> dict[str, dict[str, Any]]:
        """By key of the note."""
        found = {}
        for key in await self._objects.keys("ended/"):
            raw = await self._objects.get(key)
            if raw is not None:
                found[key] = json.loads(raw)
        return found

    async def done(self, key: str) -> None:
        await self._objects.delete(key)


@dataclass(frozen=True)
class Schedule:
    """Looks at the clock now and then, and begins what is due."""

    starter: Starter
    jobs: Jobs
    ended: Ended
    objects: ObjectStore
    index: MemoryIndex
    reader: LedgerReader
    clock: Clock
    timetable: Timetable

    async def run(self) -> None:
        while True:
            await asyncio.sleep(LOOK_SECONDS)
            try:
                await self.look()
            except RearviewError as error:
                log.warning("what is due was not looked up: %s", error.detail)

    async def look(self) -> list[Job]:
        """Begin what is due now; answers it."""
        begun: list[Job] = []
        await self.reader.followed()
        if self.timetable.nightly is not None:
            begun += await self._nightly(self.timetable.nightly)
        if self.timetable.reflect:
            begun += await self._tasks()
            begun += await self._hourly()
        return begun

    async def _nightly(self, at: time) -> list[Job]:
        """The day's snapshot, and when it is there the sweep."""
        local = self.clock.now().astimezone(ZoneInfo(self.timetable.zone))
        day = local.date() if local.time() >= at else local.date() - timedelta(days=1)
        begun = []
        for tenant in self.reader.head.tenants():
            noted = await self._notes.of(tenant)
            if "snapshot" not in noted:  # new: the first night comes
                await self._notes.add(tenant, {"snapshot": day.isoformat(), "sweep": day.isoformat()})
                continue
            if noted["snapshot"] < day.isoformat():
                job = await self.starter.start_job(tenant, "snapshot", {})
                await self._notes.add(tenant, {"snapshot": day.isoformat(), "snapshot_job": job.id})
                begun.append(job)
            elif noted["sweep"] < day.isoformat() and await self._is_over(tenant, noted.get("snapshot_job", "")):
                begun.append(await self.starter.start_job(tenant, "sweep", {}))
                await self._notes.add(tenant, {"sweep": day.isoformat()})
        return begun

    async def _is_over(self, tenant: str, id_: str) -> bool:
        return not id_ or (await self.jobs.get(tenant, id_)).status not in OPEN

    async def _tasks(self) -> list[Job]:
        """Reflect on tasks that ended: ten of them, or five minutes."""
        waiting = await self.ended.waiting()
        of: dict[str, dict[str, dict[str, Any]]] = {}
        for key, noted in waiting.items():
            of.setdefault(noted["tenant"], {})[key] = noted
        begun = []
        for tenant, notes in of.items():
            first = min(datetime.fromisoformat(noted["at"]) for noted in notes.values())
            if len(notes) < BATCH_TASKS and self.clock.now() - first < BATCH_TIME:
                continue
            scopes = {json.dumps(noted["scope"], sort_keys=True): noted["scope"] for noted in notes.values()}
            for scope in scopes.values():
                begun.append(await self.starter.start_job(tenant, "reflect", scope))
            for key in notes:
                await self.ended.done(key)
        return begun

    async def _hourly(self) -> list[Job]:
        """Reflect on a kind of task that has ten new episodes."""
        now = self.clock.now()
        begun = []
        for tenant in self.reader.head.tenants():
            noted = await self._notes.of(tenant)
            since = datetime.fromisoformat(noted["counted"]) if "counted" in noted else now - HOUR
            if "counted" in noted and now - since < HOUR:
                continue
            counts = {k: int(n) for k, n in json.loads(noted.get("episodes", "{}")).items()}
            for kind in await self._new(tenant, since):
                counts[kind] = counts.get(kind, 0) + 1
            for kind in [kind for kind, n in counts.items() if n >= NEW_EPISODES]:
                begun.append(await self.starter.start_job(tenant, "reflect", {"task_type": kind}))
                del counts[kind]
            await self._notes.add(tenant, {"counted": now.isoformat(), "episodes": json.dumps(counts)})
        return begun

    async def _new(self, tenant: str, since: datetime) -> list[str]:
        """Kinds of task of the episodes written since then, one each."""
        where = Where(
            (
                Condition("layer", "eq", Layer.EPISODIC.value),
                Condition("created", "gt", int(since.timestamp() * 1000)),
            )
        )
        keys = await self.index.page(tenant, where, None, MOST)
        found = await self.index.get(tenant, [id_ for _, id_ in keys])
        return [memory.task_type for memory in found.values() if memory.task_type and is_episode(memory)]

    @property
    def _notes(self) -> Notes:
        return Notes(self.objects, "schedule")
