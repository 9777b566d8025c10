"""Weights that an operator sets."""

import pytest

from rearview_pipelines.errors import SetupError
from rearview_pipelines.recall.fusion import DEFAULTS
from rearview_pipelines.recall.tuning import read_tuning


def test_what_is_set_is_changed_and_the_rest_stays() -> None:
    tuning = read_tuning({"turn": {"speaker": 0.1}, "zh.turn": {"near": 0.9}}, {"importance": 0.3})
    assert tuning.of("en")["turn"].speaker == tuning.of("zh")["turn"].speaker == 0.1
    assert (tuning.of("en")["turn"].near, tuning.of("zh")["turn"].near) == (DEFAULTS["turn"].near, 0.9)
    assert tuning.of("en")["document"] == DEFAULTS["document"]
    assert tuning.boosts.importance == 0.3


@pytest.mark.parametrize(
    ("fusion", "boosts", "named"),
    [
        ({"turns": {}}, {}, "turns"),
        ({"turn": {"speakr": 1}}, {}, "speakr"),
        ({"zh.turns": {}}, {}, "zh.turns"),
        ({}, {"recency": 1}, "recency"),
    ],
)
def test_what_is_not_known_is_named(fusion: dict[str, dict[str, float]], boosts: dict[str, float], named: str) -> None:
    with pytest.raises(SetupError, match=named):
        read_tuning(fusion, boosts)
