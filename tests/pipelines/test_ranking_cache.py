"""Rankings are remembered while nothing changes, and never a moment longer."""

import asyncio
from typing import Any

from rearview_pipelines.ledger.ledger import Ledger
from rearview_pipelines.principal import Principal, Right, Role
from rearview_pipelines.recall.pipeline import RecallPipeline
from rearview_pipelines.requests import ForgetRequest, RecallRequest, WriteRequest, parse
from rearview_pipelines.service import MemoryService
from rearview_pipelines.stores.hot import HotIndex
from rearview_pipelines.testing import FakeClock, HashEmbedder, MemoryIndexInMemory, ObjectStoreInMemory
from rearview_pipelines.write.item import Tools
from rearview_pipelines.write.keys import KeyRing
from rearview_pipelines.write.writer import Writer


class Cached:
    def __init__(self, index: MemoryIndexInMemory, ring: KeyRing) -> None:
        clock, embedder = FakeClock(), HashEmbedder()
        writer = Writer(Tools(index, embedder, ring, clock, Ledger(ObjectStoreInMemory(), ring, None, clock.now)))
        self.hot = HotIndex(index, writer, 1000)
        self.recaller = RecallPipeline(self.hot, embedder, None, ring, clock, cache_seconds=300)
        self.service = MemoryService(writer, self.recaller, self.hot, embedder, None, 0.0)

    async def write(self, who: Principal, text: str, **fields: Any) -> str:
        request = parse(WriteRequest, {"memories": [{"text": text} | fields]})
        return str((await self.service.write(who, request))[0].id)

    async def recall(self, who: Principal, query: str = "tea") -> set[str]:
        answer = await self.service.recall(who, parse(RecallRequest, {"query": query}))
        await asyncio.gather(*self.hot._loading.values())
        return {m.text for m in answer.memories}


async def test_the_same_question_is_ranked_once(index: MemoryIndexInMemory, ring: KeyRing, admin: Principal) -> None:
    cached = Cached(index, ring)
    await cached.write(admin, "green tea")
    await cached.recall(admin)
    for _ in range(3):
        assert await cached.recall(admin) == {"green tea"}
    assert cached.recaller.cache_hits == 2
    assert await cached.recall(admin, "green") == {"green tea"}
    assert cached.recaller.cache_hits == 2


async def test_no_answer_is_older_than_a_write_or_a_forget(
    index: MemoryIndexInMemory, ring: KeyRing, admin: Principal
) -> None:
    cached = Cached(index, ring)
    first = await cached.write(admin, "green tea")
    for _ in range(3):
        await cached.recall(admin)
    await cached.write(admin, "black tea")
    assert await cached.recall(admin) == {"green tea", "black tea"}
    await cached.service.forget(admin, ForgetRequest(ids=(first,)))
    assert await cached.recall(admin) == {"black tea"}


async def test_what_another_agent_shares_is_seen_at_once(index: MemoryIndexInMemory, ring: KeyRing) -> None:
    cached = Cached(index, ring)
    a = Principal("t", Role.WRITER, agent="a", rights=frozenset({Right.SHARE}))
    b = Principal("t", Role.WRITER, agent="b")
    await cached.write(a, "private tea")
    for _ in range(3):
        assert await cached.recall(b) == set()
    id_ = await cached.write(a, "shared tea", visibility="shared")
    assert await cached.recall(b) == {"shared tea"}
    assert await cached.recall(a) == {"private tea", "shared tea"}
    await cached.service.forget(a, ForgetRequest(ids=(id_,)))
    assert await cached.recall(b) == set()
