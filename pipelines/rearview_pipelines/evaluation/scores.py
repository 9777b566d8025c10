"""How good a ranking is, for one query. Pure.

recall@k      share of the relevant that is among the first k
precision@k   share of the first k that is relevant
nDCG@k        gains of 1 a relevant hit, discounted by log2(rank + 1), against the best possible order
              (Järvelin and Kekäläinen, 2002)
MRR           1 / rank of the first relevant hit; its mean is over queries (Voorhees, 1999)
"""

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Scores:
    """Of one query, or the means of several; `milliseconds` it took."""

    recall: float
    precision: float
    ndcg: float
    mrr: float
    milliseconds: float


def scored(ranked: Sequence[str], relevant: Collection[str], k: int, milliseconds: float) -> Scores:
    """`ranked`: what was answered, best first. `relevant`: at least one."""
    first = list(dict.fromkeys(ranked))[:k]
    found = [id_ in relevant for id_ in first]
    gained = sum(1 / math.log2(rank + 2) for rank, hit in enumerate(found) if hit)
    best = sum(1 / math.log2(rank + 2) for rank in range(min(k, len(relevant))))
    first_hit = next((1 / (rank + 1) for rank, id_ in enumerate(dict.fromkeys(ranked)) if id_ in relevant), 0.0)
    return Scores(sum(found) / len(relevant), sum(found) / k, gained / best, first_hit, milliseconds)


def mean(scores: Sequence[Scores]) -> Scores:
    """The mean of each measure; of the times, the median."""
    count = len(scores)
    times = sorted(s.milliseconds for s in scores)
    return Scores(
        sum(s.recall for s in scores) / count,
        sum(s.precision for s in scores) / count,
        sum(s.ndcg for s in scores) / count,
        sum(s.mrr for s in scores) / count,
        percentile(times, 0.5),
    )


def percentile(values: Sequence[float], share: float) -> float:
    """The value below which a share of the sorted values lies; of none, not a number."""
    return values[min(int(len(values) * share), len(values) - 1)] if values else math.nan
