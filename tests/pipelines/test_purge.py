"""Forgetting that holds: by every scope, in every place; and no byte of it is left when the purge is done."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from rearview_pipelines.errors import Forbidden, NotFound
from rearview_pipelines.principal import Principal, Role
from rearview_pipelines.requests import Filters, ForgetRequest, ObserveRequest, RecallRequest, TranscriptRequest
from rearview_pipelines.stores.milvus import MilvusIndex
from tests.rig import ADMIN, Rig, opened, traces

SECRET = "Zanzibarquokka"
TEXT = f"The launch codename is {SECRET}."
OTHERS = ("The office plants are watered on Fridays.", "用户住在杭州。")


async def found(rig: Rig, query: str) -> list[str]:
    return [m.text for m in (await rig.service.recall(ADMIN, RecallRequest(query=query, top_k=20))).memories]


async def test_no_byte_is_left_in_any_place(tmp_path: Path) -> None:
    data = tmp_path / "data"
    async with opened(data) as rig:
        turns = [
            {"role": "user", "text": text, "ref": str(n)}
            for n, text in enumerate((f"I live in {SECRET}.", "I like tea."))
        ]
        await rig.service.observe(ADMIN, ObserveRequest.model_validate({"session": "s1", "turns": turns}))
        hot, cold = await rig.write(TEXT, f"The backup codename is {SECRET} too.")
        kept = await rig.write(*OTHERS)
        await rig.writer.archive("default", [cold, kept[0]])
        assert (await rig.run("snapshot")).status == "done"
        assert (await rig.run("snapshot")).status == "done"
        assert len(await found(rig, SECRET)) >= 3
        await rig.service.settled()
        assert len(traces(data, [SECRET])) > 4

        report = await rig.service.forget(ADMIN, ForgetRequest(ids=(hot, cold)))
        assert (report.forgotten, report.places["cold"]) == (2, 1)
        assert report.purge.status == "running"
        assert all(SECRET not in text or "live" in text for text in await found(rig, SECRET))
        session = await rig.service.forget(ADMIN, ForgetRequest(session="s1"))
        assert session.places["transcripts"] == 2
        with pytest.raises(NotFound):
            await rig.service.transcript(ADMIN, TranscriptRequest(session="s1"))
        job = await rig.ended(session.purge.job or "")
        assert job.status == "done", job.detail
        assert job.detail["left"] == {"cold": 0, "snapshots": 0}
        assert not [text for text in await found(rig, SECRET) if SECRET in text]
        assert set(OTHERS) <= set(await found(rig, "office plants 杭州"))
        assert (await rig.service.verify(ADMIN))["ok"]
        assert traces(data, [SECRET]) == []
    assert traces(data, [SECRET]) == []
    async with opened(data) as rig:
        assert not [text for text in await found(rig, SECRET) if SECRET in text]
        restored = await rig.run("restore")
        assert restored.status == "done", restored.detail
        assert not [text for text in await found(rig, SECRET) if SECRET in text]
        [again] = await rig.write(TEXT)
        assert again == hot
        assert (await found(rig, SECRET))[0] == TEXT


async def test_a_user_is_forgotten_whole_and_nobody_else(tmp_path: Path) -> None:
    async with opened(tmp_path) as rig:
        await rig.write(TEXT, user="ada")
        await rig.write("The launch codename of Bob is Wallaby.", user="bob")
        turn = {"role": "user", "text": f"I work on {SECRET}."}
        await rig.service.observe(
            ADMIN, ObserveRequest.model_validate({"session": "s", "user": "ada", "turns": [turn]})
        )
        ada = Principal("default", Role.WRITER, user="ada", id="tok_ada")
        await rig.service.recall(ada, RecallRequest(query="codename"))
        await rig.service.settled()
        bob = Principal("default", Role.WRITER, user="bob", id="tok_bob")
        with pytest.raises(Forbidden):
            await rig.service.forget(bob, ForgetRequest(user="ada"))
        dry = await rig.service.forget(ADMIN, ForgetRequest(user="ada", dry_run=True))
        assert (len(dry.ids), dry.forgotten) == (2, 0)
        report = await rig.service.forget(ada, ForgetRequest(user="ada"))
        assert (report.forgotten, report.places["transcripts"]) == (2, 1)
        await rig.ended(report.purge.job or "")
        assert await found(rig, "codename") == ["The launch codename of Bob is Wallaby."]
        await rig.writer.close()
        assert traces(tmp_path, [SECRET]) == []
        assert not traces(tmp_path / "objects" / "recalls", ['"user": "ada"'])


async def test_what_a_filter_finds_is_forgotten(tmp_path: Path) -> None:
    async with opened(tmp_path) as rig:
        ids = await rig.write("Trial account one.", "Trial account two.", tags=["trial"])
        [kept] = await rig.write("A paying account.", tags=["paid"])
        await rig.writer.archive("default", ids[:1])
        request = ForgetRequest(filters=Filters(tags=("trial",)))
        dry = await rig.service.forget(ADMIN, request.model_copy(update={"dry_run": True}))
        assert set(dry.ids) == set(ids)
        report = await rig.service.forget(ADMIN, request)
        assert report.forgotten == 2
        assert (await rig.service.get(ADMIN, kept)).text == "A paying account."
        assert (await rig.service.forget(ADMIN, request)).forgotten == 0


async def test_a_purge_that_never_began_is_begun_by_the_next_start(tmp_path: Path) -> None:
    async with opened(tmp_path) as rig:
        [id_] = await rig.write(TEXT)
        await rig.write(*OTHERS)
        rig.writer.runner = None  # as if the process had died before the job was written
        await rig.service.forget(ADMIN, ForgetRequest(ids=(id_,)))
        assert traces(tmp_path, [SECRET])
    async with opened(tmp_path) as rig:
        runner = rig.writer.runner
        assert runner is not None
        job = await runner.joined("default", "purge")
        assert (await rig.ended(job.id)).status == "done"
        assert traces(tmp_path, [SECRET]) == []
        assert set(OTHERS) <= set(await found(rig, "plants 杭州"))


async def test_writes_go_on_while_the_index_is_rewritten(tmp_path: Path) -> None:
    async with opened(tmp_path) as rig:
        ids = await rig.write(*(f"Fact number {n} about widget {n * 7}." for n in range(300)))
        report = await rig.service.forget(ADMIN, ForgetRequest(ids=tuple(ids[:3])))
        late = await rig.write(*(f"Late fact {n} on gadget {n}." for n in range(40)))
        more = await rig.service.forget(ADMIN, ForgetRequest(ids=(late[0], ids[10])))
        job = await rig.ended(more.purge.job or report.purge.job or "")
        assert job.status == "done", job.detail
        assert (await rig.service.verify(ADMIN))["ok"]
        assert {m for m in await rig.milvus.ids("default")} == {*ids, *late}
        assert traces(tmp_path, ["Late fact 0 on", "Fact number 10 about"]) == []
        assert (await rig.service.get(ADMIN, late[5])).text == "Late fact 5 on gadget 5."


async def test_a_reader_of_the_old_collection_finds_token_vectors_of_what_was_written_since(tmp_path: Path) -> None:
    async with opened(tmp_path) as rig:
        await rig.write(TEXT)
        reader = await MilvusIndex.open(
            str(tmp_path / "milvus.db"), model=rig.milvus.model, dimension=rig.milvus.dimension
        )
        try:
            rewriter = rig.writer.rewriter
            assert rewriter is not None
            await rewriter.begin()
            for id_ in await rewriter.ids("default"):
                await rewriter.copy("default", [id_])
            old = await rewriter.switch()
            assert reader.generation == old != rig.milvus.generation
            [(memory, parts)] = await rewriter.whole("default", await rewriter.ids("default"))
            since = memory.model_copy(update={"id": memory.id[:-1] + ("a" if memory.id[-1] != "a" else "b")})
            part = replace(parts[0], tokens=np.ones((3, 4), np.int8), late="late")
            await rig.milvus.upsert([(since, [part])])
            found = await reader.tokens("default", "late", [since.id]) or {}
            assert {id_: len(tokens) for id_, tokens in found.items()} == {since.id: 3}
            assert reader.generation == rig.milvus.generation
        finally:
            await reader.close()
