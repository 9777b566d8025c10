"""Token buckets: a burst, then the rate; each principal and each sort of request by itself."""

import pytest

from rearview_pipelines.errors import RateLimited
from rearview_pipelines.principal import Principal, Role
from rearview_serve.limits import Limits

ANA, BO = (Principal("t", Role.WRITER, id=name) for name in ("tok_a", "tok_b"))


class Clock:
    def __init__(self) -> None:
        self.at = 0.0

    def __call__(self) -> float:
        return self.at


def test_a_burst_then_the_rate() -> None:
    clock = Clock()
    limits = Limits(recall=5, write=2, now=clock)
    for _ in range(4):
        limits.take(ANA, "write")
    with pytest.raises(RateLimited) as caught:
        limits.take(ANA, "write")
    assert 0 < caught.value.seconds <= 0.5
    limits.take(BO, "write")
    limits.take(ANA, "recall")
    clock.at += 0.5
    limits.take(ANA, "write")
    with pytest.raises(RateLimited):
        limits.take(ANA, "write")


def test_zero_is_no_limit() -> None:
    limits = Limits(recall=0, write=0, now=Clock())
    for _ in range(1000):
        limits.take(ANA, "write")
