"""Measures and comparisons against values worked out by hand."""

import math

import pytest

from rearview_pipelines.evaluation.compare import paired, unpaired
from rearview_pipelines.evaluation.scores import Scores, mean, percentile, scored


def test_a_ranking_is_scored() -> None:
    found = scored(["x", "a", "y", "b"], {"a", "b", "c"}, 3, 1.5)
    best = 1 + 1 / math.log2(3) + 1 / 2
    assert found.recall == pytest.approx(1 / 3)
    assert found.precision == pytest.approx(1 / 3)
    assert found.ndcg == pytest.approx((1 / math.log2(3)) / best)
    assert (found.mrr, found.milliseconds) == (0.5, 1.5)


def test_the_extremes() -> None:
    perfect, nothing = scored(["a", "b"], {"a", "b"}, 2, 0), scored([], {"a"}, 2, 0)
    assert (perfect.recall, perfect.precision, perfect.ndcg, perfect.mrr) == (1, 1, 1, 1)
    assert (nothing.recall, nothing.precision, nothing.ndcg, nothing.mrr) == (0, 0, 0, 0)


def test_a_hit_that_is_answered_twice_counts_once() -> None:
    assert scored(["a", "a", "b"], {"a", "b"}, 2, 0).recall == 1


def test_means_and_percentiles() -> None:
    of = mean([Scores(1, 1, 1, 1, 5), Scores(0, 0, 0, 0, 1), Scores(0, 0, 0, 0, 2)])
    assert (of.recall, of.milliseconds) == (pytest.approx(1 / 3), 2)
    assert percentile([1, 2, 3, 4], 0.95) == 4
    assert math.isnan(percentile([], 0.5))


def test_a_clear_difference_is_settled_and_noise_is_not() -> None:
    better = paired([0.0] * 40, [1.0] * 30 + [0.0] * 10)
    assert better.mean == 0.75
    assert better.low > 0.5 and better.settled
    noise = paired([0, 1] * 20, [1, 0] * 20)
    assert noise.mean == 0 and not noise.settled


def test_unpaired_runs() -> None:
    found = unpaired([0.0] * 20, [1.0] * 20)
    assert (found.mean, found.low, found.high) == (1, 1, 1)
    assert not unpaired([0, 1, 0, 1], [1, 0, 1, 0]).settled
