"""Kills at random moments of a job, and what has to hold afterwards; for the tests and for the benchmark."""

import random
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

from rearview_pipelines.requests import ForgetRequest, ListRequest
from tests.job_child import POLICY
from tests.rig import ADMIN, FakeModels, Rig, opened

ROOT = Path(__file__).parents[1]
EPISODES = tuple(
    (f"Deploy {n} on Friday {'after warming the cache, calm' if n % 2 else 'straight away, pages timed out'}.", n % 2)
    for n in range(8)
)
FACTS = tuple(f"Fact {n}: the widget of line {n} weighs {n * 3} grams." for n in range(150))
GONE = "The codename is Zanzibarquokka."


async def prepared(data: Path) -> None:
    """A store with facts, episodes, a snapshot, something forgotten and something lost from the index."""
    async with opened(data, policy=POLICY) as rig:
        await rig.write(*FACTS)
        for text, good in EPISODES:
            outcome = "success" if good else "failure"
            await rig.write(text, layer="episodic", task_type="deploy", outcome=outcome)
        [gone] = await rig.write(GONE)
        await rig.run("snapshot")
        report = await rig.service.forget(ADMIN, ForgetRequest(ids=(gone,)))
        await rig.ended(report.purge.job or "")


def killed(data: Path, kind: str, chosen: random.Random, longest: float) -> bool:
    """Run a job in a process of its own and kill it at a random moment after it was open; whether it was done first."""
    child = subprocess.Popen(
        [sys.executable, "-m", "tests.job_child", str(data), kind],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    assert child.stdout is not None
    said: list[str] = []
    reading = threading.Thread(target=lambda: said.extend(iter(child.stdout.readline, "")), daemon=True)  # type: ignore[union-attr]
    reading.start()
    end = time.monotonic() + 60
    while "open\n" not in said:
        assert child.poll() is None and time.monotonic() < end, "".join(said)
        time.sleep(0.005)
    time.sleep(chosen.uniform(0, longest))
    child.send_signal(signal.SIGKILL)
    child.wait()
    reading.join()
    child.stdout.close()
    return "done\n" in said


async def whole(data: Path) -> str:
    """What is wrong with a store after its jobs were gone on with; empty if nothing is."""
    async with opened(data, policy=POLICY, models=FakeModels()) as rig:
        runner = rig.writer.runner
        assert runner is not None
        for _ in range(3):  # one job may begin another
            for job in await runner.jobs.listed(ADMIN.tenant):
                await rig.ended(job.id)
        stuck = [job for job in await runner.jobs.listed(ADMIN.tenant) if job.status in ("queued", "running")]
        return f"{len(stuck)} jobs never ended" if stuck else await _held(rig)


async def _held(rig: Rig) -> str:
    texts: list[str] = []
    cursor = None
    while True:
        memories, cursor = await rig.service.list_memories(ADMIN, ListRequest(limit=500, cursor=cursor))
        texts += [m.text for m in memories if m.kind.value != "rule"]
        if cursor is None:
            break
    wanted = {*FACTS, *(text for text, _ in EPISODES)}
    if len(texts) != len(set(texts)):
        return "something is there twice"
    if set(texts) != wanted:
        return f"{len(wanted - set(texts))} are lost, {len(set(texts) - wanted)} came back"
    report = await rig.service.verify(ADMIN)
    return "" if report["ok"] else f"verify: {report['findings'][:3]}"
