"""Fakes that satisfy the ports, for tests that need no Milvus and no model. The real ones are
tested too; these are for speed and for failures that are hard to cause.
"""

import hashlib
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta

import numpy as np

from rearview_pipelines.errors import Unavailable
from rearview_pipelines.memory import Memory, State
from rearview_pipelines.ports import (
    AlreadyThere,
    EmbeddedPart,
    Inspected,
    Match,
    Part,
    Passage,
    Tokens,
    Vector,
    Where,
)
from rearview_pipelines.stores.rows import columns_of, matches
from rearview_pipelines.text.analyse import terms_of

DIMENSION = 64


class FakeClock:
    """A clock that stands still until it is moved."""

    def __init__(self, start: datetime = datetime(2026, 11, 30, 9, 0, tzinfo=UTC)) -> None:
        self.moment = start

    def now(self) -> datetime:
        return self.moment

    def forward(self, **delta: float) -> None:
        self.moment += timedelta(**delta)


class HashEmbedder:
    """A unit vector from the hashed terms of a text: texts that share words are near. Deterministic."""

    name = "fake-hash"
    dimension = DIMENSION
    languages: frozenset[str] | None = None

    def __init__(self) -> None:
        self.failing = False

    async def documents(self, passages: Sequence[Passage]) -> list[tuple[EmbeddedPart, ...]]:
        return [(EmbeddedPart(0, len(p.text), self._vector(p.context + p.text)),) for p in passages]

    async def query(self, text: str) -> Vector:
        return self._vector(text)

    def _vector(self, text: str) -> Vector:
        if self.failing:
            raise Unavailable("the embedder was told to fail")
        vector = np.zeros(DIMENSION, np.float32)
        for term in terms_of(text):
            vector[int.from_bytes(hashlib.sha256(term.encode()).digest()[:4], "big") % DIMENSION] += 1
        norm = float(np.linalg.norm(vector))
        return vector / norm if norm else vector


class ObjectStoreInMemory:
    """`ObjectStore` over a dictionary."""

    def __init__(self) -> None:
        self.objects: dict[str, bytes] = {}
        self.failing = False

    def _check(self) -> None:
        if self.failing:
            raise Unavailable("the object store was told to fail")

    async def check(self) -> None:
        self._check()

    async def put(self, key: str, data: bytes, *, new: bool = False, fleeting: bool = False) -> datetime | None:
        self._check()
        if new and key in self.objects:
            raise AlreadyThere(key)
        self.objects[key] = data
        return None

    async def get(self, key: str) -> bytes | None:
        self._check()
        return self.objects.get(key)

    async def slice(self, key: str, start: int, length: int) -> bytes | None:
        held = await self.get(key)
        return None if held is None else held[start : start + length]

    async def keys(self, prefix: str) -> list[str]:
        self._check()
        return sorted(key for key in self.objects if key.startswith(prefix))

    async def delete(self, key: str) -> datetime | None:
        self._check()
        self.objects.pop(key, None)
        return None


