"""What begins by the clock: snapshot and sweep once a night, reflection on ended tasks and on new episodes."""

from datetime import UTC, datetime, time
from pathlib import Path

from rearview_pipelines.lifecycle.schedule import Ended, Schedule, Timetable
from rearview_pipelines.requests import EndRequest, ObserveRequest
from rearview_pipelines.testing import FakeClock
from tests.rig import ADMIN, Rig, opened


def schedule(rig: Rig, **changes: object) -> Schedule:
    runner = rig.writer.runner
    assert runner is not None
    timetable = Timetable(**changes)  # type: ignore[arg-type]
    index = rig.writer._tools.index
    return Schedule(rig.writer, runner.jobs, Ended(rig.objects), rig.objects, index, rig.ledger, rig.clock, timetable)


async def looked(rig: Rig, due: Schedule) -> list[str]:
    """Kinds of what began, each at its end."""
    begun = await due.look()
    for job in begun:
        assert (await rig.ended(job.id)).status == "done"
    return [job.kind for job in begun]


async def test_a_snapshot_and_then_a_sweep_every_night_in_the_stores_zone(tmp_path: Path) -> None:
    async with opened(tmp_path, FakeClock(datetime(2026, 11, 30, 0, 0, tzinfo=UTC))) as rig:
        await rig.write("A fact.")
        due = schedule(rig, nightly=time(3, 30), zone="Asia/Shanghai", reflect=False)
        assert await looked(rig, due) == []
        rig.clock.forward(hours=19)  # 03:00 there
        assert await looked(rig, due) == []
        rig.clock.forward(minutes=31)
        assert await looked(rig, due) == ["snapshot"]
        assert await looked(rig, due) == ["sweep"]
        assert await looked(rig, due) == []
        rig.clock.forward(days=3)  # it was off for a while: one night is made up for
        assert [*await looked(rig, due), *await looked(rig, due), *await looked(rig, due)] == ["snapshot", "sweep"]


async def test_ended_tasks_are_reflected_on_in_batches_or_after_a_while(tmp_path: Path) -> None:
    async with opened(tmp_path) as rig:
        due = schedule(rig, nightly=None)

        async def end(n: int) -> None:
            turns = [{"role": "user", "text": f"Please restart server {n}, we decided it yesterday."}]
            body = {"session": f"s{n}", "task": f"t{n}", "task_type": "restart", "turns": turns}
            await rig.service.observe(ADMIN, ObserveRequest.model_validate(body))
            await rig.service.sessions.end(ADMIN, f"s{n}", EndRequest(outcome="success"))

        await end(0)
        assert await looked(rig, due) == []
        rig.clock.forward(minutes=6)
        assert await looked(rig, due) == ["reflect"]
        assert await looked(rig, due) == []
        for n in range(1, 11):
            await end(n)
        assert await looked(rig, due) == ["reflect"]


async def test_ten_new_episodes_of_a_kind_are_reflected_on_within_the_hour(tmp_path: Path) -> None:
    async with opened(tmp_path) as rig:
        due = schedule(rig, nightly=None)
        await rig.write(*(f"Episode {n} of this." for n in range(9)), layer="episodic", task_type="deploy")
        await rig.write("An episode of that.", layer="episodic", task_type="backup")
        rig.clock.forward(seconds=1)
        assert await looked(rig, due) == []
        rig.clock.forward(minutes=30)
        await rig.write("Episode 9 of this.", layer="episodic", task_type="deploy")
        assert await looked(rig, due) == []
        rig.clock.forward(minutes=31)
        assert await looked(rig, due) == ["reflect"]
        rig.clock.forward(minutes=61)
        assert await looked(rig, due) == []
