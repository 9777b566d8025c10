"""Recall, top to bottom: understand → filter → routes → fuse → boost → rerank → diversify → verify → fit → floor."""

import asyncio
import logging
import secrets
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from rearview_pipelines.errors import InvalidInput, RearviewError, Unavailable
from rearview_pipelines.ledger.ledger import LedgerReader
from rearview_pipelines.memory import Memory, State
from rearview_pipelines.ports import Clock, Embedder, HeldScope, LateInteraction, MemoryIndex, Part, Reranker, Where
from rearview_pipelines.principal import Principal
from rearview_pipelines.recall import present
from rearview_pipelines.recall.answers import RecallAnswer
from rearview_pipelines.recall.archived import archived, merged
from rearview_pipelines.recall.boosts import Standing, asks_more, boosts_of
from rearview_pipelines.recall.cache import Ranking, RankingCache
from rearview_pipelines.recall.cross import CrossStage
from rearview_pipelines.recall.diversity import diverse
from rearview_pipelines.recall.filters import RECALLABLE, in_states, valid_at, where_of
from rearview_pipelines.recall.integrity import Integrity
from rearview_pipelines.recall.present import Seen
from rearview_pipelines.recall.question import Question
from rearview_pipelines.recall.ranking import BEST, MOST, MOST_EXACT, ranked, related_to
from rearview_pipelines.recall.routes import Routes, Stopwatch
from rearview_pipelines.recall.tuning import Tuning
from rearview_pipelines.recall.understand import understand
from rearview_pipelines.requests import RecallRequest
from rearview_pipelines.stores.cold import ColdStore
from rearview_pipelines.stores.rows import fits
from rearview_pipelines.text.analyse import fold
from rearview_pipelines.write.keys import Keys

log = logging.getLogger(__name__)

LEAST_DEPTH = 20
"""Candidates that are put in order for good, or twice top_k where that is more."""
AHEAD = timedelta(minutes=5)
"""How far a caller's clock may be ahead of ours."""
RESERVE = 0.2
"""Share of the deadline kept for what comes after the routes."""
_UNUSED: Mapping[str, Standing] = {}
_NONE = Standing()


@dataclass
class Progress:
    """What is known so far; when time runs out, this is the answer."""

    hits: list[Seen] = field(default_factory=list)
    spans: dict[tuple[str, int], Part] = field(default_factory=dict)
    hidden_state: int = 0
    sound: dict[str, bool] = field(default_factory=dict)
    degraded: list[str] = field(default_factory=list)
    notes: dict[str, object] = field(default_factory=dict)


