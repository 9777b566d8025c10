"""What a record adds to its place: nothing unless it is asked for."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from rearview_pipelines.memory import Memory
from rearview_pipelines.recall.boosts import Boosts, Standing, boosts_of
from rearview_pipelines.recall.understand import understand

NOW = datetime(2026, 11, 25, 12, 0, tzinfo=UTC)


def memory(**fields: Any) -> Memory:
    base = {"id": "m", "tenant": "t", "text": "The pool broke with ERR_7.", "layer": "semantic"}
    return Memory.model_validate(base | {"created_at": NOW, "updated_at": NOW} | fields)


def added(query: str, standing: Standing | None = None, weight: float = 0.0, **fields: Any) -> dict[str, float]:
    return boosts_of(memory(**fields), understand(query, NOW, "UTC"), weight, NOW, standing or Standing(), Boosts())


def test_nothing_is_added_unasked() -> None:
    assert added("what about the pool") == {}


@pytest.mark.parametrize(
    ("query", "fields", "reason"),
    [
        ("what is ERR_7", {}, "exact"),
        ("what happened yesterday", {"occurred_at": NOW - timedelta(days=1)}, "when"),
        ("the latest on the pool", {}, "recent"),
        ("which deploy failed", {"outcome": "failure"}, "outcome"),
        ("what did we decide", {"kind": "decision"}, "kind"),
    ],
)
def test_what_the_query_asks_for_is_added(query: str, fields: dict[str, Any], reason: str) -> None:
    assert set(added(query, **fields)) == {reason}


def test_a_phrase_that_is_not_there_adds_nothing() -> None:
    assert added("what is ERR_8") == {}


def test_recency_halves_in_thirty_days() -> None:
    old = added("pool", weight=1.0, occurred_at=NOW - timedelta(days=30))
    assert old["recent"] == pytest.approx(0.5)


def test_use_counts_by_what_callers_said_of_it() -> None:
    assert added("pool", Standing(helpful=3))["helpful"] > 0 > added("pool", Standing(helpful=-3))["helpful"]
    assert "popular" not in added("pool", Standing(hits=90))
    assert added("what is used most often", Standing(hits=90))["popular"] > 0.4
