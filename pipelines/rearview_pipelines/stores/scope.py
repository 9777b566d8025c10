"""One tenant's hot memories in this process: vectors, postings and records, searched in a millisecond.

Milvus Lite walks rows in Python: .7 ms a hit and 50 ms a search. This is the same content as arrays.
Not thread-safe; `stores.hot` keeps it in step with the index.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from rearview_pipelines.memory import Memory
from rearview_pipelines.ports import Match, Part, Vector, Where
from rearview_pipelines.stores.rows import columns_of, matches

K1, B = 0.9, 0.4
"""BM25's constants, as in the collection's own index (`stores.schema`)."""
_FIRST_ROOM = 1024


class Scope:
    """A slot a part. Freed slots are used again; what stands in none is left out of every search."""

    def __init__(self, dimension: int) -> None:
        self.memories: dict[str, Memory] = {}
        self.parts: dict[str, tuple[Part, ...]] = {}
        self._columns: dict[str, dict[str, Any]] = {}
        self._slots: list[tuple[str, int] | None] = []
        self._slots_of: dict[str, list[int]] = {}
        self._free: list[int] = []
        self._vectors = np.zeros((_FIRST_ROOM, dimension), np.float32)
        self._lengths = np.zeros(_FIRST_ROOM, np.float32)
        self._postings: dict[str, dict[int, int]] = {}
        self._arrays: dict[str, tuple[Any, Any]] = {}

    def __len__(self) -> int:
        """Parts held."""
        return len(self._slots) - len(self._free)

    def put(self, memory: Memory, parts: Sequence[Part]) -> None:
        """Hold a memory as it is now, in place of what was held of it."""
        self.drop(memory.id)
        self.memories[memory.id] = memory
        self.parts[memory.id] = tuple(parts)
        self._columns[memory.id] = columns_of(memory)
        self._slots_of[memory.id] = [self._place(memory.id, part) for part in parts]

    def drop(self, id_: str) -> None:
        for slot in self._slots_of.pop(id_, ()):
            held = self._slots[slot]
            assert held is not None
            for term in set(self.parts[id_][held[1]].terms.split()):
                del self._postings[term][slot]
                self._arrays.pop(term, None)
            self._slots[slot] = None
            self._vectors[slot] = 0
            self._lengths[slot] = 0
            self._free.append(slot)
        self.memories.pop(id_, None)
        self.parts.pop(id_, None)
        self._columns.pop(id_, None)

    def _place(self, id_: str, part: Part) -> int:
        if self._free:
            slot = self._free.pop()
            self._slots[slot] = (id_, part.number)
        else:
            slot = len(self._slots)
            self._slots.append((id_, part.number))
            if slot == len(self._vectors):
                self._vectors = np.concatenate([self._vectors, np.zeros_like(self._vectors)])
                self._lengths = np.concatenate([self._lengths, np.zeros_like(self._lengths)])
        terms = part.terms.split()
        self._vectors[slot] = part.vector
        self._lengths[slot] = len(terms)
        for term, count in Counter(terms).items():
            self._postings.setdefault(term, {})[slot] = count
            self._arrays.pop(term, None)
        return slot

    def dense(self, where: Where, vector: Vector, limit: int) -> list[Match]:
        scores = self._vectors[: len(self._slots)] @ vector
        return self._best(where, scores, np.arange(len(scores)), limit)

    def keyword(self, where: Where, terms: Sequence[str], limit: int) -> list[Match]:
        """BM25 as Lucene computes it, over the parts of the scope."""
        scores = np.zeros(len(self._slots), np.float32)
        count = max(len(self), 1)
        average = float(self._lengths.sum()) / count or 1.0
        for term in dict.fromkeys(terms):
            slots, frequencies = self._posting(term)
            if len(slots):
                idf = np.log(1 + (count - len(slots) + 0.5) / (len(slots) + 0.5))
                norm = K1 * (1 - B + B * self._lengths[slots] / average)
                scores[slots] += idf * frequencies * (K1 + 1) / (frequencies + norm)
        return self._best(where, scores, np.flatnonzero(scores), limit)

    def _posting(self, term: str) -> tuple[Any, Any]:
        if term not in self._arrays:
            posting = self._postings.get(term, {})
            self._arrays[term] = (
                np.fromiter(posting.keys(), np.int64, len(posting)),
                np.fromiter(posting.values(), np.float32, len(posting)),
            )
        return self._arrays[term]

    def _best(self, where: Where, scores: Any, slots: Any, limit: int) -> list[Match]:
        """The best `limit` of `slots` that pass the filter, which is asked in the order of the scores."""
        found: list[Match] = []
        passes: dict[str, bool] = {}
        for slot in slots[np.argsort(-scores[slots], kind="stable")]:
            held = self._slots[slot]
            if held is None:
                continue
            id_, number = held
            if id_ not in passes:
                passes[id_] = matches(where, self._columns[id_] | {"part": number})
            if passes[id_]:
                found.append(Match(id_, number, float(scores[slot])))
                if len(found) == limit:
                    break
        return found

    def matching(self, where: Where) -> Iterator[Memory]:
        for id_, memory in self.memories.items():
            if matches(where, self._columns[id_] | {"part": 0}):
                yield memory
