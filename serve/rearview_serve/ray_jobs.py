"""Jobs as Ray tasks: each in a process of its own, which asks the Write deployment for every change."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import ray
from ray import serve
from ray.serve.handle import DeploymentHandle

from rearview_pipelines.ledger.ledger import LedgerReader
from rearview_pipelines.lifecycle.jobs import Handler, Job, Jobs, Progress
from rearview_pipelines.service import SystemClock
from rearview_pipelines.stores.hot import HotIndex
from rearview_pipelines.stores.milvus import MilvusIndex
from rearview_serve.adapters import HandleWriter, translated
from rearview_serve.arguments import AppArguments
from rearview_serve.composing import Shop, cold_tier, guards
from rearview_serve.replicas import open_index, quiet

APART = ("sweep", "snapshot", "restore")
"""Kinds that run in a task; the others need what only the writer has."""


@dataclass(frozen=True)
class RayHandler:
    """Runs a job in a task and takes over what became of it. `app`: the Serve application whose writer it asks."""

    arguments: AppArguments
    app: str

    async def __call__(self, job: Job, progress: Progress) -> None:  # noqa: ARG002  the task notes how far it is
        async with translated(f"job {job.kind}"):
            done: Job = await _task.remote(self.arguments, self.app, job)
        job.done, job.total, job.detail = done.done, done.total, done.detail


@dataclass(frozen=True)
class ReflectHandler:
    """Runs a reflection in the Reflect deployment, which wakes for it."""

    handle: DeploymentHandle

    async def __call__(self, job: Job, progress: Progress) -> None:  # noqa: ARG002  the deployment notes how far it is
        async with translated("Reflect"):
            done: Job = await self.handle.reflect.remote(job)
        job.done, job.total, job.detail = done.done, done.total, done.detail


def handlers(arguments: AppArguments, app: str, reflect: DeploymentHandle) -> Mapping[str, Handler]:
    return {**dict.fromkeys(APART, RayHandler(arguments, app)), "reflect": ReflectHandler(reflect)}


# It is tried again by whoever began it, from its record. One call a process: a handle belongs to one event loop.
@ray.remote(num_cpus=0, max_retries=0, max_calls=1)
def _task(arguments: AppArguments, app: str, job: Job) -> Job:
    return asyncio.run(_run(arguments, app, job))


async def _run(arguments: AppArguments, app: str, job: Job) -> Job:
    quiet()
    shop, milvus = await opened_shop(arguments, app)
    try:
        jobs = Jobs(shop.parts.objects, shop.clock)
        await shop.handlers()[job.kind](job, Progress(jobs, job))
    finally:
        await milvus.close()
    return job


async def opened_shop(arguments: AppArguments, app: str) -> tuple[Shop, MilvusIndex]:
    """What jobs work with in a process of their own: the writer behind its handle, the index as it is."""
    clock = SystemClock()
    parts = guards(Path(arguments.data), arguments, arguments.s3, arguments.lifecycle, lazily=True)
    milvus = await open_index(arguments, create=False)
    hot = HotIndex(milvus, None, 0)  # it walks once: holding it would be twice the reading
    reader = LedgerReader(parts.objects, parts.keys, parts.witness)
    writer = HandleWriter(serve.get_deployment_handle("Write", app))
    cold = cold_tier(parts, reader)
    return Shop(writer, hot, cold, reader, parts, clock, arguments.lifecycle, arguments.chat), milvus
