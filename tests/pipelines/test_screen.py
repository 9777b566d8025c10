"""Less suspicion suffices for what nobody answers for and is far from all that is known."""

from typing import Any

import pytest

from rearview_pipelines.principal import Principal
from rearview_pipelines.receipts import Status
from rearview_pipelines.requests import WriteRequest, parse
from rearview_pipelines.service import MemoryService
from rearview_pipelines.write import screen
from rearview_pipelines.write.screening.judge import THRESHOLD, Verdict


@pytest.mark.parametrize(
    ("text", "kind", "status"),
    [
        ("zebra quartz violin", "tool", Status.QUARANTINED),
        ("zebra quartz violin", "explicit", Status.STORED),
        ("shelf of county 77", "tool", Status.STORED),
    ],
)
async def test_a_far_outlier_of_low_trust_is_held_back_sooner(
    service: MemoryService, admin: Principal, monkeypatch: pytest.MonkeyPatch, text: str, kind: str, status: Status
) -> None:
    async def write(*texts: str, **fields: Any) -> Any:
        return await service.write(admin, parse(WriteRequest, {"memories": [{"text": t} | fields for t in texts]}))

    await write(*(f"shelf of county {n}" for n in range(screen.OUTLIER_SAMPLE)))
    monkeypatch.setattr(screen, "judge", lambda _: Verdict(THRESHOLD * 0.9, ("trigger",)))
    [receipt] = await write(text, source={"kind": kind})
    assert receipt.status is status
