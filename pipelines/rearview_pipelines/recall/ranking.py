"""From what the routes found to ranked candidates, each with its evidence. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from rearview_pipelines.memory import Memory
from rearview_pipelines.recall import evidence
from rearview_pipelines.recall.fusion import Asked, Weights, fuse
from rearview_pipelines.recall.routes import Found
from rearview_pipelines.recall.table import Floats, Ints
from rearview_pipelines.recall.understand import Understood, named

BEST = 10
"""So many from the top are looked at for what is related to them."""
MOST_EXACT = 1000
"""Candidates looked through for a literal match."""
MOST = 200
"""Candidates that are ranked on; nobody is shown more than half of them."""


@dataclass(frozen=True)
class Candidate:
    """A memory in the fused order. `total`: its z-sum. `evidence`: 0 to 1. `routes`: (rank from 1, score) by route.

    `shares`: what each signal gave to the total. `near`: ids of the turns beside it.
    """

    id: str
    total: float
    evidence: float
    routes: Mapping[str, tuple[int, float]] = field(default_factory=dict)
    shares: Mapping[str, float] = field(default_factory=dict)
    near: tuple[str, ...] = ()


def ranked(
    found: Found, asked: Understood, mode: str, weights: Mapping[str, Weights], *, most: int, explain: bool
) -> list[Candidate]:
    """Candidates, best first, at most so many."""
    table = found.table
    if not len(table):
        return []
    names = named(table.speakers, asked.folded)
    fused = fuse(table, Asked(names, asked.when), found.late, weights, found.context)
    order = fused.order
    if mode in ("keyword", "exact"):
        order = order[table.keyword[order] > 0]
    elif found.vector is None and found.late is None:  # words are all there is: some have to be shared, or near
        order = order[found.context[order] > 0]
    ranks = _ranks(found) if explain else {}
    order = order[: MOST_EXACT if mode == "exact" else most]
    strength = _evidence(found, order, mode)
    held = (strength > 0) | (table.keyword[order] > 0)  # what nothing speaks for is no answer
    order, strength = order[held], strength[held]
    made = []
    for place, row in enumerate(order):
        routes = {name: (int(rank[row]), float(scores[row])) for name, (rank, scores) in ranks.items() if rank[row]}
        shares = {name: float(values[row]) for name, values in fused.shares.items() if values[row]} if explain else {}
        near = tuple(table.ids[n] for n in table.near[row] if n >= 0) if explain or place < BEST else ()
        made.append(Candidate(table.ids[row], float(fused.total[row]), float(strength[place]), routes, shares, near))
    return made


def related_to(candidate: Candidate, memory: Memory) -> set[str]:
    """Ids of what stands beside a memory, what it came from, and what it replaced or was replaced by."""
    ids = {*candidate.near, *memory.source.derived_from, *(related.id for related in memory.related)}
    return ids | ({memory.superseded_by} if memory.superseded_by else set())


def _evidence(found: Found, rows: Ints, mode: str) -> Floats:
    """(rows,) by MaxSim or the cosine, whichever says more, where there is late interaction; else as far as known."""
    if mode == "exact":
        return np.ones(len(rows), np.float32)
    strength = evidence.from_bm25(found.table.keyword[rows], found.table.ceiling)
    strength = _where_known(evidence.from_cosine(found.table.dense[rows]), strength)
    if found.late is not None:
        words = found.late.shape[1] - found.marks
        by_words = evidence.from_late(found.late[rows, : words or None])
        cosine = np.nan_to_num(found.table.dense[rows], nan=0.0)
        strength = _where_known(np.maximum(by_words, evidence.from_cosine(cosine)), strength)
    return strength


def _where_known(better: Floats, else_: Floats) -> Floats:
    return np.where(np.isnan(better), else_, better)


def _ranks(found: Found) -> dict[str, tuple[Floats, Floats]]:
    """By route: (rank of each row, 0 where it has none; its score)."""
    scores = {"keyword": found.table.keyword, "context": found.context}
    if not np.isnan(found.table.dense).all():
        scores["dense"] = np.nan_to_num(found.table.dense, nan=0.0)
    if found.late is not None:
        scores["late"] = np.nan_to_num(found.late.mean(axis=1), nan=0.0)
    ranks = {}
    for name, values in scores.items():
        rank = np.zeros(len(values), np.float32)
        rank[np.argsort(-values, kind="stable")] = np.arange(1, len(values) + 1)
        rank[values <= 0] = 0
        ranks[name] = (rank, values)
    return ranks
