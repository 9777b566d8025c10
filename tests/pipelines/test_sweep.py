"""The sweep as a job, on a real store: expires, archives, merges, keeps within capacity; and does not trust a clock."""

from pathlib import Path

import pytest

from rearview_pipelines.errors import NotFound
from rearview_pipelines.lifecycle.policy import Lifecycle
from rearview_pipelines.memory import State, Tier
from rearview_pipelines.requests import ObserveRequest, RecallRequest, TranscriptRequest
from rearview_pipelines.testing import FakeClock
from tests.rig import ADMIN, opened, traces


async def test_what_is_over_goes_and_what_faded_goes_cold(tmp_path: Path) -> None:
    clock = FakeClock()
    async with opened(tmp_path, clock) as rig:
        [episode] = await rig.write("The deploy of Tuesday failed.", layer="episodic")
        [fact] = await rig.write("The deploy window is Tuesday.")
        [pinned] = await rig.write("The outage of March was DNS.", layer="episodic", pinned=True)
        [brief] = await rig.write("Trial key Xylophonic expires.", expires_at="2026-12-01T00:00:00Z")
        turn = {"role": "user", "text": "I saw Xylophonic yesterday."}
        await rig.service.observe(ADMIN, ObserveRequest.model_validate({"session": "s1", "turns": [turn]}))
        assert (await rig.run("sweep")).detail["archived"] == 0
        clock.forward(days=31)
        job = await rig.run("sweep")
        assert job.status == "done", job.detail
        counts = {name: job.detail[name] for name in ("expired", "archived", "transcripts_removed")}
        assert counts == {"expired": 1, "archived": 2, "transcripts_removed": 1}
        assert (await rig.service.get(ADMIN, episode)).tier is Tier.COLD
        assert (await rig.service.get(ADMIN, fact)).tier is Tier.HOT
        assert (await rig.service.get(ADMIN, pinned)).tier is Tier.HOT
        with pytest.raises(NotFound):
            await rig.service.get(ADMIN, brief)
        with pytest.raises(NotFound):
            await rig.service.transcript(ADMIN, TranscriptRequest(session="s1"))
        assert (await rig.service.verify(ADMIN))["ok"]
        [hit, *_] = (await rig.service.recall(ADMIN, RecallRequest(query="deploy Tuesday failed"))).memories
        assert hit.id in (episode, fact)
        job = await rig.run("purge")
        assert traces(tmp_path, ["Trial key Xylophonic"]) == []
    async with opened(tmp_path, clock) as rig:  # a hit has brought it back
        assert (await rig.service.get(ADMIN, episode)).tier is Tier.HOT


async def test_capacity_of_store_tenant_and_user(tmp_path: Path) -> None:
    policy = Lifecycle(capacity=8, capacity_user=3)
    async with opened(tmp_path, policy=policy) as rig:
        for user in ("ada", "bob"):
            await rig.write(*(f"{user} note {n}" for n in range(5)), user=user, importance=0.4)
        [high] = await rig.write("ada matters", user="ada", importance=0.9)
        job = await rig.run("sweep")
        assert job.detail["archived"] == 5, job.detail
        hot = await rig.service._index.get("default", await rig.milvus.ids("default"))
        of_user = [m.user for m in hot.values() if m.tier is Tier.HOT]
        assert (of_user.count("ada"), of_user.count("bob")) == (3, 3)
        assert (await rig.service.get(ADMIN, high)).tier is Tier.HOT


async def test_near_duplicates_that_were_written_apart_are_merged(tmp_path: Path) -> None:
    async with opened(tmp_path) as rig:
        first, second = await rig.write("The user prefers window seats.", "The user favours window seats.")
        again = await rig.run("sweep")
        assert again.status == "done", again.detail
        states = [(await rig.service.get(ADMIN, id_)).state for id_ in (first, second)]
        if again.detail["merged"]:
            assert sorted(states) == [State.ACTIVE, State.SUPERSEDED]
        assert (await rig.service.verify(ADMIN))["ok"]


async def test_a_clock_that_jumps_decides_nothing(tmp_path: Path) -> None:
    clock = FakeClock()
    async with opened(tmp_path, clock) as rig:
        [id_] = await rig.write("The deploy of Tuesday failed.", layer="episodic")
        assert (await rig.run("sweep")).status == "done"
        clock.forward(days=400)
        jumped = await rig.run("sweep")
        assert jumped.status == "failed"
        assert "if the clock is right, sweep once more" in jumped.detail["error"]
        assert (await rig.service.get(ADMIN, id_)).tier is Tier.HOT
        clock.forward(days=-399)
        back = await rig.run("sweep")
        assert (back.status, "behind the last sweep" in back.detail["error"]) == ("failed", True)
        clock.forward(days=399.5)
        assert (await rig.run("sweep")).detail["archived"] == 1
