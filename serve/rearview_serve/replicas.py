"""What runs inside each deployment: plain classes, testable without a cluster.

Imports stand inside the methods that need them: every deployment is a process of its own, and five
of them importing everything made a start 20 s longer on two cores.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rearview_serve.arguments import AppArguments

if TYPE_CHECKING:
    from fastapi import FastAPI
    from ray.serve.handle import DeploymentHandle

    from rearview_pipelines.lifecycle.jobs import Handler, Job
    from rearview_pipelines.memory import Memory, Outcome
    from rearview_pipelines.models.following import FollowingEmbedder
    from rearview_pipelines.ports import Changes, EmbeddedPart, Embedder, ObjectStore, Passage, Vector
    from rearview_pipelines.principal import Principal
    from rearview_pipelines.recall.boosts import Standing
    from rearview_pipelines.recall.late import LateService
    from rearview_pipelines.receipts import Receipt
    from rearview_pipelines.reflect.lessons import Reinforcement
    from rearview_pipelines.requests import ObserveRequest
    from rearview_pipelines.sessions.state import State
    from rearview_pipelines.sessions.working import Session
    from rearview_pipelines.stores.milvus import MilvusIndex
    from rearview_pipelines.stores.packing import Row
    from rearview_pipelines.write.gone import Forgotten, Scope
    from rearview_pipelines.write.handouts import Handout
    from rearview_pipelines.write.item import Item
    from rearview_pipelines.write.usage import Use
    from rearview_pipelines.write.writer import Writer
    from rearview_serve.embedding import Models

READY_SECONDS = 2.0
"""How long a part may take to say that it is there."""


def quiet() -> None:
    """Replicas log our own words; libraries only what went wrong."""
    for name in ("httpx", "mcp", "httpcore"):
        logging.getLogger(name).setLevel(logging.WARNING)


async def open_index(arguments: AppArguments, *, create: bool) -> MilvusIndex:
    """The index; the writer makes the collection, everyone else waits until it is there.

    Of the model that is configured, or of the one that the store has moved to from there. Raises SetupError.
    """
    from rearview_pipelines.lifecycle.migrate import Migrations
    from rearview_pipelines.models.opening import facts_of
    from rearview_serve.composing import opened_objects
    from rearview_serve.embedding import opened_index

    return await opened_index(
        arguments.milvus_uri,
        facts_of(*arguments.embed_folders),
        Migrations(opened_objects(Path(arguments.data), arguments.s3)),
        token=arguments.milvus_token,
        seconds=arguments.milvus_timeout,
        create=create,
    )


def following(arguments: AppArguments, embedder: Embedder, objects: ObjectStore) -> tuple[FollowingEmbedder, Models]:
    """The embedder of a process, which becomes another one when the store moves to another model."""
    from rearview_pipelines.lifecycle.migrate import Migrations
    from rearview_pipelines.models.following import FollowingEmbedder
    from rearview_serve.embedding import Models

    late = Path(arguments.late_folder) if arguments.late_folder else None
    cache = Path(arguments.models)
    models = Models(embedder, Migrations(objects), cache, arguments.model_threads, late)
    return FollowingEmbedder(embedder, models.by_identity), models


class EmbedReplica:
    def __init__(self, arguments: AppArguments) -> None:
        from rearview_pipelines.models.late import LateEncoder
        from rearview_pipelines.models.opening import open_embedder

        late = arguments.late_folder
        self._embedder = open_embedder(
            *arguments.embed_folders,
            arguments.model_threads,
            LateEncoder(Path(late), arguments.model_threads) if late else None,
        )

    async def documents(self, passages: list[Passage]) -> list[tuple[EmbeddedPart, ...]]:
        return await self._embedder.documents(passages)

    async def query(self, text: str) -> Vector:
        return await self._embedder.query(text)

    async def ping(self) -> str:
        return self._embedder.name


class RerankReplica:
    """Late interaction over the token vectors of hot tenants, and a cross-encoder: what is configured of them."""

    def __init__(self, arguments: AppArguments, write: DeploymentHandle) -> None:
        from rearview_pipelines.models.late import LateEncoder
        from rearview_pipelines.models.reranker import OnnxReranker

        folder, late = arguments.rerank_folder, arguments.late_folder
        self._reranker = OnnxReranker(Path(folder), arguments.model_threads) if folder else None
        self._encoder = LateEncoder(Path(late), arguments.model_threads) if late else None
        self._arguments = arguments
        self._write = write
        self._late: asyncio.Task[LateService] | None = None

    async def reconfigure(self, _: dict[str, Any]) -> None:
        """Called by Serve before the first request, on the loop that requests run on: begin to open here."""
        if self._encoder is not None:
            self._late = asyncio.ensure_future(self._open())

    async def _service(self) -> LateService:
        """Late interaction; its index is opened by the first call, and again if Milvus was not there."""
        if self._late is None or (self._late.done() and self._late.exception()):
            self._late = asyncio.ensure_future(self._open())
        return await asyncio.shield(self._late)

    async def _open(self) -> LateService:
        from rearview_pipelines.errors import Unavailable
        from rearview_pipelines.recall.late import LateService
        from rearview_serve.adapters import HandleWriter

        quiet()
        if self._encoder is None:
            raise Unavailable("no late interaction is configured (REARVIEW_LATE_MODEL)")
        index = await open_index(self._arguments, create=False)
        return LateService(self._encoder, index, HandleWriter(self._write), self._arguments.hot_rows)

    async def prepare(self, query: str) -> None:
        await (await self._service()).prepare(query)

    async def best(self, tenant: str, query: str, ids: list[str]) -> Vector:
        return await (await self._service()).best(tenant, query, ids)

    async def scores(self, query: str, texts: list[str]) -> list[float]:
        if self._reranker is None:
            from rearview_pipelines.errors import Unavailable

            raise Unavailable("no reranker is configured (REARVIEW_RERANK_MODEL)")
        return await self._reranker.scores(query, texts)

    async def ping(self) -> str:
        if self._encoder is not None:
            await self._service()
        parts = [part.name for part in (self._encoder, self._reranker) if part is not None]
        return ", ".join(parts) or "off"


class ReflectReplica:
    """Reflections, one after the other as they come; asleep where there are none."""

    def __init__(self, arguments: AppArguments) -> None:
        self._arguments = arguments
        self._opened: asyncio.Task[Handler] | None = None

    async def _handler(self) -> Handler:
        if self._opened is None or (self._opened.done() and self._opened.exception()):
            self._opened = asyncio.ensure_future(self._open())
        return await asyncio.shield(self._opened)

    async def _open(self) -> Handler:
        from ray import serve

        from rearview_serve.ray_jobs import opened_shop

        quiet()
        shop, _ = await opened_shop(self._arguments, serve.get_replica_context().app_name)
        return shop.reflect()

    async def reflect(self, job: Job) -> Job:
        """Do a job; answers it as it is then."""
        from rearview_pipelines.lifecycle.jobs import Jobs, Progress
        from rearview_pipelines.service import SystemClock
        from rearview_serve.composing import opened_objects

        jobs = Jobs(opened_objects(Path(self._arguments.data), self._arguments.s3), SystemClock())
        await (await self._handler())(job, Progress(jobs, job))
        return job


class WriteReplica:
    """The one writer of the store. Never more than one replica."""

    def __init__(self, arguments: AppArguments, embed: DeploymentHandle, reflect: DeploymentHandle) -> None:
        self._arguments = arguments
        self._embed = embed
        self._reflect = reflect
        self._started: asyncio.Task[Writer] | None = None

    async def reconfigure(self, _: dict[str, Any]) -> None:
        """Called by Serve before the first request, on the loop that requests run on: open here."""
        await self._writer()

    async def _writer(self) -> Writer:
        """The writer; opened again by the next call if Milvus was not there."""
        if self._started is None or (self._started.done() and self._started.exception()):
            self._started = asyncio.ensure_future(self._open())
        return await asyncio.shield(self._started)

    async def _open(self) -> Writer:
        from ray import serve

        from rearview_pipelines.models.opening import facts_of
        from rearview_pipelines.service import SystemClock
        from rearview_pipelines.stores.hot import HotIndex
        from rearview_serve import ray_jobs
        from rearview_serve.adapters import HandleEmbedder
        from rearview_serve.composing import Store, guards, opened_writer

        quiet()
        parts = guards(Path(self._arguments.data), self._arguments, self._arguments.s3, self._arguments.lifecycle)
        configured = HandleEmbedder(self._embed, facts_of(*self._arguments.embed_folders))
        embedder, models = following(self._arguments, configured, parts.objects)
        milvus = await open_index(self._arguments, create=True)
        # Relations look at what is near before every write: in memory, as recalls do.
        index = HotIndex(milvus, None, self._arguments.hot_rows)
        a = self._arguments
        store = Store(milvus, index, a.milvus_uri, a.milvus_token, a.milvus_timeout)
        handlers = ray_jobs.handlers(a, serve.get_replica_context().app_name, self._reflect)
        writer, _ = await opened_writer(
            parts, store, embedder, SystemClock(), a, a.lifecycle, a.chat, a.timetable, models, handlers
        )
        return writer

    async def write(self, principal: Principal, items: list[Item], key: str | None) -> list[Receipt]:
        return await (await self._writer()).write(principal, items, key)

    async def patch(self, principal: Principal, id_: str, changes: Mapping[str, Any], if_match: int | None) -> Receipt:
        return await (await self._writer()).patch(principal, id_, changes, if_match)

    async def forget(self, principal: Principal, scope: Scope) -> Forgotten:
        return await (await self._writer()).forget(principal, scope)

    async def start_job(self, tenant: str, kind: str, parameters: Mapping[str, Any]) -> Job:
        return await (await self._writer()).start_job(tenant, kind, parameters)

    async def archive(self, tenant: str, ids: list[str]) -> list[str]:
        return await (await self._writer()).archive(tenant, ids)

    async def expire(self, tenant: str, versions: Mapping[str, int]) -> list[str]:
        return await (await self._writer()).expire(tenant, versions)

    async def reinforce(self, tenant: str, again: list[Reinforcement]) -> int:
        return await (await self._writer()).reinforce(tenant, again)

    async def merge(self, tenant: str, keep: str, others: list[str]) -> int:
        return await (await self._writer()).merge(tenant, keep, others)

    async def tidy(self, tenant: str, least: float) -> int:
        return await (await self._writer()).tidy(tenant, least)

    async def uses(self, tenant: str) -> Mapping[str, Use]:
        return await (await self._writer()).uses(tenant)

    async def restore(self, tenant: str, rows: list[Row]) -> dict[str, int]:
        return await (await self._writer()).restore(tenant, rows)

    async def bury(self, tenant: str, ids: list[str]) -> int:
        return await (await self._writer()).bury(tenant, ids)

    async def observe(self, principal: Principal, request: ObserveRequest, key: str | None) -> list[Receipt]:
        return await (await self._writer()).observe(principal, request, key)

    async def start_session(
        self,
        principal: Principal,
        session: str,
        agent: str,
        user: str,
        goal: str | None,
        seeds: list[str],
        preferences: list[str],
    ) -> Session:
        return await (await self._writer()).start_session(principal, session, agent, user, goal, seeds, preferences)

    async def put_session(
        self, principal: Principal, session: str, agent: str, user: str, version: int, state: State
    ) -> Session:
        return await (await self._writer()).put_session(principal, session, agent, user, version, state)

    async def end_session(
        self, principal: Principal, session: str, agent: str, user: str, outcome: Outcome | None
    ) -> list[Receipt]:
        return await (await self._writer()).end_session(principal, session, agent, user, outcome)

    async def release(self, principal: Principal, id_: str) -> Memory:
        return await (await self._writer()).release(principal, id_)

    async def resign(self, tenant: str, ids: list[str], kid: str) -> int:
        return await (await self._writer()).resign(tenant, ids, kid)

    async def handout(self, tenant: str, recall_id: str) -> Handout | None:
        return await (await self._writer()).handout(tenant, recall_id)

    async def feedback(self, tenant: str, id_: str, who: str, used: bool | None, helpful: bool | None) -> Use:
        return await (await self._writer()).feedback(tenant, id_, who, used=used, helpful=helpful)

    async def standing(self, tenant: str) -> Mapping[str, Standing]:
        return await (await self._writer()).standing(tenant)

    async def handed(self, handout: Handout) -> None:
        await (await self._writer()).handed(handout)

    async def changes(self, tenant: str, epoch: str, since: int) -> Changes:
        return await (await self._writer()).changes(tenant, epoch, since)

    async def ping(self) -> None:
        await (await self._writer()).ping()


class RecallReplica:
    """The ingress and the recall pipeline in one process: a recall makes one hop, to Embed."""

    def __init__(
        self,
        arguments: AppArguments,
        embed: DeploymentHandle,
        rerank: DeploymentHandle,
        write: DeploymentHandle,
    ) -> None:
        self._arguments = arguments
        self._embed, self._rerank, self._write = embed, rerank, write

    async def __serve_build_asgi_app__(self) -> FastAPI:
        """Built in the replica, because an app with MCP in it cannot be sent to one."""
        from rearview_pipelines.ledger.ledger import LedgerReader
        from rearview_pipelines.models.files import read_card
        from rearview_pipelines.models.opening import facts_of
        from rearview_pipelines.recall.pipeline import RecallPipeline
        from rearview_pipelines.recall.tuning import read_tuning
        from rearview_pipelines.service import MemoryService, SystemClock
        from rearview_pipelines.stores.hot import HotIndex
        from rearview_pipelines.stores.tiers import TieredIndex
        from rearview_serve.adapters import HandleEmbedder, HandleLate, HandleReranker, HandleWriter
        from rearview_serve.auth import TokenStore
        from rearview_serve.composing import cold_tier, guards, summarizer_of, trust
        from rearview_serve.ingress import Ingress, create_app
        from rearview_serve.limits import Limits
        from rearview_serve.metrics import Metrics

        quiet()
        arguments = self._arguments
        configured = HandleEmbedder(self._embed, facts_of(*arguments.embed_folders))
        reranker = None
        if arguments.rerank_folder:
            reranker = HandleReranker(self._rerank, read_card(Path(arguments.rerank_folder), "reranker"))
        late = None
        if arguments.late_folder:
            late = HandleLate(self._rerank, read_card(Path(arguments.late_folder), "late"))
        writer = HandleWriter(self._write)
        milvus = await open_index(arguments, create=False)
        guarded = guards(Path(arguments.data), arguments, arguments.s3, arguments.lifecycle)
        embedder, _ = following(arguments, configured, guarded.objects)
        await embedder.become(milvus.model)
        reader = LedgerReader(guarded.objects, guarded.keys, guarded.witness)
        trusted = trust(guarded, reader)
        cold = cold_tier(guarded, reader)
        index = TieredIndex(HotIndex(milvus, writer, arguments.hot_rows), cold)
        service = MemoryService(
            writer,
            RecallPipeline(
                index,
                embedder,
                reranker,
                trusted.keys,
                SystemClock(),
                trusted.reader,
                late,
                read_tuning(arguments.fusion, arguments.boosts),
                arguments.cache_seconds,
                cold,
            ),
            index,
            embedder,
            reranker,
            arguments.floor,
            trusted,
            summarizer=summarizer_of(arguments.chat),
        )
        parts = {
            "index": _in_time("index", service.ping),
            "embed": _in_time("embed", self._embed.ping.remote),
            "write": _in_time("write", self._write.ping.remote),
        }
        return create_app(
            Ingress(
                service,
                TokenStore(Path(arguments.data)),
                Metrics(),
                parts,
                arguments.max_body,
                arguments.mcp_seconds,
                tuple(arguments.mcp_hosts),
                arguments.recall_defaults,
                Limits(arguments.rate_recall, arguments.rate_write),
                arguments.mcp_tools,
            )
        )


def _in_time(
    name: str, call: Callable[[], Awaitable[object]], seconds: float = READY_SECONDS
) -> Callable[[], Awaitable[object]]:
    async def check() -> object:
        from rearview_pipelines.errors import Unavailable
        from rearview_serve.adapters import translated

        try:
            async with asyncio.timeout(seconds), translated(name):
                return await call()
        except TimeoutError as error:
            raise Unavailable(f"{name} did not answer within {seconds:g} s") from error

    return check
