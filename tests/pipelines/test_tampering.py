"""Random changes of stored rows: each is named by verify, none is served. The long run is a benchmark."""

from pathlib import Path

import pytest

from benchmarks.tampering import tamper


@pytest.mark.parametrize("seed", [1, 2])
async def test_every_change_is_named_and_none_is_served(tmp_path: Path, seed: int) -> None:
    outcome = await tamper(tmp_path, changes=80, memories=80, seed=seed)
    assert outcome.kinds.total() == 80
    assert outcome.missed == []
    assert outcome.false == []
    assert outcome.served == []
