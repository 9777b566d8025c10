"""The index contract, held against the fake and a real Milvus Lite server alike."""

import asyncio
import uuid
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import numpy as np
import pytest

from rearview_pipelines.errors import SetupError, Unavailable
from rearview_pipelines.memory import Memory, State
from rearview_pipelines.ports import Changes, Condition, MemoryIndex, Part, Where
from rearview_pipelines.stores.hot import HotIndex
from rearview_pipelines.stores.milvus import MilvusIndex
from rearview_pipelines.testing import DIMENSION, MemoryIndexInMemory
from rearview_pipelines.text.analyse import terms_of
from rearview_pipelines.write.changes import ChangeNotes

NOW = datetime(2026, 11, 30, 9, tzinfo=UTC)


class Followed(HotIndex):
    """A hot index whose every change is noted, as the writer's are, and which waits until it is hot."""

    def __init__(self, index: MilvusIndex) -> None:
        self.notes = ChangeNotes()
        super().__init__(index, self, limit=10_000)

    async def changes(self, tenant: str, epoch: str, since: int) -> Changes:
        return self.notes.since(tenant, epoch, since)

    async def upsert(self, rows: Any) -> None:
        for memory, _ in rows:
            await self.get(memory.tenant, [])
            await asyncio.gather(*self._loading.values())
        await super().upsert(rows)
        for memory, _ in rows:
            assert memory.tenant in self._held
            self.notes.note(memory.tenant, memory.id)

    async def dense(self, *arguments: Any, fresh: bool = True) -> Any:
        return await super().dense(*arguments, fresh=fresh)

    async def keyword(self, *arguments: Any, fresh: bool = True) -> Any:
        return await super().keyword(*arguments, fresh=fresh)

    async def drop_parts(self, tenant: str, id_: str, keep: int) -> None:
        await super().drop_parts(tenant, id_, keep)
        self.notes.note(tenant, id_)


@pytest.fixture(params=["fake", "milvus lite server", "hot over milvus"])
async def store(request: pytest.FixtureRequest, milvus_uri: str) -> AsyncIterator[MemoryIndex]:
    if request.param == "fake":
        yield MemoryIndexInMemory()
        return
    real = await MilvusIndex.open(milvus_uri, model="fake-hash", dimension=DIMENSION)
    yield Followed(real) if request.param.startswith("hot") else real
    await real.close()


@pytest.fixture
def tenant() -> str:
    return f"tenant-{uuid.uuid4().hex[:8]}"


def unit(axis: int) -> Any:
    vector = np.zeros(DIMENSION, np.float32)
    vector[axis] = 1
    return vector


def row(tenant: str, id_: str, text: str = "green tea", axis: int = 0, **fields: Any) -> tuple[Memory, list[Part]]:
    memory = Memory(
        id=f"m_{tenant[-8:]}_{id_}",
        tenant=tenant,
        text=text,
        updated_at=NOW,
        **({"layer": "semantic", "created_at": NOW} | fields),
    )
    return memory, [Part(0, 0, len(text), " ".join(terms_of(text)), unit(axis))]


async def test_what_is_written_comes_back_whole(store: MemoryIndex, tenant: str) -> None:
    text = "quotes \" ' \\ % _ * {x} \U0001f980 \u202e العربية\n\t\r line"
    data = {"deep": [{"a": None, "b": [1, 2.5, True, "\x07"]}]}
    memory, parts = row(tenant, "a", text, tags=("x", '"y\\'), metadata={"k": 1, "z": None}, data=data, key="k'\"")
    await store.upsert([(memory, parts)])
    assert await store.get(tenant, [memory.id, "m_unknown"]) == {memory.id: memory}
    [held] = (await store.parts(tenant, [memory.id]))[memory.id]
    assert (held.start, held.end, held.terms) == (0, len(text), parts[0].terms)
    assert np.allclose(held.vector, parts[0].vector)


async def test_the_largest_memory_fits(store: MemoryIndex, tenant: str) -> None:
    text = "\x01" * 16_384
    fields = {"data": {"a": "\x01" * 2_700}, "namespace": "\x01" * 512, "metadata": {"a": "x" * 2_030}}
    memory, parts = row(tenant, "big", text, tags=tuple(f"{n:02}" + "\x01" * 62 for n in range(32)), **fields)
    await store.upsert([(memory, parts)])
    assert (await store.get(tenant, [memory.id]))[memory.id] == memory


