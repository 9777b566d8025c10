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

from rearview_pipelines.errors import RearviewError, Unavailable
from rearview_pipelines.models.late import LateEncoder
from rearview_pipelines.ports import ChangeLog, Tokens, Vector
from rearview_pipelines.recall.encoding import Queries
from rearview_pipelines.recall.maxsim import CHUNK_TOKENS, Gathered, best, best_of_many, gather

log = logging.getLogger(__name__)
FEW = 256
"""So many memories are read by key at a time; for more of them, all of the tenant's are read first."""
TRIES = 3
"""Times that what was let go of while it was read is read again."""
FOLLOW_SECONDS = 1.0
TOGETHER = 8
"""Queries on the same memories that are compared in one multiplication."""
FLOATS = 64 * 2**20
"""Most floats of gathered matrices kept, 256 MB: those of scopes that are compared whole."""


class TokenReader(Protocol):
    async def tokens(
        self, tenant: str, late: str, ids: Sequence[str] | None = None, *, most: int | None = None
    ) -> dict[str, Tokens] | None:
        """Token vectors by memory; None if the tenant has more than `most` rows."""
        ...


@dataclass
class _Held:
    """What is held of a tenant; a memory without token vectors is held with none.

    `gathered`: the last ids that were compared, as one matrix. `gone`: what changed while something was being read.
    `whole`: all that there was has been read, or is too much. `reading`: the calls that are under way.
    """

    tokens: dict[str, Tokens] = field(default_factory=dict)
    gathered: tuple[Sequence[str], Gathered] | None = None
    epoch: str = ""
    seq: int = 0
    followed: float = 0.0
    gone: set[str] = field(default_factory=set)
    whole: bool = False
    loading: "asyncio.Task[None] | None" = None
    reading: "dict[str, asyncio.Task[None]]" = field(default_factory=dict)


@dataclass(frozen=True)
class _Asked:
    held: _Held
    tokens: "dict[str, Tokens]"
    query: Vector
    ids: Sequence[str]
    answer: "asyncio.Future[Vector]"


