"""A table of what the index found, where no scope is held in memory: candidates, and what they know of each other."""

from collections.abc import Hashable, Mapping, Sequence

import numpy as np

from rearview_pipelines.fields import millis
from rearview_pipelines.memory import Memory
from rearview_pipelines.ports import Match
from rearview_pipelines.recall.signals import said, session_of
from rearview_pipelines.recall.table import NEAR, Table


def table_of(memories: Sequence[Memory], routes: Mapping[str, Sequence[Match]]) -> Table:
    """A row for each memory. Neighbours are known where both were found and their turns are numbered."""
    best = {name: _best(matches) for name, matches in routes.items()}
    words, cosines = best.get("keyword", {}), best.get("dense", {})
    sessions: dict[Hashable, int] = {}
    speakers: dict[str, int] = {}
    notes = [said(memory) for memory in memories]
    keys = [session_of(memory) for memory in memories]
    place = {(key, m.source.turn): row for row, (key, m) in enumerate(zip(keys, memories, strict=True)) if key}
    near = np.full((len(memories), len(NEAR)), -1, np.int64)
    for row, (key, memory) in enumerate(zip(keys, memories, strict=True)):
        if key is not None and memory.source.turn is not None:
            near[row] = [place.get((key, memory.source.turn + distance), -1) for distance in NEAR]
    return Table(
        [memory.id for memory in memories],
        np.asarray([words.get(memory.id, 0.0) for memory in memories], np.float32),
        np.asarray([cosines.get(memory.id, np.nan) for memory in memories], np.float32),
        near,
        np.asarray([-1 if k is None else sessions.setdefault(k, len(sessions)) for k in keys], np.int64),
        np.asarray([note.kind for note in notes], np.int64),
        np.asarray([note.question for note in notes], np.bool_),
        np.asarray([note.relative for note in notes], np.bool_),
        np.asarray([speakers.setdefault(n.speaker, len(speakers)) if n.speaker else -1 for n in notes], np.int64),
        np.asarray([millis(memory.occurred_at or memory.created_at) for memory in memories], np.int64),
        list(speakers),
    )


def best_parts(routes: Mapping[str, Sequence[Match]]) -> dict[str, int]:
    """The part of each memory that matched best: by its cosine where there is one."""
    found: dict[str, int] = {}
    for name in ("keyword", "dense"):
        top: dict[str, float] = {}
        for match in routes.get(name, ()):
            if match.score > top.get(match.id, -2.0):
                top[match.id] = match.score
                found[match.id] = match.part
    return found


def _best(matches: Sequence[Match]) -> dict[str, float]:
    found: dict[str, float] = {}
    for match in matches:
        found[match.id] = max(found.get(match.id, -2.0), match.score)
    return found
