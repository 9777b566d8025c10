"""Is one configuration better than another, or is it chance? Paired bootstrap over queries or tasks. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

RESAMPLES = 10_000


@dataclass(frozen=True)
class Difference:
    """`mean` of b less a; `low` to `high`: its 95 % interval. `settled`: the interval leaves out 0."""

    mean: float
    low: float
    high: float
    count: int

    @property
    def settled(self) -> bool:
        return self.low > 0 or self.high < 0


def paired(a: Sequence[float], b: Sequence[float], seed: int = 7) -> Difference:
    """Both of the same queries, in the same order. Percentile bootstrap (Efron and Tibshirani, 1993)."""
    differences = np.asarray(b, float) - np.asarray(a, float)
    return _of(differences, np.random.default_rng(seed))


def unpaired(a: Sequence[float], b: Sequence[float], seed: int = 7) -> Difference:
    """Of different runs: each side is drawn anew by itself."""
    random = np.random.default_rng(seed)
    left, right = np.asarray(a, float), np.asarray(b, float)
    means = [random.choice(right, len(right)).mean() - random.choice(left, len(left)).mean() for _ in range(RESAMPLES)]
    low, high = np.percentile(means, [2.5, 97.5])
    return Difference(float(right.mean() - left.mean()), float(low), float(high), min(len(left), len(right)))


def _of(differences: "np.ndarray[tuple[int], np.dtype[np.float64]]", random: np.random.Generator) -> Difference:
    count = len(differences)
    drawn = random.integers(0, count, (RESAMPLES, count))
    low, high = np.percentile(differences[drawn].mean(axis=1), [2.5, 97.5])
    return Difference(float(differences.mean()), float(low), float(high), count)
