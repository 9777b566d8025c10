"""Ask every route that the mode and the language allow, side by side and in time: what is ready is used."""

import asyncio
import logging
import time
from collections.abc import Awaitable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from rearview_pipelines.memory import Memory
from rearview_pipelines.models.following import follow_model
from rearview_pipelines.models.late import knows
from rearview_pipelines.ports import Embedder, HeldScope, LateInteraction, Match, MemoryIndex, Vector
from rearview_pipelines.recall.cold import best_parts, table_of
from rearview_pipelines.recall.fusion import in_context
from rearview_pipelines.recall.question import Question
from rearview_pipelines.recall.table import Floats, Ints, Table
from rearview_pipelines.recall.tuning import Tuning
from rearview_pipelines.recall.understand import Understood

log = logging.getLogger(__name__)

WHOLE = 2000
"""A scope of so many memories is compared token by token as a whole; of a larger one, candidates are."""
CANDIDATES = 100
"""Rows that each route puts forward: cutting to the best of BM25 in context costs .007 of recall@10, 200 no less."""
COLD_LIMIT = 50
"""Parts asked of each route where nothing is held in memory. On Milvus Lite each costs .7 ms."""


class Stopwatch:
    """Writes into `laps` what passed between one lap and the next, in milliseconds."""

    def __init__(self, laps: dict[str, float]) -> None:
        self._laps = laps
        self._last = time.perf_counter()

    def lap(self, name: str) -> None:
        now = time.perf_counter()
        self._laps[name] = round((now - self._last) * 1000, 2)
        self._last = now