class LateService:
    """`LateInteraction` in this process. `limit`: memories whose token vectors are held at most, over all tenants."""

    def __init__(self, encoder: LateEncoder, index: TokenReader, changes: ChangeLog | None, limit: int) -> None:
        self._encoder = encoder
        self._index = index
        self._changes = changes
        self._limit = limit
        self._held: OrderedDict[str, _Held] = OrderedDict()
        self._queries = Queries(encoder.query)
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
        await self._queries.encoded(query)

    async def best(self, tenant: str, query: str, ids: Sequence[str]) -> Vector:
        vectors, (held, tokens) = await asyncio.gather(self._queries.encoded(query), self._hold(tenant, ids))
        asked = _Asked(held, tokens, vectors, ids, asyncio.get_running_loop().create_future())
        self._waiting.append(asked)
        if self._comparing is None or self._comparing.done():
            self._comparing = asyncio.ensure_future(self._compare())
        return await asked.answer

    async def _hold(self, tenant: str, ids: Sequence[str]) -> tuple[_Held, dict[str, Tokens]]:
        """What is held of the tenant, and these token vectors out of it, whatever becomes of it meanwhile."""
        held = self._held.setdefault(tenant, _Held())
        self._held.move_to_end(tenant)
        self._follow_soon(tenant, held)
        missing = [id_ for id_ in ids if id_ not in held.tokens]
        if len(missing) > FEW and not held.whole:
            await asyncio.shield(self._load(tenant, held))
        for _ in range(TRIES):  # what was just read may have been let go of again, as changed
            if not (missing := [id_ for id_ in missing if id_ not in held.tokens]):
                break
            await self._read(tenant, held, missing)
        tokens = {id_: held.tokens[id_] for id_ in ids if id_ in held.tokens}
        if not held.whole:
            self._load(tenant, held)  # in the background: the next recalls ask for others
        self._evict()
        return held, tokens

    async def _read(self, tenant: str, held: _Held, missing: Sequence[str]) -> None:
        """Read some by key: whoever gives up waiting, what was begun is kept, and nothing is read twice."""
        wanted = [id_ for id_ in missing if id_ not in held.reading]
        for start in range(0, len(wanted), FEW):
            some = wanted[start : start + FEW]
            task = asyncio.ensure_future(self._read_some(tenant, held, some))
            held.reading.update(dict.fromkeys(some, task))
        for task in {held.reading[id_] for id_ in missing if id_ in held.reading}:
            await asyncio.shield(task)

    async def _read_some(self, tenant: str, held: _Held, ids: Sequence[str]) -> None:
        try:
            self._take(held, ids, await self._index.tokens(tenant, self.name, ids) or {})
        finally:
            for id_ in ids:
                held.reading.pop(id_, None)

    def _load(self, tenant: str, held: _Held) -> "asyncio.Task[None]":
        if held.loading is None:
            held.loading = asyncio.ensure_future(self._read_all(tenant, held))
        return held.loading

    async def _read_all(self, tenant: str, held: _Held) -> None:
        try:
            found = await self._index.tokens(tenant, self.name, most=self._limit)
            if found is not None:  # else there are too many: those asked for are read by key
                self._take(held, list(found), found)
                self._evict()
            held.whole = True
        except Exception as error:  # whatever it was, the next recall tries again
            log.warning("token vectors not read: %s", type(error).__name__)
        finally:
            held.loading = None

    def _take(self, held: _Held, ids: Sequence[str], found: "dict[str, Tokens]") -> None:
        """Hold what was read; of another width, it is of no use."""
        nothing = np.zeros((0, self._encoder.dimension), np.int8)
        for id_ in ids:
            tokens = found.get(id_, nothing)
            held.tokens[id_] = tokens if tokens.shape[1] == self._encoder.dimension else nothing
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
        first = not held.epoch
        known = len(held.tokens)
        try:
            changed = await self._changes.changes(tenant, held.epoch, held.seq)
        except RearviewError as error:
            log.debug("token vectors not followed: %s", type(error).__name__)
            return
        if changed.ids is None and (known or not first):  # what changed before is not known
            held.tokens.clear()
            held.whole = False
        changed_ids = set(changed.ids or ())
        for id_ in changed_ids | held.gone:
            held.tokens.pop(id_, None)
        # What is being read just now may be of before: it is let go of once more the next time.
        held.gone = changed_ids if held.loading is not None or held.reading else set()
        if changed.ids is None or changed_ids:
            held.gathered = None
        held.epoch, held.seq = changed.epoch, changed.seq

    async def _compare(self) -> None:
        """Answer all who wait, those who compare with the same memories a few in one multiplication."""
        while self._waiting:
            batch, self._waiting = self._waiting, []
            groups: list[list[_Asked]] = []
            for asked in batch:
                if asked.answer.done():  # it gave up waiting
                    continue
                group = next((g for g in groups if _same(g[0], asked) and len(g) < TOGETHER), None)
                if group is None:
                    groups.append([asked])
                else:
                    group.append(asked)
            for group in groups:
                await self._answer(group)

    async def _answer(self, group: list[_Asked]) -> None:
        try:
            queries = np.concatenate([asked.query for asked in group])
            loop = asyncio.get_running_loop()
            found = await loop.run_in_executor(self._comparers, self._compared, group[0], queries)
        except Exception as error:  # said to those who asked, and nobody else
            for asked in group:
                if not asked.answer.done():
                    asked.answer.set_exception(Unavailable(f"token vectors not compared: {type(error).__name__}"))
            return
        at = 0
        for asked in group:
            if not asked.answer.done():
                asked.answer.set_result(found[:, at : at + len(asked.query)])
            at += len(asked.query)

    def _compared(self, asked: _Asked, queries: Vector) -> Vector:
        """Runs in the comparing thread."""
        held, tokens = asked.held, asked.tokens
        if held.gathered is not None and held.gathered[0] == asked.ids:
            return best(held.gathered[1], queries)
        if sum(len(tokens.get(id_, ())) for id_ in asked.ids) > CHUNK_TOKENS:
            return best_of_many(asked.ids, tokens, queries)
        gathered = gather(asked.ids, tokens)
        held.gathered = (asked.ids, gathered)
        self._let_go(held)
        return best(gathered, queries)

    def _let_go(self, newest: _Held) -> None:
        kept = [h for h in list(self._held.values()) if h.gathered is not None and h is not newest]
        size = sum(h.gathered[1].vectors.size for h in kept if h.gathered)
        for other in kept:
            if size <= FLOATS or other.gathered is None:
                break
            size -= other.gathered[1].vectors.size
            other.gathered = None


def _same(one: _Asked, other: _Asked) -> bool:
    return one.held is other.held and one.ids == other.ids
