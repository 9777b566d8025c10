"""The whole service in this process, without Ray: for the command line and stdio MCP."""

import asyncio
import os
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from rearview_pipelines.errors import Unavailable
from rearview_pipelines.lifecycle.migrate import Migrations
from rearview_pipelines.models.export import cached
from rearview_pipelines.models.export_late import late_of
from rearview_pipelines.models.following import FollowingEmbedder
from rearview_pipelines.models.late import LateEncoder
from rearview_pipelines.models.opening import open_embedder
from rearview_pipelines.models.reranker import OnnxReranker
from rearview_pipelines.ports import Embedder
from rearview_pipelines.recall.late import LateService
from rearview_pipelines.recall.pipeline import RecallPipeline
from rearview_pipelines.recall.tuning import read_tuning
from rearview_pipelines.service import MemoryService, SystemClock
from rearview_pipelines.stores.hot import HotIndex
from rearview_pipelines.stores.milvus import MilvusIndex
from rearview_pipelines.stores.tiers import TieredIndex
from rearview_serve.composing import Store, cold_tier, guards, opened_writer, summarizer_of, trust
from rearview_serve.embedding import Models, opened_index
from rearview_serve.folder import owned
from rearview_serve.milvus_process import FLUSH_BYTES
from rearview_serve.settings import Settings, chat_options, lifecycle_of, s3_options


@dataclass(frozen=True)
class Embedded:
    """The service, and the parts below it that measuring looks at: the store itself, past every cache."""

    service: MemoryService
    index: MilvusIndex
    embedder: Embedder


@asynccontextmanager
async def opened(settings: Settings) -> AsyncIterator[MemoryService]:
    """Own the data folder and serve it from here. Raises SetupError if another process owns it."""
    async with opened_parts(settings) as parts:
        yield parts.service


@asynccontextmanager
async def opened_parts(settings: Settings) -> AsyncIterator[Embedded]:
    """The same, with the parts below the service."""
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    os.environ.setdefault("MILVUS_LITE_MEMTABLE_MEMORY_LIMIT_BYTES", str(FLUSH_BYTES))
    with owned(settings.data):
        lifecycle, chat = lifecycle_of(settings), chat_options(settings)
        parts = guards(settings.data, settings, s3_options(settings), lifecycle, lazily=True)
        await parts.objects.check()
        late_model = late_of(settings.late_model)
        encoder = None
        if late_model is not None:
            encoder = LateEncoder(cached("late", late_model, settings.models), settings.model_threads)
        folder = cached("embedder", settings.embed_model, settings.models)
        other = cached("embedder", settings.embed_other, settings.models) if settings.embed_other else None
        configured = open_embedder(folder, other, settings.model_threads, encoder)
        late_folder = cached("late", late_model, settings.models) if late_model is not None else None
        migrations = Migrations(parts.objects)
        models = Models(configured, migrations, settings.models, settings.model_threads, late_folder)
        embedder = FollowingEmbedder(configured, models.by_identity)
        reranker = None
        if settings.rerank_model:
            folder = cached("reranker", settings.rerank_model, settings.models)
            reranker = OnnxReranker(folder, settings.model_threads)
        uri = settings.milvus_uri or str(settings.data / "milvus.db")
        index = await opened_index(
            uri, configured, migrations, token=settings.milvus_token, seconds=settings.milvus_timeout
        )
        await embedder.become(index.model)
        clock = SystemClock()
        hot = HotIndex(index, None, settings.hot_rows)
        store = Store(index, hot, uri, settings.milvus_token, settings.milvus_timeout)
        writer, ledger = await opened_writer(parts, store, embedder, clock, settings, lifecycle, chat, None, models)
        cold = cold_tier(parts, ledger)
        tiers = TieredIndex(hot, cold)
        service = MemoryService(
            writer,
            RecallPipeline(
                tiers,
                embedder,
                reranker,
                parts.keys,
                clock,
                ledger,
                LateService(encoder, index, writer, settings.hot_rows) if encoder else None,
                read_tuning(settings.fusion, settings.boosts),
                settings.cache_seconds,
                cold,
            ),
            tiers,
            embedder,
            reranker,
            settings.floor,
            trust(parts, ledger),
            summarizer=summarizer_of(chat),
        )
        # While the caller says hello: the first write or recall needs it, listing the tools does not.
        threading.Thread(target=parts.scrubber.warm, name="warm", daemon=True).start()
        try:
            yield Embedded(service, index, embedder)
        finally:
            await service.settled()
            await writer.close()
            await hot.close()
            await index.close()
            if settings.milvus_uri is None:
                await asyncio.to_thread(close_lite, str(settings.data / "milvus.db"))


def close_lite(path: str) -> None:
    """Close Lite in order: what it holds in memory goes to its files instead of being replayed."""
    from milvus_lite.server_manager import server_manager_instance

    try:
        server_manager_instance.release_server(path)
    except OSError as error:
        raise Unavailable(f"Milvus Lite did not close in order: {type(error).__name__}") from error
