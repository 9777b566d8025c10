"""The cross-encoder stage: as many pairs as fit, from what a pair was measured to take."""

import asyncio
from collections.abc import Sequence
from datetime import UTC, datetime

import pytest

from rearview_pipelines.memory import Memory
from rearview_pipelines.recall.cross import DEPTH, FIRST_DEPTH, CrossStage
from rearview_pipelines.recall.present import Seen
from rearview_pipelines.recall.ranking import Candidate
from rearview_pipelines.requests import RecallRequest
from rearview_pipelines.testing import MemoryIndexInMemory

NOW = datetime(2026, 11, 25, tzinfo=UTC)


class Model:
    """Likes later texts more; takes so many seconds a pair."""

    name = "fake-cross"

    def __init__(self, seconds: float = 0.0, error: Exception | None = None) -> None:
        self.seconds, self.error = seconds, error
        self.pairs: list[int] = []

    async def scores(self, query: str, texts: Sequence[str]) -> list[float]:
        self.pairs.append(len(texts))
        await asyncio.sleep(self.seconds * len(texts))
        if self.error:
            raise self.error
        return [n / len(texts) for n in range(len(texts))]


def hits(count: int) -> list[Seen]:
    def one(n: int) -> Seen:
        fields = {"tenant": "t", "text": f"text {n}", "layer": "semantic", "created_at": NOW, "updated_at": NOW}
        memory = Memory.model_validate({"id": f"m{n:02}"} | fields)
        return Seen(Candidate(memory.id, -n / 1000, 0.5), memory, 0.5, -n / 1000)

    return [one(n) for n in range(count)]


async def run(stage: CrossStage, count: int = 60, deadline: int = 3000) -> tuple[list[str], list[str], str]:
    degraded: list[str] = []
    notes: dict[str, object] = {}
    request = RecallRequest(query="q", deadline_ms=deadline)
    found = await stage.reranked("t", request, hits(count), degraded, notes)
    return [s.memory.id for s in found], degraded, str(notes["reranker"])


async def test_the_first_try_is_short_and_the_next_as_deep_as_fits() -> None:
    model = Model()
    stage = CrossStage(MemoryIndexInMemory(), model)
    order, degraded, _ = await run(stage)
    await run(stage)
    assert model.pairs == [FIRST_DEPTH, DEPTH]
    assert degraded == []
    assert order[:FIRST_DEPTH] == [f"m{n:02}" for n in reversed(range(FIRST_DEPTH))]
    assert order[FIRST_DEPTH:] == [f"m{n:02}" for n in range(FIRST_DEPTH, 60)]


async def test_a_slow_model_is_asked_for_less_until_it_answers() -> None:
    model = Model(seconds=0.05)
    stage = CrossStage(MemoryIndexInMemory(), model)
    said = [await run(stage, deadline=500) for _ in range(4)]
    assert said[0][1] == ["reranker"]
    assert said[-1][1] == []
    assert 2 <= model.pairs[-1] < model.pairs[0]


@pytest.mark.parametrize("error", [ValueError("its own"), RuntimeError("onnx")])
async def test_whatever_fails_leaves_the_order_as_it_was(error: Exception) -> None:
    stage = CrossStage(MemoryIndexInMemory(), Model(error=error))
    order, degraded, note = await run(stage)
    assert order == [f"m{n:02}" for n in range(60)]
    assert degraded == ["reranker"]
    assert type(error).__name__ in note


async def test_without_a_model_it_says_so() -> None:
    order, degraded, note = await run(CrossStage(MemoryIndexInMemory(), None), count=3)
    assert (len(order), degraded) == (3, [])
    assert "off" in note
