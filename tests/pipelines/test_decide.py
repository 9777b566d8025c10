"""What becomes of one memory: a table of cases, and one place where the numbers of the contract stand."""

from datetime import UTC, datetime, timedelta

import pytest

from rearview_pipelines.errors import SetupError
from rearview_pipelines.lifecycle.decide import Fate, confidence, fate, over_capacity, worth
from rearview_pipelines.lifecycle.policy import Lifecycle
from rearview_pipelines.memory import Layer, Memory, Source, SourceKind, State, Tier
from rearview_pipelines.write.usage import Use

NOW = datetime(2026, 11, 30, 3, 30, tzinfo=UTC)
POLICY = Lifecycle()


def memory(days: float, layer: Layer = Layer.EPISODIC, **fields: object) -> Memory:
    born = NOW - timedelta(days=days)
    base = {"id": "m_x", "tenant": "t", "text": "x", "layer": layer, "created_at": born, "updated_at": born}
    return Memory.model_validate(base | fields)


def used(days_ago: float | None = None, hits: int = 0) -> Use:
    last = (NOW - timedelta(days=days_ago)).date().isoformat() if days_ago is not None else ""
    return Use(hits, last)


@pytest.mark.parametrize(
    ("held", "use", "expected"),
    [
        (memory(29), used(), Fate.KEEP),
        (memory(31), used(), Fate.ARCHIVE),
        (memory(31), used(hits=3, days_ago=31), Fate.KEEP),
        (memory(31), used(hits=1, days_ago=2), Fate.KEEP),
        (memory(31, importance=1.0, confidence=1.0), used(), Fate.KEEP),
        (memory(91), used(hits=99, days_ago=0), Fate.ARCHIVE),
        (memory(91, pinned=True), used(), Fate.KEEP),
        (memory(91, tier=Tier.COLD), used(), Fate.KEEP),
        (memory(91, state=State.PENDING), used(), Fate.KEEP),
        (memory(91, state=State.QUARANTINED), used(), Fate.KEEP),
        (memory(400, Layer.SEMANTIC), used(), Fate.KEEP),
        (memory(400, Layer.PROCEDURAL), used(), Fate.KEEP),
        (memory(0.01, Layer.WORKING), used(), Fate.KEEP),
        (memory(0.03, Layer.WORKING), used(), Fate.EXPIRE),
        (memory(1, Layer.SEMANTIC, expires_at=NOW), used(), Fate.EXPIRE),
        (memory(1, Layer.SEMANTIC, expires_at=NOW, pinned=True), used(), Fate.EXPIRE),
        (memory(1, Layer.SEMANTIC, expires_at=NOW + timedelta(seconds=1)), used(), Fate.KEEP),
        (memory(999, state=State.FORGOTTEN), used(), Fate.KEEP),
    ],
)
def test_fates(held: Memory, use: Use, expected: Fate) -> None:
    assert fate(held, use, POLICY, NOW) is expected


def lesson(days: float) -> Memory:
    return memory(days, Layer.SEMANTIC, source=Source(kind=SourceKind.REFLECTION), confidence=0.7, kind="rule")


def test_a_lesson_falls_with_disuse() -> None:
    assert confidence(lesson(0), used(), POLICY, NOW) == pytest.approx(0.7)
    assert confidence(lesson(90), used(), POLICY, NOW) == pytest.approx(0.35)
    assert fate(lesson(90), used(), POLICY, NOW) is Fate.KEEP
    assert fate(lesson(120), used(), POLICY, NOW) is Fate.ARCHIVE
    assert fate(lesson(120), used(days_ago=1, hits=1), POLICY, NOW) is Fate.KEEP


def test_worth_halves_with_every_half_life_and_is_restored_by_a_hit() -> None:
    assert worth(memory(0), used(), POLICY, NOW) == pytest.approx(0.35)
    assert worth(memory(30), used(), POLICY, NOW) == pytest.approx(0.175)
    assert worth(memory(30), used(days_ago=0, hits=1), POLICY, NOW) > 0.34


def test_a_time_to_live_by_layer_and_by_tag_the_shortest_counts() -> None:
    policy = Lifecycle(ttl={"semantic": 10, "tag:debug": 2})
    assert fate(memory(3, Layer.SEMANTIC, tags=("debug",)), used(), policy, NOW) is Fate.EXPIRE
    assert fate(memory(3, Layer.SEMANTIC), used(), policy, NOW) is Fate.KEEP
    assert fate(memory(11, Layer.SEMANTIC), used(), policy, NOW) is Fate.EXPIRE
    assert fate(memory(11, Layer.SEMANTIC, pinned=True), used(), policy, NOW) is Fate.KEEP


@pytest.mark.parametrize("ttl", [{"sematic": 3}, {"tag:": 3}, {"semantic": 0}])
def test_a_time_to_live_of_nothing_is_refused(ttl: dict[str, float]) -> None:
    with pytest.raises(SetupError, match="REARVIEW_TTL"):
        Lifecycle(ttl=ttl)


def test_what_is_over_capacity_goes_least_worth_first_history_before_what_holds() -> None:
    held = [
        (memory(1, Layer.SEMANTIC, id="m_old", state=State.SUPERSEDED, importance=1.0), used()),
        (memory(1, Layer.SEMANTIC, id="m_low", importance=0.1), used()),
        (memory(1, Layer.SEMANTIC, id="m_mid"), used()),
        (memory(1, Layer.SEMANTIC, id="m_pin", importance=0.0, pinned=True), used()),
    ]
    assert over_capacity(held, POLICY, NOW, 4) == []
    assert over_capacity(held, POLICY, NOW, 2) == ["m_old", "m_low"]
    assert over_capacity(held, POLICY, NOW, 1) == ["m_old", "m_low", "m_mid"]
    assert over_capacity(held, POLICY, NOW, 0) == []


def test_a_clock_that_jumped_back_makes_nothing_older() -> None:
    assert fate(memory(-400), used(days_ago=-400), POLICY, NOW) is Fate.KEEP
    assert worth(memory(-400), used(), POLICY, NOW) <= 0.35
