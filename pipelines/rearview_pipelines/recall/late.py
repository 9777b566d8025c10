"""Late interaction over stored token vectors, held in memory: what the Rerank deployment runs.

Token vectors follow from a memory's text, and its id from the text too: what is held never goes stale.
What was changed or forgotten is let go of all the same, a second after the next recall.
"""

import asyncio
import logging
import time
from collections import OrderedDict
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from rearview_pipelines.errors import RearviewError
from rearview_pipelines.models.late import LateEncoder
from rearview_pipelines.ports import Changes, Tokens, Vector
from rearview_pipelines.recall.maxsim import Gathered, best, gather

log = logging.getLogger(__name__)
FEW = 256
"""So many memories are read by key; for more of them, all of the tenant's are read."""
FOLLOW_SECONDS = 1.0
QUERIES = 1024
"""Encoded queries kept."""
FLOATS = 64 * 2**20
"""Most floats of gathered matrices kept, 256 MB: those of scopes that are compared whole."""


class TokenReader(Protocol):
    async def tokens(
        self, tenant: str, late: str, ids: Sequence[str] | None = None, *, most: int | None = None
    ) -> dict[str, Tokens] | None:
        """Token vectors by memory; None if the tenant has more than `most` rows."""
        ...


class ChangeLog(Protocol):
    async def changes(self, tenant: str, epoch: str, since: int) -> Changes: ...


@dataclass
class _Held:
    """What is held of a tenant. `gathered`: the last ids that were asked for, as one matrix."""

    tokens: dict[str, Tokens] = field(default_factory=dict)
    gathered: tuple[Sequence[str], Gathered] | None = None
    epoch: str = ""
    seq: int = 0
    followed: float = 0.0
    whole: bool = False
    loading: "asyncio.Task[None] | None" = None


@dataclass(frozen=True)
class _Asked:
    tenant: str
    query: Vector
    ids: Sequence[str]
    answer: "asyncio.Future[Vector]"


