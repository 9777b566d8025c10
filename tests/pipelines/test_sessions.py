"""Working memory on a real store: seeds, updates by turns, compare-and-swap, its end, its time, its forgetting."""

import asyncio
from pathlib import Path

import pytest

from rearview_pipelines.errors import Conflict, Forbidden, InvalidInput, NotFound
from rearview_pipelines.memory import Layer, Outcome
from rearview_pipelines.principal import Principal, Role
from rearview_pipelines.receipts import Receipt
from rearview_pipelines.requests import (
    EndRequest,
    ForgetRequest,
    ListRequest,
    ObserveRequest,
    StartRequest,
    SummaryRequest,
    parse,
)
from rearview_pipelines.sessions.requests import PutRequest
from tests.rig import ADMIN, Rig, opened, traces

TURNS = [
    {"role": "user", "text": "Please move the billing database to Frankfurt."},
    {"role": "assistant", "text": "I will dump it first."},
    {
        "role": "tool",
        "tool_calls": [{"name": "pg_dump", "arguments": {"db": "billing"}, "result": "12 GB", "ok": True}],
    },
    {"role": "user", "text": "By the way, I prefer answers in German."},
    {"role": "user", "text": "We decided to keep the old server until Friday."},
    {"role": "assistant", "text": "The copy is finished."},
]


async def observe(
    rig: Rig, session: str, *turns: dict[str, object], who: Principal = ADMIN, **more: object
) -> list[Receipt]:
    return await rig.service.observe(who, ObserveRequest.model_validate({"session": session, "turns": turns, **more}))


async def test_a_session_from_its_start_to_its_end(tmp_path: Path) -> None:
    async with opened(tmp_path) as rig:
        [known] = await rig.write("The billing database runs in Dublin.")
        begun = await rig.service.sessions.start(ADMIN, "s1", StartRequest(goal="Move the billing database."))
        assert begun["state"]["goal"] == "Move the billing database."
        assert [m.id for m in begun["seeds"]] == [known]
        await observe(rig, "s1", *TURNS, task="t-7", task_type="migration")
        held = await rig.service.sessions.get(ADMIN, "s1", None, None)
        state = held["state"]
        assert state["latest_instruction"] == "We decided to keep the old server until Friday."
        assert state["preferences"] == ["By the way, I prefer answers in German."]
        assert state["tool_in_use"] == {"name": "pg_dump", "arguments": {"db": "billing"}}
        assert "The copy is finished." in state["finished_steps"]
        assert held["task"] == "t-7"

        receipts = await rig.service.sessions.end(ADMIN, "s1", EndRequest())
        made = [await rig.service.get(ADMIN, r.id or "") for r in receipts]
        episode = made[0]
        assert (episode.layer, episode.outcome, episode.task_type) == (Layer.EPISODIC, Outcome.SUCCESS, "migration")
        assert len(episode.text) <= 80
        assert episode.text.startswith("Move the billing database.")
        assert episode.source.derived_from
        assert len((episode.data or {})["summary"]) <= 200
        facts = {m.text: m.kind.value for m in made[1:]}
        assert facts["By the way, I prefer answers in German."] == "preference"
        assert all(m.layer is Layer.SEMANTIC and m.source.derived_from for m in made[1:])
        again = await rig.service.sessions.end(ADMIN, "s1", EndRequest())
        assert {r.status.value for r in again} == {"duplicate"}
        assert [r.id for r in again] == [r.id for r in receipts]


async def test_a_state_is_replaced_only_at_the_version_that_was_read(tmp_path: Path) -> None:
    async with opened(tmp_path) as rig:
        begun = await rig.service.sessions.start(ADMIN, "s1", StartRequest(goal="Go."))
        put = parse(PutRequest, {"version": begun["version"], "state": {"goal": "Go on.", "next_step": "Run."}})
        after = await rig.service.sessions.put(ADMIN, "s1", put)
        assert (after["version"], after["state"]["next_step"]) == (begun["version"] + 1, "Run.")
        with pytest.raises(Conflict, match="read it again"):
            await rig.service.sessions.put(ADMIN, "s1", put)
        flat = parse(PutRequest, {"version": after["version"], "goal": "Flat."})
        results = await asyncio.gather(
            *(rig.service.sessions.put(ADMIN, "s1", flat) for _ in range(5)), return_exceptions=True
        )
        assert sum(isinstance(r, dict) for r in results) == 1
        with pytest.raises(NotFound):
            await rig.service.sessions.put(ADMIN, "s2", flat)
        with pytest.raises(InvalidInput, match="state"):
            parse(PutRequest, {"version": 1, "state": {"goal": 5}})
        with pytest.raises(InvalidInput, match="gaol"):
            parse(PutRequest, {"version": 1, "gaol": "x"})


