"""Faults that a review found, each as the scenario that showed it."""

from dataclasses import replace
from pathlib import Path

import pytest

from rearview_pipelines.errors import Unavailable
from rearview_pipelines.lifecycle.migrate import InForce, Migrations
from rearview_pipelines.principal import Principal, Role
from rearview_pipelines.requests import EndRequest, ForgetRequest, ObserveRequest, ReflectRequest, StartRequest
from rearview_pipelines.stores.s3 import S3Store
from rearview_pipelines.stores.s3_options import S3Options
from rearview_pipelines.testing import FakeClock
from rearview_pipelines.write.admit import admit
from tests.rig import ADMIN, Rig, opened, traces
from tests.s3_server import client

WORD = "Zanzibarquokka"


class Ticking(FakeClock):
    """A clock that goes on by itself, as clocks do."""

    def now(self):  # type: ignore[no-untyped-def]
        self.forward(milliseconds=1)
        return self.moment


async def observe(rig: Rig, session: str, *texts: str, **more: object) -> list[str | None]:
    turns = [{"role": "user", "text": text} for text in texts]
    body = {"session": session, "turns": turns, **more}
    receipts = await rig.service.observe(ADMIN, ObserveRequest.model_validate(body))
    return [receipt.id for receipt in receipts]


async def test_two_rewrites_of_the_index_at_once_lose_nothing(tmp_path: Path) -> None:
    async with opened(tmp_path) as rig:
        ids = await rig.write(*(f"Fact {n} of widget {n}." for n in range(40)))
        other = Principal("other", Role.ADMIN, id="tok_o")
        await rig.write("A fact of another tenant.", who=other)
        report = await rig.service.forget(ADMIN, ForgetRequest(ids=(ids[0],)))
        more = await rig.writer.start_job("other", "reindex", {})
        assert (await rig.ended(report.purge.job or "")).status == "done"
        assert (await rig.ended(more.id, "other")).status == "done"
    async with opened(tmp_path) as rig:
        assert (await rig.service.verify(ADMIN))["ok"]
        assert (await rig.service.verify(other))["ok"]
        assert len(await rig.milvus.ids("default")) == 40


async def test_a_bucket_whose_versioning_was_suspended_keeps_what_is_put(versioned: S3Options) -> None:
    seen, store = client(versioned), S3Store(versioned)
    await store.put("a/b", b"0")
    try:
        seen.put_bucket_versioning(Bucket=versioned.bucket, VersioningConfiguration={"Status": "Suspended"})
        await store.put("a/b", b"1")
        assert await store.get("a/b") == b"1"
        await store.put("a/b", b"2")
        assert await store.get("a/b") == b"2"
        await store.delete("a/b")
        assert await store.get("a/b") is None
    finally:
        seen.put_bucket_versioning(Bucket=versioned.bucket, VersioningConfiguration={"Status": "Enabled"})


async def test_a_kill_between_the_alias_and_its_note_leaves_a_store_that_opens(tmp_path: Path) -> None:
    async with opened(tmp_path) as rig:
        await rig.write("A fact that stays.")
        migrations = Migrations(rig.objects)
        await migrations.moved(InForce("other-hash", "other", "fake-hash"))
    async with opened(tmp_path) as rig:  # noted, and the alias had not moved yet
        assert rig.milvus.model == "fake-hash"
        assert (await rig.service.verify(ADMIN))["ok"]
        assert (await rig.run("migrate", model="other")).status == "done"
        kept = await migrations.get()
        assert kept is not None
    async with opened(tmp_path) as rig:
        await rig.writer.take_place(kept.old, None)  # on the way back, and nothing was noted of it
    async with opened(tmp_path) as rig:
        assert rig.milvus.model == "fake-hash"
        assert (await rig.service.verify(ADMIN))["ok"]


async def test_a_forget_that_failed_in_a_transcript_is_tried_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with opened(tmp_path) as rig:
        [id_] = await observe(rig, "s", f"I live in {WORD}.")

        async def fails(*_: object) -> None:
            raise Unavailable("the bucket is slow")

        with monkeypatch.context() as patched:
            patched.setattr(rig.writer._transcripts, "forget_turns", fails)
            with pytest.raises(Unavailable):
                await rig.service.forget(ADMIN, ForgetRequest(ids=(id_ or "",)))
        report = await rig.service.forget(ADMIN, ForgetRequest(ids=(id_ or "",)))
        assert (await rig.ended(report.purge.job or "")).status == "done"
        assert traces(tmp_path, [WORD]) == []


