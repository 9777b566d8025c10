"""The hot index follows the writer, gives way to Milvus where it must, and never serves what was forgotten."""

import asyncio
import random
from typing import Any

import numpy as np
import pytest

from rearview_pipelines.errors import Unavailable
from rearview_pipelines.ledger.ledger import Ledger
from rearview_pipelines.ports import Changes, Where
from rearview_pipelines.principal import Principal
from rearview_pipelines.recall.pipeline import RecallPipeline
from rearview_pipelines.requests import ForgetRequest, RecallRequest, WriteRequest, parse
from rearview_pipelines.service import MemoryService
from rearview_pipelines.stores import hot
from rearview_pipelines.stores.hot import HotIndex
from rearview_pipelines.testing import DIMENSION, FakeClock, HashEmbedder, MemoryIndexInMemory, ObjectStoreInMemory
from rearview_pipelines.write import changes
from rearview_pipelines.write.changes import ChangeNotes
from rearview_pipelines.write.item import Tools
from rearview_pipelines.write.keys import KeyRing
from rearview_pipelines.write.writer import Writer


class Setup:
    def __init__(self, index: MemoryIndexInMemory, ring: KeyRing, limit: int = 1000) -> None:
        self.index, self.clock, embedder = index, FakeClock(), HashEmbedder()
        self.writer = Writer(
            Tools(index, embedder, ring, self.clock, Ledger(ObjectStoreInMemory(), ring, None, self.clock.now))
        )
        self.hot = HotIndex(index, self.writer, limit)
        recaller = RecallPipeline(self.hot, embedder, None, ring, self.clock)
        self.service = MemoryService(self.writer, recaller, self.hot, embedder, None, 0.0)

    async def write(self, who: Principal, *texts: str) -> list[str]:
        request = parse(WriteRequest, {"memories": [{"text": t} for t in texts]})
        return [str(r.id) for r in await self.service.write(who, request)]

    async def recall(self, who: Principal, query: str, **fields: Any) -> list[str]:
        answer = await self.service.recall(who, parse(RecallRequest, {"query": query} | fields))
        return [m.text for m in answer.memories]

    async def warm(self, who: Principal) -> None:
        await self.recall(who, "anything")
        await asyncio.gather(*self.hot._loading.values())
        assert who.tenant in self.hot._held


async def test_a_warm_scope_answers_without_the_index_and_sees_every_write(
    index: MemoryIndexInMemory, ring: KeyRing, admin: Principal
) -> None:
    setup = Setup(index, ring)
    await setup.write(admin, "green tea")
    await setup.warm(admin)
    [id_] = await setup.write(admin, "black tea")
    assert set(await setup.recall(admin, "tea")) == {"green tea", "black tea"}
    index.failing = True  # nothing changed since: Milvus is not asked
    assert set(await setup.recall(admin, "tea")) == {"green tea", "black tea"}
    index.failing = False
    await setup.service.patch(admin, id_, {"text": "white tea"})
    assert set(await setup.recall(admin, "tea")) == {"green tea", "white tea"}


async def test_what_is_forgotten_is_gone_at_once(index: MemoryIndexInMemory, ring: KeyRing, admin: Principal) -> None:
    setup = Setup(index, ring)
    [id_] = await setup.write(admin, "green tea")
    await setup.warm(admin)
    await setup.service.forget(admin, ForgetRequest(ids=(id_,)))
    assert await setup.recall(admin, "tea") == []
    assert await setup.recall(admin, "tea", mode="keyword") == []


async def test_a_new_writer_makes_it_read_again(index: MemoryIndexInMemory, ring: KeyRing, admin: Principal) -> None:
    setup = Setup(index, ring)
    await setup.write(admin, "green tea")
    await setup.warm(admin)
    other = Setup(index, ring)
    await other.write(admin, "black tea")
    setup.hot._changes = other.writer
    assert set(await setup.recall(admin, "tea")) == {"green tea", "black tea"}


async def test_without_the_writer_what_is_held_still_answers(
    index: MemoryIndexInMemory, ring: KeyRing, admin: Principal, monkeypatch: pytest.MonkeyPatch
) -> None:
    setup = Setup(index, ring)
    await setup.write(admin, "green tea")
    await setup.warm(admin)

    class Gone:
        async def changes(self, tenant: str, epoch: str, since: int) -> Changes:
            raise Unavailable("no writer")

    class Restarting:
        async def changes(self, tenant: str, epoch: str, since: int) -> Changes:
            await asyncio.sleep(60)
            raise AssertionError("waited for")

    monkeypatch.setattr(hot, "FOLLOW_SECONDS", 0.05)
    for writer in (Gone(), Restarting()):
        setup.hot._changes = writer
        assert await setup.recall(admin, "tea") == ["green tea"]


@pytest.mark.parametrize("limit", [0, 2])
async def test_over_the_limit_the_index_answers(
    index: MemoryIndexInMemory, ring: KeyRing, admin: Principal, limit: int
) -> None:
    setup = Setup(index, ring, limit)
    await setup.write(admin, "tea one", "tea two", "tea three")
    for _ in range(3):
        assert len(await setup.recall(admin, "tea")) == 3
        await asyncio.sleep(0.01)
    assert setup.hot._held == {}


