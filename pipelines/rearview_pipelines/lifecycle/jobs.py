"""Long work as jobs: a record in the object store says how far one is, and what a kill leaves is gone on with.

A job belongs to one tenant. Its record holds ids, counts and words of ours, never a text.
"""

import asyncio
import json
import logging
import secrets
import time
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from dataclasses import asdict, dataclass, field
from datetime import timedelta
from enum import StrEnum
from typing import Any

from rearview_pipelines.errors import NotFound, RearviewError
from rearview_pipelines.ports import Clock, ObjectStore
from rearview_pipelines.stores.packing import tenant_hash

log = logging.getLogger(__name__)
SAVE_SECONDS = 0.5
"""Between two notes of how far a job is."""
KEPT = timedelta(days=7)
"""How long the record of a job that ended is kept."""
TRIES = 8
"""Starts in which a job may fail to end; after that it is failed, so that it blocks no other."""
STORE_WIDE = frozenset({"purge", "reindex", "migrate"})
"""Kinds that write the one collection anew: one of them at a time, whoever's it is."""
AGAIN_SECONDS = 1.0
"""Before a job that met something unavailable is tried again; twice as long each time."""
_PREFIX = "jobs/"


class Status(StrEnum):
    QUEUED = "queued"
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"


OPEN = (Status.QUEUED, Status.RUNNING)


@dataclass
class Job:
    """`parameters`: what was asked. `detail`: what was done, by name; `done` of `total`: how far. `tries`: starts."""

    id: str
    kind: str
    tenant: str
    parameters: dict[str, Any] = field(default_factory=dict)
    status: str = Status.QUEUED
    done: int = 0
    total: int = 0
    detail: dict[str, Any] = field(default_factory=dict)
    tries: int = 0
    created_at: str = ""
    updated_at: str = ""

    @property
    def shown(self) -> dict[str, Any]:
        """As callers see it."""
        names = ("id", "kind", "status", "done", "total", "detail", "created_at", "updated_at")
        return {name: getattr(self, name) for name in names}


class Jobs:
    """Records of jobs. Raises Unavailable."""

    def __init__(self, objects: ObjectStore, clock: Clock) -> None:
        self._objects = objects
        self._clock = clock

    async def create(self, tenant: str, kind: str, parameters: Mapping[str, Any]) -> Job:
        job = Job(f"j_{secrets.token_hex(10)}", kind, tenant, dict(parameters), created_at=self._now())
        await self.save(job)
        return job

    async def save(self, job: Job) -> None:
        job.updated_at = self._now()
        await self._objects.put(_key(job.tenant, job.id), json.dumps(asdict(job)).encode())

    async def get(self, tenant: str, id_: str) -> Job:
        """Raises NotFound for one that is unknown, or another tenant's."""
        plain = id_.removeprefix("j_")
        if plain == id_ or len(plain) != 20 or not all(c in "0123456789abcdef" for c in plain):
            raise NotFound("no such job")
        raw = await self._objects.get(_key(tenant, id_))
        if raw is None:
            raise NotFound("no such job")
        return Job(**json.loads(raw))

    async def listed(self, tenant: str | None = None) -> list[Job]:
        """Jobs of a tenant, or of all, oldest first."""
        prefix = _PREFIX if tenant is None else f"{_PREFIX}{tenant_hash(tenant)}/"
        found = []
        for key in await self._objects.keys(prefix):
            raw = await self._objects.get(key)
            if raw is not None:
                found.append(Job(**json.loads(raw)))
        return sorted(found, key=lambda job: (job.created_at, job.id))

    async def prune(self, tenant: str) -> int:
        """Remove records of jobs that ended long ago; answers how many."""
        oldest = (self._clock.now() - KEPT).isoformat()
        over = [j for j in await self.listed(tenant) if j.status not in OPEN and j.updated_at < oldest]
        for job in over:
            await self._objects.delete(_key(job.tenant, job.id))
        return len(over)

    def _now(self) -> str:
        return self._clock.now().isoformat()


