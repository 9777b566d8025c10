"""Join what the routes say of each row into one order: a weighted sum of z-scores, with context. Pure.

Scores, not ranks: on LoCoMo a z-sum found more than reciprocal rank fusion and cost no MRR. Every
weight was set by hand (docs/benchmarks.md says what each is worth); none is fitted.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from rearview_pipelines.recall.table import DOCUMENT, OTHER, TURN, Floats, Ints, Table


@dataclass(frozen=True)
class Weights:
    """What each signal counts for; from `keyword` on as shares of one standard deviation.

    near, far          share of its BM25 that a turn gains from each turn beside it, and two turns away
    session            share that it gains from the best turn of its session
    late_near, late_far   what a query term found in a neighbour loses against one found in the turn itself
    keyword, dense     BM25 with its context, and the cosine, beside late interaction
    keyword_alone, dense_alone   the same without it
    late, late_session MaxSim over the turn's window, and over its whole session
    speaker            the query names who said it
    relative           the query asks when, and the turn names a relative time
    question           taken off a turn that only asks
    """

    near: float = 0.4
    far: float = 0.25
    session: float = 0.3
    late_near: float = 0.07
    late_far: float = 0.12
    keyword: float = 0.2
    dense: float = 0.1
    keyword_alone: float = 1.0
    dense_alone: float = 0.4
    late: float = 1.0
    late_session: float = 0.5
    speaker: float = 0.7
    relative: float = 0.7
    question: float = 0.4


_NO_DIALOGUE = {"speaker": 0.0, "relative": 0.0, "question": 0.0}
_NO_CONTEXT = {"near": 0.0, "far": 0.0, "session": 0.0, "late_session": 0.0}
DEFAULTS: Mapping[str, Weights] = {
    "turn": Weights(),
    "document": replace(Weights(), keyword=0.4, dense=0.5, dense_alone=0.8, **_NO_DIALOGUE, **_NO_CONTEXT),
    "other": replace(Weights(), keyword=0.3, dense=0.2, dense_alone=0.6, **_NO_DIALOGUE),
}
"""By kind of row. Signals of dialogue mislead among documents (SciFact nDCG@10 .666 with them, .691 without)."""
_KINDS = {"turn": TURN, "document": DOCUMENT, "other": OTHER}


@dataclass(frozen=True)
class Asked:
    """What the query says beside its words. `speakers`: indexes of those it names."""

    speakers: frozenset[int] = frozenset()
    when: bool = False


@dataclass
class Fused:
    """`order`: rows, best first. `total`: their sums. `shares`: what each signal gave, by name."""

    order: Ints
    total: Floats
    shares: dict[str, Floats] = field(default_factory=dict)


def in_context(table: Table, weights: Mapping[str, Weights] = DEFAULTS) -> Floats:
    """BM25 with what the neighbours and the session add, (n,): worth more than a dense model, and free."""
    beside = np.append(table.keyword, np.float32(0))[table.near]  # row -1 is nobody's
    near, far, session = (_of_kind(table, weights, name) for name in ("near", "far", "session"))
    got = table.keyword + near * (beside[:, 1] + beside[:, 2]) + far * (beside[:, 0] + beside[:, 3])
    return np.asarray(got + session * _best_of_session(table, table.keyword), np.float32)


def windows(table: Table, late: Floats, weights: Mapping[str, Weights] = DEFAULTS) -> tuple[Floats, Floats]:
    """MaxSim of the query over each row's window and over its session, (n,) each; NaN where the row has no tokens.

    `late`: (n, q), the best cosine of each of the query's q token vectors in the row.
    """
    nobody = np.full((1, late.shape[1]), -1.0, np.float32)
    known = np.concatenate([np.nan_to_num(late, nan=-1.0), nobody])
    near, far = (_of_kind(table, weights, name)[:, None] for name in ("late_near", "late_far"))
    with_context = (_of_kind(table, weights, "near") > 0)[:, None]
    best = late
    for column, loss in ((1, near), (2, near), (0, far), (3, far)):
        best = np.fmax(best, np.where(with_context, known[table.near[:, column]] - loss, -1.0))
    bags = np.stack([_best_of_session(table, known[:-1, q], lowest=-1.0) for q in range(late.shape[1])], axis=1)
    missing = np.isnan(late[:, 0])
    window, bag = best.mean(axis=1), np.maximum(bags, np.nan_to_num(late, nan=-1.0)).mean(axis=1)
    window[missing] = np.nan
    bag[missing] = np.nan
    return window, bag


def fuse(
    table: Table,
    asked: Asked,
    late: Floats | None = None,
    weights: Mapping[str, Weights] = DEFAULTS,
    context: Floats | None = None,
) -> Fused:
    """Rows, best first; ties by id, so that the same store answers the same question alike.

    `late`: as in `windows`, None where no late interaction was had. `context`: `in_context` of the
    table, where it was cut from a larger one that knew more neighbours.
    """
    alone = "" if late is not None else "_alone"
    shares: dict[str, Floats] = {}
    words = in_context(table, weights) if context is None else context
    shares["keyword"] = _of_kind(table, weights, f"keyword{alone}") * z_scores(words)
    if not np.isnan(table.dense).all():
        shares["dense"] = _of_kind(table, weights, f"dense{alone}") * z_scores(table.dense)
    if late is not None:
        window, bag = windows(table, late, weights)
        shares["late"] = _of_kind(table, weights, "late") * z_scores(window)
        shares["session"] = _of_kind(table, weights, "late_session") * z_scores(bag)
    if asked.speakers:
        shares["speaker"] = _of_kind(table, weights, "speaker") * np.isin(table.speaker, list(asked.speakers))
    if asked.when:
        shares["relative"] = _of_kind(table, weights, "relative") * table.relative
    shares["question"] = -_of_kind(table, weights, "question") * table.question
    total = np.sum(list(shares.values()), axis=0, dtype=np.float32)
    return Fused(_ordered(np.asarray(total), table.ids), np.asarray(total), shares)


def _ordered(total: Floats, ids: Sequence[str]) -> Ints:
    """Rows by their totals; those with equal totals by their ids. Sorting all ids would take longer than the rest."""
    order = np.argsort(-total, kind="stable")
    equal = np.flatnonzero(np.diff(total[order]) == 0)
    if not len(equal):
        return order
    for run in np.split(equal, np.flatnonzero(np.diff(equal) > 1) + 1):
        a, b = int(run[0]), int(run[-1]) + 2
        order[a:b] = sorted(order[a:b], key=lambda row: ids[row])
    return order


def z_scores(values: Floats) -> Floats:
    """(value - mean) / standard deviation; what is not known counts as the lowest."""
    known = values[~np.isnan(values)]
    if len(known) < 2:
        return np.zeros(len(values), np.float32)
    deviation = float(known.std())
    if deviation < 1e-9:
        return np.zeros(len(values), np.float32)
    normal = (values - known.mean()) / deviation
    return np.asarray(np.where(np.isnan(normal), np.nanmin(normal), normal), np.float32)


def _of_kind(table: Table, weights: Mapping[str, Weights], name: str) -> Floats:
    """(n,) a weight for each row, by its kind."""
    row = np.zeros(len(_KINDS), np.float32)
    for kind, number in _KINDS.items():
        row[number] = getattr(weights[kind], name)
    return row[table.kind]


def _best_of_session(table: Table, values: Floats, lowest: float = 0.0) -> Floats:
    """(n,) the best value of each row's session; `lowest` for a row without one."""
    if not len(table) or table.session.max() < 0:
        return np.full(len(table), lowest, np.float32)
    best = np.full(int(table.session.max()) + 2, lowest, np.float32)
    np.maximum.at(best, table.session, values)
    best[-1] = lowest
    return best[table.session]