async def test_secrets_and_personal_data_do_not_get_in(tmp_path: Path) -> None:
    async with opened(tmp_path) as rig:
        begun = await rig.service.sessions.start(ADMIN, "s1", StartRequest(goal="Write to ada@example.org about it."))
        assert begun["state"]["goal"] == "Write to <EMAIL_ADDRESS> about it."
        step = "The password is hunter2-Xk9!q and the host is fra1."
        bad = {"version": begun["version"], "state": {"next_step": step}}
        with pytest.raises(InvalidInput, match="secret"):
            await rig.service.sessions.put(ADMIN, "s1", parse(PutRequest, bad))
        assert traces(tmp_path / "objects" / "sessions", ["ada@example.org", "hunter2"]) == []


async def test_it_is_its_holders_own_and_lives_half_an_hour(tmp_path: Path) -> None:
    async with opened(tmp_path) as rig:
        ada = Principal("default", Role.WRITER, agent="a", user="ada", id="tok_a")
        bob = Principal("default", Role.WRITER, agent="a", user="bob", id="tok_b")
        await rig.service.sessions.start(ada, "s1", StartRequest(goal="Mine."))
        with pytest.raises(NotFound):
            await rig.service.sessions.get(bob, "s1", None, None)
        with pytest.raises(Forbidden):
            await rig.service.sessions.get(bob, "s1", None, "ada")
        assert (await rig.service.sessions.get(ADMIN, "s1", "a", "ada"))["state"]["goal"] == "Mine."
        rig.clock.forward(minutes=29)
        await observe(rig, "s1", {"role": "user", "text": "Still here."}, who=ada)
        rig.clock.forward(minutes=29)
        assert (await rig.service.sessions.get(ada, "s1", None, None))["state"]["latest_instruction"] == "Still here."
        rig.clock.forward(minutes=2)
        with pytest.raises(NotFound):
            await rig.service.sessions.get(ada, "s1", None, None)
        job = await rig.run("sweep")
        assert job.detail["sessions_removed"] == 1
        assert await rig.objects.keys("sessions/") == []


async def test_what_is_forgotten_is_forgotten_in_working_memory_too(tmp_path: Path) -> None:
    async with opened(tmp_path) as rig:
        receipts = await observe(
            rig,
            "s1",
            {"role": "user", "text": "My cat is called Zanzibarquokka."},
            {"role": "user", "text": "I like tea."},
        )
        report = await rig.service.forget(ADMIN, ForgetRequest(ids=(receipts[0].id or "",)))
        assert report.places["sessions"] == 1
        state = (await rig.service.sessions.get(ADMIN, "s1", None, None))["state"]
        assert (state["goal"], state["latest_instruction"]) == (None, "I like tea.")
        await rig.service.forget(ADMIN, ForgetRequest(session="s1"))
        with pytest.raises(NotFound):
            await rig.service.sessions.get(ADMIN, "s1", None, None)
        await observe(rig, "s2", {"role": "user", "text": "My dog is called Zanzibarquokka."}, user="ada")
        await rig.service.forget(ADMIN, ForgetRequest(user="ada"))
        await rig.run("purge")
        assert traces(tmp_path, ["Zanzibarquokka"]) == []


async def test_an_end_that_was_cut_short_is_asked_for_again(tmp_path: Path) -> None:
    async with opened(tmp_path) as rig:
        await observe(rig, "s1", *TURNS)
        kept = rig.writer._kept
        assert kept is not None
        _, drafts = await kept.leaving(ADMIN, "s1", "", "", None)
        assert len(drafts) > 1
    async with opened(tmp_path, rig.clock) as rig:  # it died before a word was written
        receipts = await rig.service.sessions.end(ADMIN, "s1", EndRequest())
        assert len(receipts) == len(drafts)
        memories, _ = await rig.service.list_memories(ADMIN, ListRequest(limit=100))
        assert (
            sum(m.layer is Layer.EPISODIC and not m.source.turn and m.source.kind == "reflection" for m in memories)
            == 1
        )


async def test_a_session_or_a_text_is_summed_up_with_its_turns(tmp_path: Path) -> None:
    async with opened(tmp_path) as rig:
        await observe(rig, "s1", *TURNS)
        answer = await rig.service.sessions.summarize(ADMIN, SummaryRequest(session="s1"))
        assert answer["mode"] == "extractive"
        by_text = {one["text"]: one for one in answer["statements"]}
        assert by_text["By the way, I prefer answers in German."]["turns"] == [3]
        assert by_text["We decided to keep the old server until Friday."]["kind"] in ("decision", "fact")
        assert len(answer["statements"]) <= 10
        stored = await rig.service.sessions.summarize(ADMIN, SummaryRequest(session="s1", store=True))
        assert all(receipt["id"] for receipt in stored["receipts"])
        text = await rig.service.sessions.summarize(ADMIN, SummaryRequest(text="哈哈。我住在杭州，每天喝绿茶。好的。"))
        assert [one["text"] for one in text["statements"]] == ["我住在杭州，每天喝绿茶。"]
        with pytest.raises(NotFound):
            await rig.service.sessions.summarize(ADMIN, SummaryRequest(session="none"))
        reader = Principal("default", Role.READER, id="tok_r")
        with pytest.raises(Forbidden):
            await rig.service.sessions.summarize(reader, SummaryRequest(text="I live in Leeds.", store=True))
