"""Routes side by side: what fails or is late is named, what is ready is used."""

import asyncio
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from rearview_pipelines.errors import Unavailable
from rearview_pipelines.ledger.ledger import Ledger
from rearview_pipelines.ports import Vector
from rearview_pipelines.principal import Principal
from rearview_pipelines.recall import routes
from rearview_pipelines.recall.answers import RecallAnswer
from rearview_pipelines.recall.pipeline import RecallPipeline
from rearview_pipelines.requests import RecallRequest, WriteRequest, parse
from rearview_pipelines.service import MemoryService
from rearview_pipelines.stores.hot import HotIndex
from rearview_pipelines.testing import FakeClock, HashEmbedder, MemoryIndexInMemory, ObjectStoreInMemory
from rearview_pipelines.write.item import Tools
from rearview_pipelines.write.keys import KeyRing
from rearview_pipelines.write.writer import Writer


class Late:
    """Likes memories in the order that they are told of."""

    name, marks = "fake-late", 0

    def __init__(
        self, languages: frozenset[str] | None = None, error: Exception | None = None, delay: float = 0
    ) -> None:
        self.languages, self.error, self.delay = languages, error, delay
        self.asked: list[list[str]] = []

    async def prepare(self, query: str) -> None:
        """Nothing to encode."""

    async def best(self, tenant: str, query: str, ids: Sequence[str]) -> Vector:
        self.asked.append(list(ids))
        await asyncio.sleep(self.delay)
        if self.error:
            raise self.error
        return np.linspace(0.9, 0.1, len(ids), dtype=np.float32)[:, None]


class Setup:
    """A service with late interaction; `hot`: its scope is held in memory."""

    def __init__(self, ring: KeyRing, late: Late | None, *, hot: bool = True) -> None:
        self.index, clock, self.embedder = MemoryIndexInMemory(), FakeClock(), HashEmbedder()
        writer = Writer(
            Tools(self.index, self.embedder, ring, clock, Ledger(ObjectStoreInMemory(), ring, None, clock.now))
        )
        self.hot = HotIndex(self.index, writer, 10_000 if hot else 0)
        recaller = RecallPipeline(self.hot, self.embedder, None, ring, clock, late=late)
        self.service = MemoryService(writer, recaller, self.hot, self.embedder, None, 0.0)

    async def fill(self, who: Principal, *texts: str, **fields: Any) -> None:
        for start in range(0, len(texts), 200):
            memories = [{"text": text} | fields for text in texts[start : start + 200]]
            await self.service.write(who, parse(WriteRequest, {"memories": memories}))
        await self.service.recall(who, parse(RecallRequest, {"query": "warm", "mode": "keyword"}))
        await asyncio.gather(*self.hot._loading.values())

    async def ask(self, who: Principal, query: str, **fields: Any) -> RecallAnswer:
        return await self.service.recall(who, parse(RecallRequest, {"query": query, "explain": True} | fields))


def texts(answer: RecallAnswer) -> list[str]:
    return [m.text for m in answer.memories]


async def test_a_small_scope_is_compared_as_a_whole(ring: KeyRing, admin: Principal) -> None:
    late = Late()
    setup = Setup(ring, late)
    await setup.fill(admin, "green tea", "black tea", "red car")
    answer = await setup.ask(admin, "tea")
    assert [len(asked) for asked in late.asked] == [3]
    assert answer.degraded == ()
    assert answer.explain is not None and answer.explain["routes"]["late"] == 3
    assert answer.memories[0].score == pytest.approx((0.9 - 0.7) / 0.25, abs=1e-3)


