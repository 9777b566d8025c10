"""Moving to another embedding model in place: it answers all the while, survives a kill, may be taken back."""

import asyncio
from pathlib import Path

import pytest

from rearview_pipelines.errors import SetupError
from rearview_pipelines.requests import ForgetRequest, ListRequest, RecallRequest
from rearview_pipelines.stores.milvus import MilvusIndex
from rearview_pipelines.testing import DIMENSION
from tests.rig import ADMIN, FakeModels, Rig, opened, traces

TEXTS = tuple(
    f"Fact {n}: the {w} of line {n} weighs {n * 3} grams." for n, w in enumerate(["widget", "gadget", "cog"] * 40)
)


async def recalled(rig: Rig, query: str, top_k: int = 1) -> list[str]:
    answer = await rig.service.recall(ADMIN, RecallRequest(query=query, top_k=top_k, explain=True))
    assert not answer.degraded, answer.degraded
    return [memory.text for memory in answer.memories]


async def all_found(rig: Rig, texts: tuple[str, ...] = TEXTS) -> None:
    assert (await rig.service.verify(ADMIN))["ok"]
    for text in texts[::17]:
        assert await recalled(rig, text) == [text]


async def test_a_store_moves_and_may_be_taken_back(tmp_path: Path) -> None:
    async with opened(tmp_path) as rig:
        ids = await rig.write(*TEXTS)
        await rig.writer.archive("default", ids[:3])
        await all_found(rig)
        job = await rig.run("migrate", model="other")
        assert (job.status, job.detail["switched"]) == ("done", True), job.detail
        assert job.detail["agreement"] > 0.5
        assert (rig.milvus.model, rig.milvus.dimension) == ("other-hash", 2 * DIMENSION)
        await all_found(rig)
        memory = await rig.service.get(ADMIN, ids[50])
        assert (memory.embedding_model, memory.version) == ("other-hash", 1)
        [late] = await rig.write("A late fact about sprockets.")
        assert await recalled(rig, "sprockets late") == ["A late fact about sprockets."]
        assert (await rig.service.stats(ADMIN))["embedding_model"] == "other-hash"

        back = await rig.run("migrate", rollback=True)
        assert back.status == "done", back.detail
        assert rig.milvus.model == "fake-hash"
        await all_found(rig)
        assert await recalled(rig, "sprockets late") == ["A late fact about sprockets."]
        assert (await rig.service.get(ADMIN, late)).embedding_model == "fake-hash"
    async with opened(tmp_path) as rig:
        await all_found(rig)


async def test_the_next_start_takes_the_model_that_the_store_has_moved_to(tmp_path: Path) -> None:
    async with opened(tmp_path) as rig:
        await rig.write(*TEXTS[:40])
        await rig.run("migrate", model="other")
        assert (await rig.run("migrate", finish=True)).status == "done"
    async with opened(tmp_path) as rig:
        assert rig.milvus.model == "other-hash"
        await all_found(rig, TEXTS[:40])
        assert (await rig.run("migrate", rollback=True)).status == "failed"
    with pytest.raises(SetupError, match="migrate"):
        await MilvusIndex.open(str(tmp_path / "milvus.db"), model="a-third", dimension=8)


async def test_writes_and_forgetting_go_on_meanwhile(tmp_path: Path) -> None:
    models = FakeModels()
    models.other.seconds = 0.05
    async with opened(tmp_path, models=models) as rig:
        ids = await rig.write(*TEXTS)
        job = await rig.writer.start_job("default", "migrate", {"model": "other"})
        await asyncio.sleep(0.2)
        late = await rig.write(*(f"Late fact {n} on sprocket {n}." for n in range(20)))
        await rig.service.forget(ADMIN, ForgetRequest(ids=(ids[5], ids[100], late[3])))
        await rig.service.patch(ADMIN, ids[60], {"tags": ["seen"]})
        assert await recalled(rig, TEXTS[17]) == [TEXTS[17]]
        done = await rig.ended(job.id)
        assert (done.status, done.detail.get("switched")) == ("done", True), done.detail
        await all_found(rig)
        assert (await rig.service.get(ADMIN, ids[60])).tags == ("seen",)
        memories, _ = await rig.service.list_memories(ADMIN, ListRequest(limit=500))
        assert len(memories) == len(TEXTS) + 20 - 3
        assert await recalled(rig, "Late fact 7 on sprocket 7.") == ["Late fact 7 on sprocket 7."]
        await rig.run("migrate", finish=True)
        purged = await rig.run("purge")
        assert purged.status == "done", purged.detail
        assert traces(tmp_path, ["Late fact 3 on sprocket"]) == []


async def test_a_kill_on_the_way_is_gone_on_from(tmp_path: Path) -> None:
    models = FakeModels()
    models.other.seconds = 0.05
    async with opened(tmp_path, models=models) as rig:
        await rig.write(*TEXTS)
        await rig.writer.start_job("default", "migrate", {"model": "other"})
        await asyncio.sleep(0.25)
    async with opened(tmp_path, models=models) as rig:
        runner = rig.writer.runner
        assert runner is not None
        await asyncio.sleep(0.05)
        for job in await runner.jobs.listed("default"):
            await rig.ended(job.id)
        assert rig.milvus.model == "other-hash"
        await all_found(rig)


async def test_what_cannot_be_moved_to_is_said(tmp_path: Path) -> None:
    async with opened(tmp_path) as rig:
        await rig.write(*TEXTS[:30])
        for parameters, error in (
            ({"model": "unheard-of"}, "not there as ONNX"),
            ({}, "missing"),
            ({"rollback": True}, "no migration"),
            ({"finish": True}, "no migration"),
            ({"model": "other", "agreement": 1.01}, "nothing was switched"),
        ):
            job = await rig.run("migrate", **parameters)
            assert (job.status, error in job.detail["error"]) == ("failed", True), job.detail
        assert rig.milvus.model == "fake-hash"
        await all_found(rig, TEXTS[:30])


async def test_what_is_cold_is_embedded_anew_when_it_comes_back(tmp_path: Path) -> None:
    async with opened(tmp_path) as rig:
        ids = await rig.write(*TEXTS[:40])
        await rig.writer.archive("default", ids[:2])
        await rig.run("migrate", model="other")
        assert await recalled(rig, TEXTS[0]) == [TEXTS[0]]
        await rig.service.settled()
        thawed = await rig.service.get(ADMIN, ids[0])
        assert (thawed.embedding_model, thawed.tier.value) == ("other-hash", "hot")
        assert (await rig.service.verify(ADMIN))["ok"]
        [row] = await rig.milvus.whole("default", [ids[0]])
        assert len(row[1][0].vector) == 2 * DIMENSION