class Progress:
    """How far a job is, written down now and then."""

    def __init__(self, jobs: Jobs, job: Job) -> None:
        self._jobs = jobs
        self.job = job
        self._saved = 0.0

    async def at(self, done: int, total: int | None = None, **detail: Any) -> None:
        self.job.done = done
        if total is not None:
            self.job.total = total
        self.job.detail.update(detail)
        if time.monotonic() - self._saved >= SAVE_SECONDS:
            await self.save()

    async def save(self) -> None:
        self._saved = time.monotonic()
        await self._jobs.save(self.job)


Handler = Callable[[Job, Progress], Awaitable[None]]
"""Does the work of a kind; called again with the same job after a kill, so it has to look what is done already."""


class JobRunner:
    """Runs jobs beside the writer, one of a kind and tenant at a time."""

    def __init__(self, jobs: Jobs, handlers: Mapping[str, Handler]) -> None:
        self.jobs = jobs
        self._handlers = handlers
        self._running: dict[str, asyncio.Task[None]] = {}
        self._open: dict[str, Job] = {}
        self._beside: list[asyncio.Task[None]] = []
        self._locks: dict[tuple[str, str], asyncio.Lock] = {}

    @property
    def kinds(self) -> frozenset[str]:
        return frozenset(self._handlers)

    async def start(self, tenant: str, kind: str, parameters: Mapping[str, Any]) -> Job:
        job = await self.jobs.create(tenant, kind, parameters)
        self._begin(job)
        return job

    async def joined(self, tenant: str, kind: str) -> Job:
        """The job of a kind that waits, or a new one: for work that looks what there is to do when it begins.

        One that runs may have looked already.
        """
        for job in self._open.values():
            if (job.tenant, job.kind, job.status) == (tenant, kind, Status.QUEUED):
                return job
        return await self.start(tenant, kind, {})

    async def resume(self) -> int:
        """Go on with what an earlier life of this process left; answers how many."""
        left = [job for job in await self.jobs.listed() if job.status in OPEN and job.id not in self._running]
        for job in left:
            self._begin(job)
        return len(left)

    async def finished(self, id_: str) -> None:
        """Wait until a job that runs here has ended."""
        task = self._running.get(id_)
        if task is not None:
            await asyncio.wait([task])

    def beside(self, work: Coroutine[Any, Any, None]) -> None:
        """Let something run as long as jobs do."""
        self._beside.append(asyncio.ensure_future(work))

    async def close(self) -> None:
        """Stop; what is not done is gone on with in the next life."""
        tasks = [*self._running.values(), *self._beside]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _begin(self, job: Job) -> None:
        task = asyncio.ensure_future(self._run(job))
        self._running[job.id], self._open[job.id] = task, job
        task.add_done_callback(lambda _: self._ended(job.id))

    def _ended(self, id_: str) -> None:
        self._running.pop(id_, None)
        self._open.pop(id_, None)

    async def _run(self, job: Job) -> None:
        whose = ("", "index") if job.kind in STORE_WIDE else (job.tenant, job.kind)
        async with self._locks.setdefault(whose, asyncio.Lock()):
            while job.status in OPEN:
                await self._try(job)

    async def _try(self, job: Job) -> None:
        progress = Progress(self.jobs, job)
        try:
            if job.tries >= TRIES or job.kind not in self._handlers:
                job.status = Status.FAILED
                job.detail["error"] = "it did not end in several tries" if job.tries else "there is no such kind"
                await progress.save()
                return
            job.status, job.tries = Status.RUNNING, job.tries + 1
            await progress.save()
            await self._handlers[job.kind](job, progress)
            job.status = Status.DONE
            job.detail.pop("error", None)
        except RearviewError as error:
            job.detail["error"] = error.detail
            log.warning("job %s (%s) failed: %s", job.id, job.kind, error.detail)
            if error.retryable and job.tries < TRIES:
                await asyncio.sleep(AGAIN_SECONDS * 2**job.tries)
                return
            job.status = Status.FAILED
        except Exception as error:  # a job's own fault: named by its type, it blocks no other
            job.status = Status.FAILED
            job.detail["error"] = type(error).__name__
            log.exception("job %s (%s) failed", job.id, job.kind)
        try:
            await progress.save()
        except RearviewError as error:
            log.warning("how job %s ended was not written: %s", job.id, error.detail)


def _key(tenant: str, id_: str) -> str:
    return f"{_PREFIX}{tenant_hash(tenant)}/{id_}.json"