async def test_one_call_to_the_writer_serves_all_who_wait(
    index: MemoryIndexInMemory, ring: KeyRing, admin: Principal
) -> None:
    setup = Setup(index, ring)
    await setup.write(admin, "green tea")
    await setup.warm(admin)
    calls = 0

    class Counting:
        async def changes(self, tenant: str, epoch: str, since: int) -> Changes:
            nonlocal calls
            calls += 1
            await asyncio.sleep(0.01)
            return await setup.writer.changes(tenant, epoch, since)

    setup.hot._changes = Counting()
    vector = np.ones(DIMENSION, np.float32)
    await asyncio.gather(*(setup.hot.dense(admin.tenant, Where(), vector, 1, fresh=True) for _ in range(40)))
    assert calls <= 2


async def test_after_any_history_it_equals_the_index(
    index: MemoryIndexInMemory, ring: KeyRing, admin: Principal
) -> None:
    setup, random_ = Setup(index, ring), random.Random(5)
    ids = await setup.write(admin, *(f"tea {n} of {n % 3}" for n in range(20)))
    await setup.warm(admin)
    for n in range(60):
        id_ = random_.choice(ids)
        memory = index.rows[id_][0]
        if memory.state.value == "active" and random_.random() < 0.5:
            await setup.service.forget(admin, ForgetRequest(ids=(id_,)))
        elif memory.state.value == "active":
            ids.append(str((await setup.service.patch(admin, id_, {"text": f"tea {n} again"})).id))
        else:
            ids += await setup.write(admin, f"tea {random_.randrange(40)} of 1")
        mine = await setup.hot.keyword(admin.tenant, Where(), ["tea", "again"], 500, fresh=True)
        truth = await index.keyword(admin.tenant, Where(), ["tea", "again"], 500)
        assert {m.id for m in mine} == {m.id for m in truth}
        assert await setup.hot.counts(admin.tenant) == await index.counts(admin.tenant)


def test_a_reader_too_far_behind_reads_all_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(changes, "KEPT", 3)
    notes = ChangeNotes()
    start = notes.since("t", "", 0)
    assert start.ids is None
    for n in range(3):
        notes.note("t" if n else "other", f"m{n}")
    seen = notes.since("t", start.epoch, start.seq)
    assert set(seen.ids or ()) == {"m1", "m2"}
    assert notes.since("t", start.epoch, seen.seq).ids == ()
    for n in range(4):
        notes.note("t", f"n{n}")
    assert notes.since("t", start.epoch, start.seq).ids is None
    assert notes.since("t", "another life", seen.seq).ids is None


async def test_the_writers_own_scope_misses_nothing_that_is_written_while_it_is_read(
    index: MemoryIndexInMemory, ring: KeyRing, admin: Principal, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hot, "LOAD_PAGE", 1)  # let others in after every row
    setup = Setup(index, ring)
    first = await setup.write(admin, "green tea", "black tea", "white tea")
    own = HotIndex(index, None, 1000)
    rows = {id_: index.rows[id_] for id_ in first}
    gone = index.rows.pop(first[0])
    await own.follow("default")
    await asyncio.sleep(0)
    await own.upsert([gone])
    await own.remove("default", [first[1]])
    await asyncio.gather(*own._loading.values())
    assert "default" in own._held
    assert set(await own.get("default", first)) == {first[0], first[2]}
    assert set(rows) == set(first)


async def test_a_scope_that_grows_over_the_limit_is_let_go(
    index: MemoryIndexInMemory, ring: KeyRing, admin: Principal
) -> None:
    setup = Setup(index, ring)
    [id_] = await setup.write(admin, "green tea")
    own = HotIndex(index, None, 2)
    await own.follow("default")
    await asyncio.gather(*own._loading.values())
    memory, parts = index.rows[id_]
    for number in range(4):
        await own.upsert([(memory.model_copy(update={"id": f"m_{number}"}), parts)])
    assert "default" not in own._held
    assert set(await own.get("default", ["m_3"])) == {"m_3"}


async def test_the_writer_is_asked_only_when_something_was_recorded(
    index: MemoryIndexInMemory, ring: KeyRing, admin: Principal, monkeypatch: pytest.MonkeyPatch
) -> None:
    setup = Setup(index, ring)
    await setup.write(admin, "green tea")
    await setup.warm(admin)
    asked: list[int] = []
    changes_of = setup.writer.changes

    async def counted(tenant: str, epoch: str, since: int) -> Changes:
        asked.append(since)
        return await changes_of(tenant, epoch, since)

    monkeypatch.setattr(setup.writer, "changes", counted)
    for mark in ("1", "1", "1", "2", None, None):
        await setup.hot.follow(admin.tenant, mark)
    assert len(asked) == 4
    monkeypatch.setattr(hot, "ASK_SECONDS", 0.0)
    await setup.hot.follow(admin.tenant, "2")
    assert len(asked) == 5


async def test_a_writer_that_did_not_answer_is_left_alone_and_nothing_is_taken_for_granted(
    index: MemoryIndexInMemory, ring: KeyRing, admin: Principal, monkeypatch: pytest.MonkeyPatch
) -> None:
    setup = Setup(index, ring)
    await setup.write(admin, "green tea")
    await setup.warm(admin)
    asked: list[int] = []

    async def down(tenant: str, epoch: str, since: int) -> Changes:
        asked.append(since)
        raise Unavailable("down")

    changes_of = setup.writer.changes
    monkeypatch.setattr(setup.writer, "changes", down)
    for _ in range(3):
        await setup.hot.follow(admin.tenant, "1")
    assert len(asked) == 1
    monkeypatch.setattr(setup.writer, "changes", changes_of)
    setup.hot._held[admin.tenant].left_alone = 0.0
    await setup.write(admin, "black tea")
    await setup.hot.follow(admin.tenant, "1")
    scope = await setup.hot.held(admin.tenant)
    assert scope is not None
    assert {m.text for m in scope.memories.values()} == {"green tea", "black tea"}
