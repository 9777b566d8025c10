"""A process that a test kills: opens a store, goes on with what is left to do, begins a job, and says when it ended.

python -m tests.job_child DATA KIND
"""

import asyncio
import sys
from pathlib import Path

from rearview_pipelines.lifecycle.policy import Lifecycle
from tests.rig import ADMIN, FakeModels, opened

KINDS = {
    "sweep": {},
    "snapshot": {},
    "restore": {},
    "purge": {},
    "migrate": {"model": "other"},
    "reflect": {"task_type": "deploy"},
}
POLICY = Lifecycle(capacity=60)
"""So that a sweep has something to move."""


async def main(data: Path, kind: str) -> None:
    models = FakeModels()
    models.other.seconds = 0.02
    async with opened(data, policy=POLICY, models=models) as rig:
        runner = rig.writer.runner
        assert runner is not None
        print("open", flush=True)
        job = await rig.writer.start_job(ADMIN.tenant, kind, KINDS[kind])
        await runner.finished(job.id)
        for other in await runner.jobs.listed(ADMIN.tenant):
            await runner.finished(other.id)
        print("done", flush=True)


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), sys.argv[2]))
