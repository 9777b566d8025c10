"""Killed with SIGKILL at random moments, five times a kind of job: it goes on, nothing is lost, nothing doubled."""

import random
from pathlib import Path

import pytest

from tests.job_child import KINDS
from tests.killing import killed, prepared, whole

LONGEST = {"sweep": 0.8, "snapshot": 0.3, "restore": 0.4, "purge": 1.5, "migrate": 2.5, "reflect": 0.6}
"""Seconds that a job of the kind takes here, so that a kill falls into it."""


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.timeout(300)
async def test_a_killed_job_is_gone_on_with(tmp_path: Path, kind: str) -> None:
    await prepared(tmp_path)
    chosen = random.Random(f"kill {kind}")
    for _ in range(5):
        killed(tmp_path, kind, chosen, LONGEST[kind])
    assert await whole(tmp_path) == ""