@dataclass
class Found:
    """What the routes answered.

    `late`: (rows, query tokens), the last `marks` of them no words. `context`: BM25 in context of the whole scope.
    `skipped`: routes that were not asked, and why. `held`: the scope in memory that answered, if one did, at
    this `version`.
    `records`: those that were read on the way. `milliseconds`: waited for each part, after the ones before it.
    """

    table: Table
    context: Floats
    late: Floats | None = None
    marks: int = 0
    vector: Vector | None = None
    parts: Mapping[str, int] = field(default_factory=dict)
    degraded: list[str] = field(default_factory=list)
    skipped: dict[str, str] = field(default_factory=dict)
    held: HeldScope | None = None
    version: str = ""
    records: dict[str, Memory] = field(default_factory=dict)
    milliseconds: dict[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Routes:
    """The parts that are asked. `late` of None: there is no late interaction."""

    index: MemoryIndex
    embedder: Embedder
    late: LateInteraction | None = None
    tuning: Tuning = field(default_factory=Tuning)

    async def ask(self, question: Question, limit: int, end: float, mark: str | None = None) -> Found:
        """Rows with what each route says of them. A route that fails or is late is named, never raised.

        `end`: on the loop's clock, by when all have to have answered.
        """
        found = Found(_nothing(), np.zeros(0, np.float32))
        tenant, query = question.tenant, question.request.query
        dense, late = self._allowed(question, found)
        vector = asyncio.ensure_future(self.embedder.query(query)) if dense else None
        ahead = asyncio.ensure_future(self.late.prepare(query)) if late and self.late else None
        whole: asyncio.Future[Any] | None = None
        try:
            watch = Stopwatch(found.milliseconds)
            if not await _in_time(self.index.follow(tenant, mark), end, "index", found):
                return found
            if dense and await self._moved(end, found):  # the query was embedded by the model of before
                vector = asyncio.ensure_future(self.embedder.query(query)) if vector is not None else None
            watch.lap("follow")
            found.held = await self.index.held(tenant, fresh=question.fresh)
            ids = found.held.passing(question.where, WHOLE) if late and found.held else None
            if ids and self.late:
                whole = asyncio.ensure_future(self.late.best(tenant, query, ids))
            if vector is not None:
                await _in_time(_result(vector, found), end, "embedder", found)
            watch.lap("embed")
            await self._gather(question, limit, end, found)
            watch.lap("words_and_cosines")
            if late and self.late and len(found.table):
                if whole is None:
                    rows = self._candidates(found, question.asked)
                    found.table, found.context = found.table.only(rows), found.context[rows]
                    ids = list(found.table.ids)
                    whole = asyncio.ensure_future(self.late.best(tenant, query, ids))
                found.marks = self.late.marks
                await _in_time(_compared(whole, ids or [], found), end, "reranker", found)
                watch.lap("late")
        finally:
            for task in (vector, ahead, whole):
                if task is not None and not task.done():
                    task.cancel()
                elif task is not None and not task.cancelled():
                    task.exception()  # heard, so that nothing is said of it later
        return found

    async def _moved(self, end: float, found: Found) -> bool:
        """Whether the store has moved to another model, which embeds from now on."""
        moved: list[bool] = []

        async def follow() -> None:
            moved.append(await follow_model(self.embedder, self.index.model))

        await _in_time(follow(), end, "embedder", found)
        return any(moved)

    def _allowed(self, question: Question, found: Found) -> tuple[bool, bool]:
        """Whether the embedder and late interaction are asked."""
        request, asked = question.request, question.asked
        if request.mode in ("keyword", "exact"):
            found.skipped |= {"dense": f"mode {request.mode}", "late": f"mode {request.mode}"}
            return False, False
        if not asked.words:
            found.skipped |= {"dense": "the query holds no word", "late": "the query holds no word"}
            return False, False
        known = request.mode == "semantic" or knows(self.embedder.languages, request.query)
        late = self.late is not None and knows(self.late.languages, request.query)
        if not known:
            found.skipped["dense"] = f"{self.embedder.name} does not know {asked.language}"
        if not late:
            reason = "none is configured" if self.late is None else f"{self.late.name} does not know {asked.language}"
            found.skipped["late"] = reason
        if not known and not late:
            found.degraded.append("language")
        return known, late

    async def _gather(self, question: Question, limit: int, end: float, found: Found) -> None:
        semantic = question.request.mode == "semantic"
        terms = () if semantic else question.asked.terms
        if found.held is not None:
            found.table, found.version = found.held.table(question.where, terms, found.vector), found.held.version
            if semantic:
                found.skipped["keyword"] = "mode semantic"
        else:
            await self._cold(question, terms, max(COLD_LIMIT, limit), end, found)
        found.context = in_context(found.table, self.tuning.of(question.asked.language))

    async def _cold(self, question: Question, terms: Sequence[str], limit: int, end: float, found: Found) -> None:
        tenant, where, fresh = question.tenant, question.where, question.fresh
        calls: dict[str, Awaitable[list[Match]]] = {}
        if found.vector is not None:
            calls["dense"] = self.index.dense(tenant, where, found.vector, limit, fresh=fresh)
        if terms:
            calls["keyword"] = self.index.keyword(tenant, where, terms, limit, fresh=fresh)
        routes: dict[str, list[Match]] = {}

        async def one(name: str) -> None:
            routes[name] = await calls[name]

        words = {"dense": "index", "keyword": "keyword"}
        done = await asyncio.gather(*(_in_time(one(name), end, words[name], found) for name in calls))
        if calls and not any(done):
            found.degraded.append("index")
            return
        ids = list(dict.fromkeys(match.id for matches in routes.values() for match in matches))

        async def read() -> None:
            found.records.update(await self.index.get(tenant, ids, fresh=fresh))

        await _in_time(read(), end, "index", found)
        found.table = table_of([found.records[id_] for id_ in ids if id_ in found.records], routes)
        found.parts = best_parts(routes)

    def _candidates(self, found: Found, asked: Understood) -> Ints:
        """Rows worth comparing token by token: the best of every route, and what stands beside the very best."""
        table = found.table
        if len(table) <= 2 * CANDIDATES:
            return np.arange(len(table))
        chosen = [_top(found.context, CANDIDATES)]
        if not np.isnan(table.dense).all():
            cosines = np.nan_to_num(table.dense, nan=-1.0)
            chosen.append(_top(cosines, CANDIDATES))
        beside = table.near[chosen[0][:20]].ravel()
        chosen.append(beside[beside >= 0])
        if asked.recent or asked.span:
            when = table.occurred
            if asked.span:
                inside = (when >= asked.span[0]) & (when < asked.span[1])
                chosen.append(_top(np.where(inside, found.context + 1, 0), CANDIDATES // 2))
            else:
                chosen.append(np.argsort(-when, kind="stable")[: CANDIDATES // 5])
        return np.unique(np.concatenate(chosen))


def _top(values: Floats, count: int) -> Ints:
    """Rows of the highest values, best first; none of a value of 0 or less."""
    order = np.argsort(-values, kind="stable")[:count]
    return order[values[order] > 0]


def _nothing() -> Table:
    return table_of([], {})


async def _result(vector: "asyncio.Future[Vector]", found: Found) -> None:
    found.vector = await vector


async def _compared(call: "asyncio.Future[Vector]", ids: Sequence[str], found: Found) -> None:
    """Put what was compared beside the rows it belongs to: between the two a memory may have come or gone."""
    compared = await call
    if list(found.table.ids) != list(ids):
        place = {id_: row for row, id_ in enumerate(ids)}
        missing = np.full((1, compared.shape[1]), np.nan, np.float32)
        padded = np.concatenate([compared, missing])
        compared = padded[[place.get(id_, -1) for id_ in found.table.ids]]
    if not np.isnan(compared).all():
        found.late = compared
    else:
        found.skipped["late"] = "no candidate has token vectors"


async def _in_time(work: Awaitable[None], end: float, word: str, found: Found) -> bool:
    """Whether it was done by then; if not, `degraded` says what was not."""
    try:
        async with asyncio.timeout_at(end):
            await work
    except TimeoutError:
        found.degraded += [word, "deadline"]
        return False
    except Exception as error:  # a model's own errors too: what failed is left out, whatever it was
        log.warning("%s failed: %s", word, type(error).__name__)
        found.degraded.append(word)
        return False
    return True
