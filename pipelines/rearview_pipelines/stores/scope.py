"""One tenant's hot memories in this process: vectors, postings and records, searched in a millisecond.

Milvus Lite walks rows in Python: .7 ms a hit and 50 ms a search. This is the same content as arrays.
Not thread-safe; `stores.hot` keeps it in step with the index.
"""

import secrets
from collections import Counter
from collections.abc import Iterator, Sequence

import numpy as np

from rearview_pipelines.memory import Memory, SourceKind
from rearview_pipelines.ports import Match, Part, Vector, Where
from rearview_pipelines.recall.signals import said, session_of, speaker_of
from rearview_pipelines.recall.table import Flags, Floats, Table
from rearview_pipelines.stores.columns import Columns
from rearview_pipelines.stores.postings import Postings
from rearview_pipelines.stores.rows import columns_of
from rearview_pipelines.stores.sessions import Sessions, place_of
from rearview_pipelines.stores.slots import Slots, doubled

_FIRST_ROOM = 1024
_NOBODY = -1


class Scope:
    """A slot a memory, and a slot a part. Freed slots are used again; what stands in none is in no answer."""

    def __init__(self, dimension: int) -> None:
        self._name, self._changed = secrets.token_hex(4), 0
        self.memories: dict[str, Memory] = {}
        self.parts: dict[str, tuple[Part, ...]] = {}
        self._slots: Slots[str] = Slots()
        self._part_slots: Slots[tuple[str, int]] = Slots()
        self._columns = Columns()
        self._sessions = Sessions(lambda slot: place_of(self.memories[self._slots.held[slot] or ""]))
        self._postings = Postings()
        self._speakers: Slots[str] = Slots()
        self._spoken: Counter[str] = Counter()
        self._notes = np.zeros((_FIRST_ROOM, 5), np.int64)
        """By memory: kind, question, relative, speaker, when it happened."""
        self._vectors = np.zeros((_FIRST_ROOM, dimension), np.float32)
        self._owners = np.full(_FIRST_ROOM, _NOBODY, np.int64)
        """By part: its memory's slot."""

    @property
    def version(self) -> str:
        """Changes whenever what is held does."""
        return f"{self._name}:{self._changed}"

    def __len__(self) -> int:
        """Parts held."""
        return len(self._part_slots)

    def put(self, memory: Memory, parts: Sequence[Part]) -> None:
        """Hold a memory as it is now, in place of what was held of it."""
        self.drop(memory.id)
        self._changed += 1
        self.memories[memory.id] = memory
        self.parts[memory.id] = tuple(parts)
        slot = self._slots.take(memory.id)
        columns = columns_of(memory)
        self._columns.put(slot, columns | {"part": 0})
        self._sessions.put(slot, session_of(memory))
        of = said(memory)
        if slot == len(self._notes):
            self._notes = doubled(self._notes)
        self._notes[slot] = (of.kind, of.question, of.relative, self._speaker(of.speaker), columns["occurred"])
        for part in parts:
            self._place(slot, memory, part)

    def _speaker(self, name: str) -> int:
        if not name:
            return _NOBODY
        self._spoken[name] += 1
        return self._speakers[name] if name in self._speakers else self._speakers.take(name)

    def _silence(self, name: str) -> None:
        """Let go of a name that nobody has any more."""
        if name:
            self._spoken[name] -= 1
            if not self._spoken[name]:
                del self._spoken[name]
                self._speakers.leave(name)

    def _place(self, owner: int, memory: Memory, part: Part) -> None:
        slot = self._part_slots.take((memory.id, part.number))
        if slot == len(self._owners):
            self._vectors = doubled(self._vectors)
            self._owners = doubled(self._owners, _NOBODY)
        self._vectors[slot] = part.vector
        self._owners[slot] = owner
        self._postings.put(slot, part.terms.split(), document=memory.source.kind is SourceKind.DOCUMENT)

    def drop(self, id_: str) -> None:
        if id_ not in self._slots:
            return
        self._changed += 1
        for part in self.parts.pop(id_):
            slot = self._part_slots.leave((id_, part.number))
            self._postings.drop(slot, part.terms.split())
            self._vectors[slot] = 0
            self._owners[slot] = _NOBODY
        slot = self._slots.leave(id_)
        self._columns.drop(slot)
        memory = self.memories.pop(id_)
        self._sessions.drop(slot, session_of(memory))
        self._silence(speaker_of(memory))

    def dense(self, where: Where, vector: Vector, limit: int) -> list[Match]:
        return self._best(self._cosines(vector), self._allowed(self._columns.passing(where)), limit)

    def keyword(self, where: Where, terms: Sequence[str], limit: int) -> list[Match]:
        allowed = self._allowed(self._columns.passing(where))
        scores, _ = self._postings.scores(terms, allowed)
        return self._best(scores, allowed & (scores > 0), limit)

    def _cosines(self, vector: Vector) -> Floats:
        return np.asarray(self._vectors[: len(self._part_slots.held)] @ vector, np.float32)

    def _allowed(self, passing: Flags) -> Flags:
        """(parts' slots,) whether each one's memory passes."""
        return np.append(passing, False)[self._owners[: len(self._part_slots.held)]]  # the last one is nobody's

    def _best(self, scores: Floats, allowed: Flags, limit: int) -> list[Match]:
        """The best `limit` of the allowed parts; equals in the order of their slots."""
        slots = np.flatnonzero(allowed)
        if len(slots) > 4 * limit:  # the rest cannot be among them, and need not be sorted
            cut = np.partition(scores[slots], len(slots) - limit)[len(slots) - limit]
            slots = slots[scores[slots] >= cut]
        slots = slots[np.argsort(-scores[slots], kind="stable")][:limit]
        keys = [(self._part_slots.held[slot], float(scores[slot])) for slot in slots]
        return [Match(*key, score) for key, score in keys if key is not None]

    def table(self, where: Where, terms: Sequence[str], vector: Vector | None) -> Table:
        """All that passes the filter, with what it scores: a row a memory."""
        self._sessions.settle()
        passing = self._columns.passing(where)
        slots, allowed = np.flatnonzero(passing), self._allowed(passing)
        row_of = np.full(len(self._columns) + 1, _NOBODY, np.int64)
        row_of[slots] = np.arange(len(slots))
        kind, question, relative, speaker, occurred = self._notes[slots].T
        ids = [self._slots.held[slot] or "" for slot in slots]
        words, ceiling = self._postings.scores(terms, allowed)
        dense = np.full(len(slots), np.nan, np.float32)
        if vector is not None:
            dense = self._of_memories(self._cosines(vector), np.float32(-2))[slots]
            dense[dense < -1] = np.nan  # without a part
        return Table(
            ids,
            self._of_memories(words, np.float32(0))[slots],
            dense,
            row_of[self._sessions.near[slots]],
            self._sessions.session[slots],
            kind,
            question.astype(np.bool_),
            relative.astype(np.bool_),
            speaker,
            occurred,
            [name or "" for name in self._speakers.held],
            ceiling,
        )

    def _of_memories(self, scores: Floats, lowest: np.float32) -> Floats:
        """(memories' slots,) the best of each one's parts."""
        best = np.full(len(self._columns) + 1, lowest, np.float32)
        np.maximum.at(best, self._owners[: len(scores)], scores)
        return best[:-1]

    def best_part(self, id_: str, terms: Sequence[str], vector: Vector | None) -> int:
        """The number of the part that matched: by its cosine, or without a vector by shared terms."""
        parts = self.parts.get(id_, ())
        if len(parts) < 2:
            return 0
        if vector is not None:
            return int(np.argmax([part.vector @ vector for part in parts]))
        wanted = set(terms)
        return int(np.argmax([len(wanted & set(part.terms.split())) for part in parts]))

    def passing(self, where: Where, most: int) -> list[str] | None:
        """Ids of what passes the filter, in the order of `table`; None if there are more than `most`."""
        slots = np.flatnonzero(self._columns.passing(where))
        return None if len(slots) > most else [self._slots.held[slot] or "" for slot in slots]

    def matching(self, where: Where) -> Iterator[Memory]:
        for slot in np.flatnonzero(self._columns.passing(where)):
            yield self.memories[self._slots.held[slot] or ""]