class MemoryIndexInMemory:
    """`MemoryIndex` over a dictionary, with exact filters and a textbook BM25."""

    model: str | None = None
    generation = ""
    dimension = DIMENSION

    async def refresh(self) -> None:
        """There is but one rendition."""

    def __init__(self) -> None:
        self.rows: dict[str, tuple[Memory, tuple[Part, ...]]] = {}
        self.failing = False
        self.upserts = 0

    def _check(self) -> None:
        if self.failing:
            raise Unavailable("the index was told to fail")

    async def follow(self, tenant: str, mark: str | None = None) -> None:
        """Nothing is cached here."""

    async def upsert(self, rows: Sequence[tuple[Memory, Sequence[Part]]]) -> None:
        self._check()
        self.upserts += 1
        self.rows.update({memory.id: (memory, tuple(parts)) for memory, parts in rows})

    async def drop_parts(self, tenant: str, id_: str, keep: int) -> None:
        self._check()
        memory, parts = self.rows[id_]
        self.rows[id_] = (memory, parts[: max(keep, 1)])

    async def remove(self, tenant: str, ids: Sequence[str]) -> None:
        self._check()
        for id_ in ids:
            self.rows.pop(id_, None)

    async def get(self, tenant: str, ids: Sequence[str], *, fresh: bool = True) -> dict[str, Memory]:
        self._check()
        found = {id_: self.rows[id_][0] for id_ in ids if id_ in self.rows}
        return {id_: memory for id_, memory in found.items() if memory.tenant == tenant}

    async def parts(self, tenant: str, ids: Sequence[str]) -> dict[str, tuple[Part, ...]]:
        return {id_: self.rows[id_][1] for id_ in await self.get(tenant, ids)}

    async def held(self, tenant: str, *, fresh: bool = False) -> None:
        """Nothing is held in memory here: recalls ask by routes."""

    async def tokens(
        self, tenant: str, late: str, ids: Sequence[str] | None = None, *, most: int | None = None
    ) -> dict[str, Tokens] | None:
        self._check()
        rows = sum(len(parts) for memory, parts in self.rows.values() if memory.tenant == tenant)
        if ids is None and most is not None and rows > most:
            return None
        found = {}
        for id_, (memory, parts) in self.rows.items():
            made = [p.tokens for p in parts if p.tokens is not None and p.late == late]
            if memory.tenant == tenant and made and (ids is None or id_ in ids):
                found[id_] = np.concatenate(made)
        return found

    async def everything(
        self, tenant: str, limit: int, *, tokens: bool = False
    ) -> list[tuple[Memory, tuple[Part, ...]]] | None:
        self._check()
        rows = [row for row in self.rows.values() if row[0].tenant == tenant]
        return None if sum(len(parts) for _, parts in rows) > limit else rows

    async def whole(
        self, tenant: str, ids: Sequence[str], *, tokens: bool = False
    ) -> list[tuple[Memory, tuple[Part, ...]]]:
        self._check()
        return [self.rows[id_] for id_ in ids if id_ in self.rows]

    async def ids(self, tenant: str) -> list[str]:
        self._check()
        return sorted(id_ for id_, (memory, _) in self.rows.items() if memory.tenant == tenant)

    async def spans(self, tenant: str, found: Sequence[tuple[str, int]]) -> dict[tuple[str, int], Part]:
        self._check()
        return {(id_, n): self.rows[id_][1][n] for id_, n in found if id_ in self.rows}

    async def dense(self, tenant: str, where: Where, vector: Vector, limit: int, *, fresh: bool = False) -> list[Match]:
        matches = [
            Match(memory.id, part.number, float(part.vector @ vector))
            for memory, parts in self._matching(tenant, where)
            for part in parts
        ]
        return sorted(matches, key=lambda m: -m.score)[:limit]

    async def keyword(
        self, tenant: str, where: Where, terms: Sequence[str], limit: int, *, fresh: bool = False
    ) -> list[Match]:
        rows = self._matching(tenant, where)
        documents = [(m.id, p.number, Counter(p.terms.split())) for m, parts in rows for p in parts]
        frequency = {t: sum(t in counts for _, _, counts in documents) for t in terms}
        matches = []
        for id_, number, counts in documents:
            score = sum(
                math.log(1 + (len(documents) - frequency[t] + 0.5) / (frequency[t] + 0.5))
                * counts[t]
                / (counts[t] + 1.2)
                for t in terms
                if counts[t]
            )
            if score:
                matches.append(Match(id_, number, score))
        return sorted(matches, key=lambda m: -m.score)[:limit]

    async def page(
        self, tenant: str, where: Where, before: tuple[int, str] | None, limit: int
    ) -> list[tuple[int, str]]:
        keys = [(round(m.created_at.timestamp() * 1000), m.id) for m, _ in self._matching(tenant, where)]
        return sorted((k for k in keys if before is None or k < before), reverse=True)[:limit]

    async def counts(self, tenant: str) -> Mapping[str, int]:
        counts = {state.value: 0 for state in State}
        for memory, _ in self._matching(tenant, Where()):
            counts[memory.state.value] += 1
        return counts

    async def inspect(self, tenant: str, ids: Sequence[str] | None = None) -> list[Inspected]:
        self._check()
        return [
            Inspected(id_, memory, parts, (columns_of(memory),))
            for id_, (memory, parts) in self.rows.items()
            if memory.tenant == tenant and (ids is None or id_ in ids)
        ]

    async def ping(self) -> None:
        self._check()

    def _matching(self, tenant: str, where: Where) -> list[tuple[Memory, tuple[Part, ...]]]:
        self._check()
        return [
            (memory, parts)
            for memory, parts in self.rows.values()
            if memory.tenant == tenant and matches(where, columns_of(memory) | {"part": 0})
        ]