async def test_what_is_forgotten_goes_from_a_state_however_it_was_spaced(tmp_path: Path) -> None:
    async with opened(tmp_path, Ticking()) as rig:
        await rig.service.sessions.start(ADMIN, "s", StartRequest(goal="Help."))
        [id_] = await observe(rig, "s", f"I live in\n{WORD},\nnear the sea.")
        await rig.service.forget(ADMIN, ForgetRequest(ids=(id_ or "",)))
        assert WORD not in str(await rig.service.sessions.get(ADMIN, "s", None, None))
        receipts = await rig.service.sessions.end(ADMIN, "s", EndRequest())
        for receipt in receipts:
            assert WORD not in (await rig.service.get(ADMIN, receipt.id or "")).text


async def test_a_session_that_its_first_turns_begin_holds_them(tmp_path: Path) -> None:
    async with opened(tmp_path, Ticking()) as rig:
        [id_] = await observe(rig, "s", "I prefer answers in German.")
        receipts = await rig.service.sessions.end(ADMIN, "s", EndRequest())
        made = [await rig.service.get(ADMIN, receipt.id or "") for receipt in receipts]
        assert "I prefer answers in German." in [memory.text for memory in made]
        assert id_ in made[0].source.derived_from


async def test_the_last_turns_are_the_last_that_were_said(tmp_path: Path) -> None:
    async with opened(tmp_path, Ticking()) as rig:
        ids = await observe(rig, "s", "I live in Leeds.", "Hello!", f"My dog is called {WORD}.", "Thanks!", "Bye!")
        report = await rig.service.forget(ADMIN, ForgetRequest(session="s", last_turns=2))
        assert (report.forgotten, report.places["transcripts"]) == (0, 2)
        report = await rig.service.forget(ADMIN, ForgetRequest(session="s", last_turns=1))
        assert report.ids == (ids[2],)


async def test_a_reflection_reads_no_turns_of_another_holder(tmp_path: Path) -> None:
    async with opened(tmp_path) as rig:
        for n, good in enumerate((False, True, False, True)):
            text = f"Transfer {n} of the account {'after calling the bank' if good else 'at once'}, we decided."
            outcome = "success" if good else "failure"
            about = {"layer": "episodic", "task_type": "transfer", "outcome": outcome, "session": f"s{n}", "agent": "a"}
            await rig.write(text, **about)
            await observe(rig, f"s{n}", f"Before the transfer I phoned {WORD} in private.", agent="b")
        started = await rig.service.reflect(ADMIN, ReflectRequest(task_type="transfer"))
        await rig.ended(started["id"])
        found = await rig.service.reflection(ADMIN, started["id"])
        for id_ in found["lessons"]:
            memory = await rig.service.get(ADMIN, id_)
            assert WORD not in f"{memory.text} {memory.data}"


async def test_a_purge_takes_what_is_forgotten_of_a_note_that_is_not_settled(tmp_path: Path) -> None:
    async with opened(tmp_path) as rig:
        ids = await rig.write(f"The codename is {WORD}.", "Another fact that stays.")
        await rig.run("snapshot")
        assert rig.writer.purging is not None
        await rig.service.forget(ADMIN, ForgetRequest(ids=(ids[0],)))
        await rig.writer.purging.add("default", ids)  # of a forget that died in the middle
        assert (await rig.run("purge")).status == "done"
        assert traces(tmp_path, [WORD]) == []


async def test_what_was_distilled_while_its_source_was_forgotten_is_not_kept(tmp_path: Path) -> None:
    async with opened(tmp_path) as rig:
        await observe(rig, "s", f"My cat is called {WORD}, I decided.")
        kept = rig.writer._kept
        assert kept is not None
        _, drafts = await kept.leaving(ADMIN, "s", "", "", None)
        await rig.service.forget(ADMIN, ForgetRequest(session="s"))
        items = [replace(item, revives=False) for item in admit(ADMIN, drafts)]
        receipts = await rig.writer.write(ADMIN, items)
        assert {receipt.id for receipt in receipts if receipt.id} == set()
