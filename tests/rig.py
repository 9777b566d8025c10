"""A whole store in a folder, over real Milvus Lite in this process and real objects, with the hashing embedder."""

import asyncio
import json
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow.parquet
import zstandard

from rearview_pipelines.errors import InvalidInput
from rearview_pipelines.ledger.ledger import Ledger
from rearview_pipelines.lifecycle.jobs import Job
from rearview_pipelines.lifecycle.migrate import Migrations
from rearview_pipelines.lifecycle.policy import Lifecycle
from rearview_pipelines.models.chat_options import ChatOptions
from rearview_pipelines.models.following import FollowingEmbedder
from rearview_pipelines.ports import EmbeddedPart, Embedder, ObjectStore, Passage, Vector
from rearview_pipelines.principal import Principal, Role
from rearview_pipelines.recall.pipeline import RecallPipeline
from rearview_pipelines.requests import WriteRequest
from rearview_pipelines.service import MemoryService
from rearview_pipelines.stores.hot import HotIndex
from rearview_pipelines.stores.milvus import MilvusIndex
from rearview_pipelines.stores.s3_options import S3Options
from rearview_pipelines.stores.tiers import TieredIndex
from rearview_pipelines.testing import DIMENSION, FakeClock, HashEmbedder
from rearview_pipelines.write.writer import Writer
from rearview_serve.composing import Store, cold_tier, guards, opened_writer, summarizer_of, trust
from rearview_serve.embedded import close_lite
from rearview_serve.embedding import opened_index
from rearview_serve.settings import Settings

ADMIN = Principal("default", Role.ADMIN, id="tok_admin")


@dataclass
class Rig:
    """The store's parts, as one process holds them."""

    service: MemoryService
    writer: Writer
    milvus: MilvusIndex
    ledger: Ledger
    clock: FakeClock
    objects: ObjectStore
    data: Path

    async def write(self, *texts: str, who: Principal = ADMIN, **fields: object) -> list[str]:
        ids = []
        for start in range(0, len(texts), 256):
            memories = [{"text": text, **fields} for text in texts[start : start + 256]]
            receipts = await self.service.write(who, WriteRequest.model_validate({"memories": memories}))
            assert all(receipt.id for receipt in receipts), receipts
            ids += [receipt.id or "" for receipt in receipts]
        return ids

    async def run(self, kind: str, tenant: str = "default", **parameters: object) -> Job:
        """A job of a kind, at its end."""
        job = await self.writer.start_job(tenant, kind, parameters)
        return await self.ended(job.id, tenant)

    async def ended(self, id_: str, tenant: str = "default") -> Job:
        runner = self.writer.runner
        assert runner is not None
        await runner.finished(id_)
        return await runner.jobs.get(tenant, id_)


class OtherEmbedder(HashEmbedder):
    """Another model: other vectors of the same words, in other dimensions."""

    name = "other-hash"
    dimension = 2 * DIMENSION
    seconds = 0.0

    async def documents(self, passages: Sequence[Passage]) -> list[tuple[EmbeddedPart, ...]]:
        await asyncio.sleep(self.seconds)
        return await super().documents(passages)

    def _vector(self, text: str) -> Vector:
        half = super()._vector(text)
        return np.concatenate([half[::-1], half]).astype(np.float32) / np.float32(np.sqrt(2))


class FakeModels:
    """`ModelSource` of the two models of the tests."""

    def __init__(self) -> None:
        self.other = OtherEmbedder()
        self.own = HashEmbedder()

    async def open_model(self, name: str) -> Embedder:
        if name != "other":
            raise InvalidInput.one("model", "is not there as ONNX", "write it first")
        return self.other

    async def by_identity(self, identity: str) -> Embedder:
        return {self.own.name: self.own, self.other.name: self.other}[identity]


@asynccontextmanager
async def opened(
    data: Path,
    clock: FakeClock | None = None,
    s3: S3Options | None = None,
    policy: Lifecycle | None = None,
    chat: ChatOptions | None = None,
    models: FakeModels | None = None,
) -> AsyncIterator[Rig]:
    settings, clock = Settings(), clock or FakeClock()
    policy = policy or Lifecycle()
    parts = guards(data, settings, s3, policy, lazily=True)
    uri = str(data / "milvus.db")
    migrations, models = Migrations(parts.objects), models or FakeModels()
    embedder = FollowingEmbedder(HashEmbedder(), models.by_identity)
    milvus = await opened_index(uri, embedder, migrations)
    await embedder.become(milvus.model)
    hot = HotIndex(milvus, None, settings.hot_rows)
    store = Store(milvus, hot, uri, "", 10.0)
    writer, ledger = await opened_writer(parts, store, embedder, clock, settings, policy, chat, None, models)
    cold = cold_tier(parts, ledger)
    tiers = TieredIndex(hot, cold)
    recaller = RecallPipeline(tiers, embedder, None, parts.keys, clock, ledger, cold=cold)
    service = MemoryService(
        writer, recaller, tiers, embedder, None, 0.0, trust(parts, ledger), clock, summarizer_of(chat)
    )
    try:
        yield Rig(service, writer, milvus, ledger, clock, parts.objects, data)
    finally:
        await service.settled()
        await writer.close()
        await hot.close()
        await milvus.close()
        await asyncio.to_thread(close_lite, uri)


def traces(folder: Path, words: Sequence[str]) -> list[str]:
    """Files below a folder that hold one of these words: as they are, in Parquet columns, unpacked."""
    wanted = [form for word in words for form in (word.encode(), json.dumps(word)[1:-1].encode())]
    found = []
    for path in sorted(p for p in folder.rglob("*") if p.is_file()):
        if any(word in content for content in _contents(path) for word in wanted):
            found.append(str(path.relative_to(folder)))
    return found


def _contents(path: Path) -> Iterator[bytes]:
    raw = path.read_bytes()
    yield raw
    if path.suffix == ".parquet":
        table = pyarrow.parquet.read_table(path)
        for name in table.column_names:
            column = table.column(name)
            if pyarrow.types.is_string(column.type) or pyarrow.types.is_binary(column.type):
                yield "\n".join(str(value) for value in column.to_pylist()).encode()
    yield from unpacked(raw)


def unpacked(raw: bytes) -> Iterator[bytes]:
    """What is in a sealed object of ours."""
    head, newline, frame = raw.partition(b"\n")
    if newline and head.startswith(b"{") and frame[:4] == b"\x28\xb5\x2f\xfd":
        yield zstandard.ZstdDecompressor().decompress(frame, max_output_size=2**30)
