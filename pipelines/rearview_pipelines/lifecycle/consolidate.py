"""Which memories say the same: clusters by cosine, and within one only what comparison calls the same. Pure."""

from collections import defaultdict
from collections.abc import Sequence

import numpy as np

from rearview_pipelines.memory import Memory, SourceKind, State
from rearview_pipelines.ports import Part
from rearview_pipelines.write.relate.compare import is_same
from rearview_pipelines.write.relate.words import statement

LEAST_COSINE = 0.85
LONGEST = 600
"""Characters of a text that is one statement; a longer one is a document, which is only itself."""
BLOCK = 512
Held = tuple[Memory, Sequence[Part]]


def clusters(rows: Sequence[Held]) -> list[tuple[str, list[str]]]:
    """(the memory that stays, those that it replaces) for each cluster of at least two; in a stable order."""
    scopes: defaultdict[tuple[object, ...], list[Held]] = defaultdict(list)
    for memory, parts in rows:
        if _is_comparable(memory) and len(parts) == 1:
            scopes[_scope(memory)].append((memory, parts))
    found = []
    for scope in scopes.values():
        found += _of_scope(sorted(scope, key=lambda row: row[0].id))
    return sorted(found)


def _is_comparable(memory: Memory) -> bool:
    fact = memory.source.kind is not SourceKind.TURN and len(memory.text) <= LONGEST
    return fact and memory.state is State.ACTIVE


def _scope(memory: Memory) -> tuple[object, ...]:
    return (memory.agent, memory.user, memory.visibility, memory.namespace, memory.layer, memory.key, memory.outcome)


def _of_scope(rows: Sequence[Held]) -> list[tuple[str, list[str]]]:
    vectors = np.stack([parts[0].vector for _, parts in rows])
    group = list(range(len(rows)))

    def root(at: int) -> int:
        while group[at] != at:
            at = group[at]
        return at

    said = [statement(memory.text) for memory, _ in rows]
    for start in range(0, len(rows), BLOCK):
        near = vectors[start : start + BLOCK] @ vectors.T
        for one, other in np.argwhere(near >= LEAST_COSINE):
            a, b = int(start + one), int(other)
            if a < b and root(a) != root(b) and is_same(said[a], said[b]):
                group[root(b)] = root(a)
    members: defaultdict[int, list[Memory]] = defaultdict(list)
    for at, (memory, _) in enumerate(rows):
        members[root(at)].append(memory)
    return [_kept(of) for of in members.values() if len(of) > 1]


def _kept(of: Sequence[Memory]) -> tuple[str, list[str]]:
    """Pinned first, then the best supported, the surest, the longest, the newest."""
    best = max(of, key=lambda m: (m.pinned, len(m.support), m.confidence, len(m.text), m.created_at, m.id))
    return best.id, sorted(m.id for m in of if m is not best)