async def test_an_upsert_replaces(store: MemoryIndex, tenant: str) -> None:
    await store.upsert([row(tenant, "a", version=1)])
    await store.upsert([row(tenant, "a", version=2)])
    [memory] = (await store.get(tenant, [f"m_{tenant[-8:]}_a"])).values()
    assert memory.version == 2
    assert (await store.counts(tenant))["active"] == 1


async def test_tenants_never_meet(store: MemoryIndex, tenant: str) -> None:
    other = f"other-{tenant}"
    memory, parts = row(tenant, "a")
    await store.upsert([(memory, parts), row(other, "b")])
    assert await store.get(other, [memory.id]) == {}
    assert [m.id for m in await store.dense(other, Where(), unit(0), 10)] == [f"m_{other[-8:]}_b"]
    assert [m.id for m in await store.keyword(other, Where(), ["tea"], 10)] == [f"m_{other[-8:]}_b"]
    assert await store.get(tenant, [memory.id]) == {memory.id: memory}


async def test_dense_orders_by_cosine_and_keyword_by_bm25(store: MemoryIndex, tenant: str) -> None:
    await store.upsert(
        [row(tenant, "a", "green tea", 0), row(tenant, "b", "red car in green", 1), row(tenant, "c", "blue", 2)]
    )
    prefix = f"m_{tenant[-8:]}_"
    dense = await store.dense(tenant, Where(), unit(1) * 0.8 + unit(0) * 0.6, 2)
    assert [m.id for m in dense] == [f"{prefix}b", f"{prefix}a"]
    assert [round(m.score, 3) for m in dense] == [0.8, 0.6]
    keyword = await store.keyword(tenant, Where(), ["green", "tea"], 10)
    assert [m.id for m in keyword] == [f"{prefix}a", f"{prefix}b"]
    assert all(m.score > 0 for m in keyword)
    assert await store.keyword(tenant, Where(), ["absent"], 10) == []


@pytest.mark.parametrize(
    ("where", "found"),
    [
        (Where((Condition("state", "in", ("active",)),)), "ab"),
        (Where((Condition("agent", "eq", 'x" or tenant != "'),)), "b"),
        (Where((Condition("agent", "eq", "nobody"),)), ""),
        (Where((Condition("importance", "ge", 0.6),)), "b"),
        (Where((Condition("tags", "has_all", ("p", "q")),)), "b"),
        (Where((Condition("tags", "has_any", ("q", "r")),)), "b"),
        (Where((Condition("namespaces", "has_any", ("n",)),)), "ab"),
        (Where((Condition("namespaces", "has_any", ("n/m",)),)), "b"),
        (Where((Condition("metadata", "has_all", ('["k",1]',)),)), "a"),
        (Where((Condition("part", "gt", 0),)), ""),
        (Where((), ((Condition("agent", "eq", ""), Condition("visibility", "eq", "shared")),)), "a"),
    ],
)
async def test_conditions(store: MemoryIndex, tenant: str, where: Where, found: str) -> None:
    await store.upsert(
        [
            row(tenant, "a", tags=("p",), namespace="n", metadata={"k": 1}),
            row(tenant, "b", tags=("p", "q"), namespace="n/m", agent='x" or tenant != "', importance=0.9),
            row(tenant, "c", state=State.QUARANTINED, namespace="nm", agent="z"),
        ]
    )
    active = where.also(Condition("state", "eq", "active"))
    ids = {m.id for m in await store.dense(tenant, active, unit(0), 10)}
    assert ids == {f"m_{tenant[-8:]}_{c}" for c in found}


async def test_long_memories_have_parts_that_can_be_dropped(store: MemoryIndex, tenant: str) -> None:
    memory, _ = row(tenant, "a", "tea and car")
    parts = [Part(0, 0, 3, "tea", unit(0)), Part(1, 4, 11, "car", unit(1))]
    await store.upsert([(memory, parts)])
    [match] = await store.keyword(tenant, Where(), ["car"], 10)
    assert (match.id, match.part) == (memory.id, 1)
    spans = await store.spans(tenant, [(memory.id, 1), ("m_gone", 0)])
    assert (spans[(memory.id, 1)].start, spans[(memory.id, 1)].end) == (4, 11)
    await store.drop_parts(tenant, memory.id, 1)
    assert await store.keyword(tenant, Where(), ["car"], 10) == []
    assert len((await store.parts(tenant, [memory.id]))[memory.id]) == 1