class RecallPipeline:
    """`late` of None: no late interaction. `reranker` of None: no cross-encoder. `cache_seconds` of 0: no cache.

    `cold` of None: there is no cold tier.
    """

    def __init__(
        self,
        index: MemoryIndex,
        embedder: Embedder,
        reranker: Reranker | None,
        keys: Keys,
        clock: Clock,
        ledger: LedgerReader | None = None,
        late: LateInteraction | None = None,
        tuning: Tuning | None = None,
        cache_seconds: float = 0.0,
        cold: ColdStore | None = None,
    ) -> None:
        self._index = index
        self._cold = cold
        self._clock = clock
        self._tuning = tuning or Tuning()
        self._routes = Routes(index, embedder, late, self._tuning)
        self._cross = CrossStage(index, reranker)
        self._cache = RankingCache(cache_seconds)
        self.integrity = Integrity(keys, ledger)

    @property
    def rejected_rows(self) -> int:
        """Rows left out since the start because they were not as they were written."""
        return self.integrity.counts.total()

    @property
    def late_name(self) -> str | None:
        """The late interaction model; None where there is none."""
        return self._routes.late.name if self._routes.late else None

    @property
    def cache_hits(self) -> int:
        """Recalls since the start whose ranking was remembered."""
        return self._cache.hits

    async def recall(
        self,
        principal: Principal,
        request: RecallRequest,
        floor: float = 0.0,
        standing: Mapping[str, Standing] = _UNUSED,
    ) -> RecallAnswer:
        """The few memories that answer the query. Raises Forbidden for a filter beyond the credential.

        A part that fails or is late is named in `degraded`; what is ready then is the answer. `standing`:
        by memory, how it was used so far.
        """
        started = time.monotonic()
        seconds = request.deadline_ms / 1000
        now = self._clock.now()
        where = self._where(principal, request, now)
        question = Question(principal, request, understand(request.query, now, request.timezone), where, now)
        progress = Progress()
        began = asyncio.get_running_loop().time()
        try:
            async with asyncio.timeout_at(began + seconds):
                await self.integrity.follow()  # what it raises means that nothing may be read
                await self._find(question, began + seconds * (1 - RESERVE), standing, progress)
        except TimeoutError:
            progress.degraded.append("deadline")
        memories, hidden = present.fitted(
            progress.hits[: request.top_k],
            progress.spans,
            request,
            floor if request.min_score is None else request.min_score,
            now,
        )
        return RecallAnswer(
            recall_id=f"r_{secrets.token_hex(12)}",
            memories=memories,
            degraded=tuple(dict.fromkeys(progress.degraded)),
            hidden=hidden.model_copy(update={"state": progress.hidden_state}),
            took_ms=round((time.monotonic() - started) * 1000, 2),
            explain=self._explain(question, progress) if request.explain else None,
        )

    async def _find(
        self, question: Question, until: float, standing: Mapping[str, Standing], progress: Progress
    ) -> None:
        """Leave in `progress` what there is of an answer, whatever fails on the way."""
        try:
            ranking = await self._rank(question, until, progress)
            await self._refine(question, ranking, standing, progress)
        except RearviewError as error:
            log.warning("recall ended early: %s", type(error).__name__)
            progress.degraded.append("index")

    def holds(self, memory: Memory) -> bool:
        """Whether a record is as it was signed and recorded."""
        return self.integrity.holds(memory)

    async def _sound(self, tenant: str, memory: Memory) -> bool:
        """The same, for a row that may have been read from a replica of the store that lags behind."""
        finding = self.integrity.look(memory)
        if finding is not None:
            newest = (await self._index.get(tenant, [memory.id], fresh=True)).get(memory.id)
            if newest is not None and newest != memory and self.integrity.look(newest) is None:
                # Changed while we looked: no alarm. Signed anew it is the same one; else it is not what was asked for.
                return newest.version == memory.version
        return self.integrity.settled(memory, finding)

    def _where(self, principal: Principal, request: RecallRequest, now: datetime) -> Where:
        where = where_of(principal, request.filters)
        if request.as_of is not None:
            if request.as_of > now + AHEAD:
                raise InvalidInput.one("as_of", "lies in the future", "send a moment that has been, or leave it out")
            return in_states(valid_at(where, request.as_of, begun=True), RECALLABLE)
        states = self._shown_states(request)
        where = valid_at(where, now, begun=False)
        return in_states(where, states if request.filters.state is not None else (State.ACTIVE, State.PENDING))

    @staticmethod
    def _shown_states(request: RecallRequest) -> tuple[State, ...]:
        if request.filters.state is not None:
            asked = tuple(s for s in request.filters.state if s in RECALLABLE)
            return asked if request.as_of else tuple(s for s in asked if s is not State.SUPERSEDED)
        return (State.ACTIVE, State.SUPERSEDED) if request.as_of else (State.ACTIVE,)

    async def _rank(self, question: Question, until: float, progress: Progress) -> Ranking:
        """Candidates in the fused order: remembered, if nothing in the scope has changed since, or found now."""
        tenant, request, asked = question.tenant, question.request, question.asked
        key, mark = self._cache.key(question), self.integrity.mark
        if self._cache.knows(key):
            await self._index.follow(tenant, mark)
            held = await self._index.held(tenant)
            known = self._cache.get(key, held.version if held else None)
            if known is not None:
                progress.notes = {"cache": "the ranking was remembered", **known.notes}
                return known
        limit = MOST_EXACT if request.mode == "exact" else max(LEAST_DEPTH, 3 * request.top_k)
        found = await self._routes.ask(question, limit, until, mark)
        progress.degraded += found.degraded
        more = asks_more(asked, request.recency_weight)
        most = MOST if more else max(3 * LEAST_DEPTH, 3 * request.top_k)
        weights = self._tuning.of(asked.language)
        candidates = ranked(found, asked, request.mode, weights, most=most, explain=request.explain)
        notes = {
            "routes": {
                "keyword": int((found.table.keyword > 0).sum()),
                "dense": len(found.table) if found.vector is not None else 0,
                "late": len(found.table) if found.late is not None else 0,
            },
            "skipped": found.skipped,
            "scope_in_memory": found.held is not None,
            "considered": len(found.table),
            "milliseconds": found.milliseconds,
        }
        progress.notes = notes
        ranking = Ranking(candidates, found.vector, dict(found.parts), found.records, notes)
        if not found.degraded and found.held is not None and found.held.version == found.version:
            self._cache.put(tenant, key, found.version, ranking)
        return ranking

    async def _refine(
        self, question: Question, ranking: Ranking, standing: Mapping[str, Standing], progress: Progress
    ) -> None:
        """Turn candidates into hits, leaving in `progress` the best answer after every step."""
        tenant, request = question.tenant, question.request
        held = await self._index.held(tenant)
        laps: dict[str, float] = {}
        watch = Stopwatch(laps)
        waiting = await self._boosted(question, ranking, standing, held)
        if request.mode == "exact":
            literal = fold(request.query)
            waiting = [s for s in waiting if literal in fold(s.memory.text)]
        else:
            depth = max(LEAST_DEPTH, 2 * request.top_k)
            head = waiting[:depth]
            progress.hits = await self._verified(question, head[: request.top_k], progress)
            head = await self._cross.reranked(tenant, request, head, progress.degraded, progress.notes)
            waiting = [*_diverse(head, held), *waiting[depth:]]
            watch.lap("boost_and_diversify")
        progress.hits = await self._verified(question, waiting, progress)
        watch.lap("verify")
        if self._cold is not None:
            await self._look_in_cold(question, ranking, self._cold, progress)
            watch.lap("cold")
        progress.notes = {**progress.notes, "milliseconds_after": laps}
        if not present.fits_whole(progress.hits, request.token_budget):
            progress.spans = await self._index.spans(tenant, [s.found_part for s in progress.hits])

    async def _look_in_cold(self, question: Question, ranking: Ranking, cold: ColdStore, progress: Progress) -> None:
        """Add what lies in the cold tier, where its words say that it answers."""
        try:
            found = await archived(question, cold, ranking.vector, self._routes.embedder.name, question.request.top_k)
        except Unavailable as error:
            log.warning("the cold tier was not searched: %s", error.detail)
            progress.degraded.append("index")
            return
        if found:
            hidden = progress.hidden_state
            sound = await self._verified(question, found, progress)
            progress.hidden_state += hidden
            progress.hits = merged(progress.hits, sound, question.request.top_k)

    async def _boosted(
        self, question: Question, ranking: Ranking, standing: Mapping[str, Standing], held: HeldScope | None
    ) -> list[Seen]:
        """Candidates with their records, in the order that boosts leave them in."""
        asked, weight = question.asked, question.request.recency_weight
        missing = [c.id for c in ranking.candidates if c.id not in ranking.records]
        records = ranking.records
        if missing:
            records = records | await self._index.get(question.tenant, missing, fresh=question.fresh)
        seen = []
        for candidate in ranking.candidates:
            memory = records.get(candidate.id)
            if memory is None or memory.state is State.FORGOTTEN:
                continue
            used = standing.get(memory.id, _NONE)
            added = boosts_of(memory, asked, weight, question.now, used, self._tuning.boosts)
            part = ranking.parts.get(memory.id, 0)
            if held is not None:
                part = held.best_part(memory.id, asked.terms, ranking.vector)
            order = candidate.total + sum(added.values())
            seen.append(Seen(candidate, memory, candidate.evidence, order, part, added))
        seen.sort(key=lambda s: -s.order)  # stable: equals stay in the fused order
        return self._with_related(seen) if asked.related else seen

    def _with_related(self, seen: list[Seen]) -> list[Seen]:
        """The same, what is related to the best moved up."""
        near = {id_ for s in seen[:BEST] for id_ in related_to(s.candidate, s.memory)}
        added = self._tuning.boosts.related
        for one in seen:
            if one.memory.id in near:
                one.order += added
                one.boosts = {**one.boosts, "related": added}
        return sorted(seen, key=lambda s: -s.order)

    async def _verified(self, question: Question, waiting: list[Seen], progress: Progress) -> list[Seen]:
        """The first `top_k` that hold; counts what their state hides on the way."""
        principal, request = question.principal, question.request
        hits: list[Seen] = []
        hidden = 0
        for seen in waiting:
            if len(hits) == request.top_k:
                break
            memory = seen.memory
            if not principal.sees(memory) or not fits(memory, question.where):
                continue
            if memory.id not in progress.sound:
                progress.sound[memory.id] = await self._sound(principal.tenant, memory)
            if not progress.sound[memory.id]:
                continue
            if memory.state not in self._shown_states(request):
                hidden += 1
            else:
                hits.append(seen)
        progress.hidden_state = hidden
        return hits

    def _explain(self, question: Question, progress: Progress) -> dict[str, object]:
        principal, asked = question.principal, question.asked
        late = self._routes.late
        return {
            **progress.notes,
            "understood": {
                "language": asked.language,
                "terms": list(asked.terms),
                "exact": list(asked.phrases),
                "asks_when": asked.when,
                "time": [_instant(ms) for ms in asked.span] if asked.span else None,
                "asks_recent": asked.recent,
                "kinds": sorted(kind.value for kind in asked.kinds),
                "outcome": asked.outcome.value if asked.outcome else None,
            },
            "late": late.name if late else None,
            "embedder": self._routes.embedder.name,
            "scope": {"tenant": principal.tenant, "agent": principal.agent, "user": principal.user},
        }


def _instant(milliseconds: int) -> str:
    return datetime.fromtimestamp(milliseconds / 1000, UTC).isoformat()


def _diverse(head: list[Seen], held: HeldScope | None) -> list[Seen]:
    """The head again, each now behind what says something else and is nearly as good; where vectors are at hand."""
    if held is None:
        return head
    of = [held.parts.get(s.memory.id, ())[s.part : s.part + 1] for s in head]
    vectors = [part[0].vector if part else None for part in of]
    return [head[i] for i in diverse([s.order for s in head], vectors)]