class LateService:
    """`LateInteraction` in this process. `limit`: rows of token vectors held at most, over all tenants."""

    def __init__(self, encoder: LateEncoder, index: TokenReader, changes: ChangeLog | None, limit: int) -> None:
        self._encoder = encoder
        self._index = index
        self._changes = changes
        self._limit = limit
        self._held: OrderedDict[str, _Held] = OrderedDict()
        self._queries: OrderedDict[str, Vector] = OrderedDict()
        self._encoding: dict[str, asyncio.Future[Vector]] = {}
        self._encoders = ThreadPoolExecutor(1, thread_name_prefix="late-query")
        self._comparers = ThreadPoolExecutor(1, thread_name_prefix="late-compare")
        self._waiting: list[_Asked] = []
        self._comparing: asyncio.Task[None] | None = None
        self._following: set[asyncio.Task[None]] = set()

    @property
    def name(self) -> str:
        return self._encoder.name

    @property
    def languages(self) -> frozenset[str] | None:
        return self._encoder.languages

    @property
    def marks(self) -> int:
        return self._encoder.marks

    async def prepare(self, query: str) -> None:
        await self._encoded(query)

    async def best(self, tenant: str, query: str, ids: Sequence[str]) -> Vector:
        vectors, _ = await asyncio.gather(self._encoded(query), self._hold(tenant, ids))
        asked = _Asked(tenant, vectors, ids, asyncio.get_running_loop().create_future())
        self._waiting.append(asked)
        if self._comparing is None or self._comparing.done():
            self._comparing = asyncio.ensure_future(self._compare())
        return await asked.answer

    async def _encoded(self, query: str) -> Vector:
        """The query's token vectors; one that is being encoded is waited for, not encoded twice."""
        if query in self._queries:
            self._queries.move_to_end(query)
            return self._queries[query]
        if query not in self._encoding:
            loop = asyncio.get_running_loop()
            self._encoding[query] = asyncio.ensure_future(
                loop.run_in_executor(self._encoders, self._encoder.query, query)
            )
        try:
            vectors = await asyncio.shield(self._encoding[query])
        finally:
            self._encoding.pop(query, None)
        self._queries[query] = vectors
        while len(self._queries) > QUERIES:
            self._queries.popitem(last=False)
        return vectors

    async def _hold(self, tenant: str, ids: Sequence[str]) -> None:
        held = self._held.setdefault(tenant, _Held())
        self._held.move_to_end(tenant)
        self._follow_soon(tenant, held)
        missing = [id_ for id_ in ids if id_ not in held.tokens]
        if len(missing) > FEW and not held.whole:
            await asyncio.shield(self._load(tenant, held))
            missing = [id_ for id_ in missing if id_ not in held.tokens]
        if missing:
            self._take(held, missing, await self._index.tokens(tenant, self.name, missing) or {})
        if not held.whole:
            self._load(tenant, held)  # in the background: the next recalls ask for others
        self._evict()

    def _load(self, tenant: str, held: _Held) -> "asyncio.Task[None]":
        if held.loading is None:
            held.loading = asyncio.ensure_future(self._read_all(tenant, held))
        return held.loading

    async def _read_all(self, tenant: str, held: _Held) -> None:
        try:
            found = await self._index.tokens(tenant, self.name, most=self._limit)
        except RearviewError as error:
            log.warning("token vectors not read: %s", type(error).__name__)
            held.loading = None
            return
        if found is not None:  # else there are too many: those asked for are read by key
            held.tokens.update(found)
            self._evict()
        held.whole = True

    @staticmethod
    def _take(held: _Held, ids: Sequence[str], found: "dict[str, Tokens]") -> None:
        nothing = np.zeros((0, 1), np.int8)
        held.tokens.update({id_: found.get(id_, nothing) for id_ in ids})
        held.gathered = None

    def _evict(self) -> None:
        while len(self._held) > 1 and sum(len(h.tokens) for h in self._held.values()) > self._limit:
            self._held.popitem(last=False)
        for held in self._held.values():
            while len(held.tokens) > 2 * self._limit:
                held.tokens.pop(next(iter(held.tokens)))

    def _follow_soon(self, tenant: str, held: _Held) -> None:
        if self._changes is None or time.monotonic() - held.followed < FOLLOW_SECONDS:
            return
        held.followed = time.monotonic()
        task = asyncio.ensure_future(self._follow(tenant, held))
        self._following.add(task)
        task.add_done_callback(self._following.discard)

    async def _follow(self, tenant: str, held: _Held) -> None:
        """Let go of what was changed or forgotten."""
        assert self._changes is not None
        try:
            changed = await self._changes.changes(tenant, held.epoch, held.seq)
        except RearviewError as error:
            log.debug("token vectors not followed: %s", type(error).__name__)
            return
        if changed.ids is None and held.epoch:  # another writer: what it forgot is not known
            held.tokens.clear()
            held.whole, held.loading = False, None
        for id_ in changed.ids or ():
            held.tokens.pop(id_, None)
        if changed.ids is None or changed.ids:
            held.gathered = None
        held.epoch, held.seq = changed.epoch, changed.seq

    async def _compare(self) -> None:
        """Answer all who wait, those who compare with the same memories in one multiplication."""
        loop = asyncio.get_running_loop()
        while self._waiting:
            batch, self._waiting = self._waiting, []
            groups: list[list[_Asked]] = []
            for asked in batch:
                group = next((g for g in groups if (g[0].tenant, g[0].ids) == (asked.tenant, asked.ids)), None)
                if group is None:
                    groups.append([asked])
                else:
                    group.append(asked)
            for group in groups:
                gathered = self._gathered(group[0])
                queries = np.concatenate([asked.query for asked in group])
                try:
                    found = await loop.run_in_executor(self._comparers, best, gathered, queries)
                except Exception as error:
                    for asked in group:
                        asked.answer.set_exception(error)
                    continue
                at = 0
                for asked in group:
                    if not asked.answer.done():
                        asked.answer.set_result(found[:, at : at + len(asked.query)])
                    at += len(asked.query)

    def _gathered(self, asked: _Asked) -> Gathered:
        held = self._held.get(asked.tenant) or _Held()
        if held.gathered is not None and held.gathered[0] == asked.ids:
            return held.gathered[1]
        gathered = gather(asked.ids, held.tokens)
        held.gathered = (asked.ids, gathered)
        kept = [h for h in self._held.values() if h.gathered is not None]
        size = sum(h.gathered[1].vectors.size for h in kept if h.gathered)
        for other in kept:
            if size <= FLOATS or other is held:
                break
            assert other.gathered is not None
            size -= other.gathered[1].vectors.size
            other.gathered = None
        return gathered