async def test_a_memory_without_parts_is_found_by_nothing_but_its_id(store: MemoryIndex, tenant: str) -> None:
    memory, _ = row(tenant, "a", "", state=State.FORGOTTEN)
    await store.upsert([(memory, [])])
    assert (await store.get(tenant, [memory.id]))[memory.id] == memory
    assert await store.keyword(tenant, Where(), ["tea"], 10) == []


async def test_pages_go_back_in_time(store: MemoryIndex, tenant: str) -> None:
    times = [datetime(2026, 11, 30, 9, tzinfo=UTC), datetime(2026, 10, 1, tzinfo=UTC), datetime(2020, 1, 1, tzinfo=UTC)]
    await store.upsert([row(tenant, str(n), created_at=t) for n, t in enumerate(times)])
    first = await store.page(tenant, Where(), None, 2)
    rest = await store.page(tenant, Where(), first[-1], 2)
    assert [id_[-1] for _, id_ in first + rest] == ["0", "1", "2"]
    assert await store.page(tenant, Where(), rest[-1], 2) == []


async def test_another_model_is_refused(milvus: MilvusIndex, milvus_uri: str) -> None:
    with pytest.raises(SetupError, match="REARVIEW_EMBED_MODEL"):
        await MilvusIndex.open(milvus_uri, model="another", dimension=DIMENSION)


async def test_a_server_that_is_not_there_is_unavailable() -> None:
    with pytest.raises(Unavailable):
        await MilvusIndex.open("http://127.0.0.1:9", model="m", dimension=4, seconds=1)


async def test_token_vectors_are_kept_beside_their_part(store: MemoryIndex, tenant: str) -> None:
    random_ = np.random.default_rng(7)
    made = [random_.integers(-127, 128, (n, 96)).astype(np.int8) for n in (300, 3, 5)]
    memory, [part] = row(tenant, "long")
    parts = [replace(part, number=n, tokens=tokens, late="model@1") for n, tokens in enumerate(made)]
    plain, bare = row(tenant, "plain")
    await store.upsert([(memory, parts), (plain, bare)])
    whole = {memory.id: np.concatenate(made)}
    for ids in (None, [memory.id, plain.id, "m_unknown"]):
        found = await store.tokens(tenant, "model@1", ids)
        assert found is not None and set(found) == set(whole)
        assert np.array_equal(found[memory.id], whole[memory.id])
    assert await store.tokens(tenant, "another@1") == {}
    assert await store.tokens(tenant, "model@1", most=2) is None
    read = (await store.parts(tenant, [memory.id]))[memory.id]
    assert [p.late for p in read] == ["model@1"] * 3
    assert np.array_equal(read[1].tokens, made[1])
    await store.upsert([(memory, parts[:1])])
    await store.drop_parts(tenant, memory.id, 1)
    again = await store.tokens(tenant, "model@1", [memory.id])
    assert again is not None and len(again[memory.id]) == 300


async def test_a_blank_part_and_an_odd_model_name_come_back(store: MemoryIndex, tenant: str) -> None:
    memory, [part] = row(tenant, "blank")
    made = np.ones((2, 96), np.int8)
    parts = [
        part,
        replace(part, number=1, terms="", start=4, end=9, tokens=made, late="my:model@1"),
        replace(part, number=2),
    ]
    await store.upsert([(memory, parts)])
    read = (await store.parts(tenant, [memory.id]))[memory.id]
    assert [(p.number, p.late) for p in read] == [(0, ""), (1, "my:model@1"), (2, "")]
    [seen] = await store.inspect(tenant, [memory.id])
    assert len(seen.parts) == 3


@pytest.mark.parametrize("key", ["x'] or part >= 0 or id in ['", "m_1#1 or 1 == 1", "'", "", "é"])
async def test_no_id_is_read_as_an_expression(store: MemoryIndex, tenant: str, key: str) -> None:
    await store.upsert([row(tenant, "a")])
    assert await store.get(tenant, [key]) == {}
    assert await store.tokens(tenant, "m", [key]) == {}
    assert await store.spans(tenant, [(key, 0)]) == {}