async def test_of_a_large_scope_candidates_are(
    ring: KeyRing, admin: Principal, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(routes, "WHOLE", 100)
    monkeypatch.setattr(routes, "CANDIDATES", 20)
    late = Late()
    setup = Setup(ring, late)
    await setup.fill(admin, *(f"note {n} about tea" for n in range(30)), *(f"car {n}" for n in range(300)))
    answer = await setup.ask(admin, "tea")
    [asked] = late.asked
    assert 20 <= len(asked) <= 60
    assert all("tea" in text for text in texts(answer))


@pytest.mark.parametrize("hot", [True, False])
@pytest.mark.parametrize("late", [Late(error=Unavailable("down")), Late(delay=9)])
async def test_without_late_interaction_the_fused_order_is_answered_and_said(
    ring: KeyRing, admin: Principal, late: Late, hot: bool
) -> None:
    setup, plain = Setup(ring, late, hot=hot), Setup(ring, None, hot=hot)
    for each in (setup, plain):
        await each.fill(admin, "green tea in the morning", "black tea", "red car")
    answer = await setup.ask(admin, "tea in the morning", deadline_ms=400)
    assert texts(answer) == texts(await plain.ask(admin, "tea in the morning"))
    assert "reranker" in answer.degraded
    assert answer.took_ms < 5_000


async def test_without_the_embedder_words_and_late_interaction_answer(ring: KeyRing, admin: Principal) -> None:
    setup = Setup(ring, Late())
    await setup.fill(admin, "green tea", "black tea")
    setup.embedder.failing = True
    answer = await setup.ask(admin, "tea")
    assert answer.degraded == ("embedder",)
    assert len(answer.memories) == 2


async def test_without_any_model_only_what_shares_a_word_is_answered(ring: KeyRing, admin: Principal) -> None:
    setup = Setup(ring, None)
    await setup.fill(admin, "green tea", "red car")
    setup.embedder.failing = True
    assert texts(await setup.ask(admin, "tea")) == ["green tea"]
    assert texts(await setup.ask(admin, "zebra")) == []


async def test_a_language_that_no_model_knows_is_searched_by_words_and_said(ring: KeyRing, admin: Principal) -> None:
    late = Late(frozenset({"en"}))
    setup = Setup(ring, late)
    setup.embedder.languages = frozenset({"en"})
    await setup.fill(admin, "用户喜欢绿茶", "用户喜欢咖啡")
    for query in ("绿茶", "مرحبا"):
        answer = await setup.ask(admin, query)
        assert answer.degraded == ("language",)
        assert texts(answer) == (["用户喜欢绿茶"] if query == "绿茶" else [])
    assert late.asked == []


@pytest.mark.parametrize("query", ["🎉🎉", "?!", "…"])
async def test_a_query_without_a_word_finds_only_what_holds_it(ring: KeyRing, admin: Principal, query: str) -> None:
    setup = Setup(ring, Late())
    await setup.fill(admin, *(f"note {n}" for n in range(50)), "we shipped 🎉🎉")
    found = texts(await setup.ask(admin, query, top_k=100, token_budget=None))
    assert found == (["we shipped 🎉🎉"] if query == "🎉🎉" else [])


async def test_a_cold_scope_knows_numbered_neighbours(ring: KeyRing, admin: Principal) -> None:
    setup = Setup(ring, None, hot=False)
    for number, text in enumerate(("does she like tea?", "tea, yes, every day", "and the car is red")):
        source = {"kind": "turn", "speaker": "Ann", "turn": number}
        await setup.fill(admin, text, session="s", source=source)
    answer = await setup.ask(admin, "tea", mode="keyword")
    assert texts(answer)[0] == "tea, yes, every day"
    assert answer.memories[0].explain is not None and len(answer.memories[0].explain["beside"]) >= 1
    assert answer.explain is not None and answer.explain["scope_in_memory"] is False


async def test_keyword_mode_asks_no_model(ring: KeyRing, admin: Principal) -> None:
    late = Late()
    setup = Setup(ring, late)
    await setup.fill(admin, "green tea", "red car")
    answer = await setup.ask(admin, "tea", mode="keyword")
    assert (texts(answer), late.asked) == (["green tea"], [])
    assert answer.explain is not None and answer.explain["skipped"]["late"] == "mode keyword"


@pytest.mark.parametrize(("route", "words"), [("dense", {"index", "deadline"}), ("keyword", {"keyword", "deadline"})])
async def test_of_a_store_that_is_slow_what_came_is_answered_and_said(
    ring: KeyRing, admin: Principal, monkeypatch: pytest.MonkeyPatch, route: str, words: set[str]
) -> None:
    setup = Setup(ring, None, hot=False)
    await setup.fill(admin, "green tea", "red car")

    async def hanging(*_: Any, **__: Any) -> Any:
        await asyncio.sleep(60)

    monkeypatch.setattr(setup.index, route, hanging)
    answer = await setup.ask(admin, "green tea", deadline_ms=500)
    assert texts(answer)[0] == "green tea"
    assert set(answer.degraded) == words
    assert answer.took_ms < 5_000
