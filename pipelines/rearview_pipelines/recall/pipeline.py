"""Recall, top to bottom: filter → routes → fuse → verify → score → rerank → fit → floor → explain."""

import asyncio
import logging
import secrets
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from rearview_pipelines.errors import RearviewError
from rearview_pipelines.ledger.head import Finding
from rearview_pipelines.ledger.ledger import LedgerReader
from rearview_pipelines.memory import Memory, State
from rearview_pipelines.ports import Clock, Embedder, MemoryIndex, Part, Reranker, Vector, Where
from rearview_pipelines.principal import Principal
from rearview_pipelines.recall import evidence, present, routes
from rearview_pipelines.recall.answers import RecallAnswer
from rearview_pipelines.recall.boosts import age_days, recency
from rearview_pipelines.recall.filters import RECALLABLE, in_states, valid_at, where_of
from rearview_pipelines.recall.fusion import Candidate, fuse
from rearview_pipelines.recall.integrity import Integrity
from rearview_pipelines.recall.present import Seen
from rearview_pipelines.requests import RecallRequest
from rearview_pipelines.stores.rows import fits
from rearview_pipelines.text.analyse import fold
from rearview_pipelines.write.keys import Keys

log = logging.getLogger(__name__)

ROUTE_LIMIT = 30
"""Parts asked of each route, or three times top_k where that is more. On Milvus Lite each costs .7 ms."""
LONG_CHARACTERS = 1000
"""A longer text may have several parts."""
EXACT_LIMIT = 1000
"""Parts looked through for a literal match."""
RERANK_DEPTH = 20
RERANK_WEIGHT = 1.0
"""The reranker's share: its scores, spread over 0 to this, are added to the fused z-scores."""
RESERVE = 0.2
"""Share of the deadline kept for what comes after the routes."""


@dataclass
class Progress:
    """What is known so far; when time runs out, this is the answer."""

    hits: list[Seen] = field(default_factory=list)
    spans: dict[tuple[str, int], Part] = field(default_factory=dict)
    hidden_state: int = 0
    degraded: list[str] = field(default_factory=list)


class RecallPipeline:
    def __init__(
        self,
        index: MemoryIndex,
        embedder: Embedder,
        reranker: Reranker | None,
        keys: Keys,
        clock: Clock,
        ledger: LedgerReader | None = None,
    ) -> None:
        self._index = index
        self._embedder = embedder
        self._reranker = reranker
        self._clock = clock
        self.integrity = Integrity(keys, ledger)

    @property
    def rejected_rows(self) -> int:
        """Rows left out since the start because they were not as they were written."""
        return self.integrity.counts.total()

    async def recall(self, principal: Principal, request: RecallRequest, floor: float = 0.0) -> RecallAnswer:
        """The few memories that answer the query. Raises Forbidden for a filter beyond the credential.

        `floor`: the least score where the request names none. Parts that fail or are late are named
        in `degraded`; the answer comes all the same, within the request's deadline.
        """
        started = time.monotonic()
        seconds = request.deadline_ms / 1000
        end = started + seconds
        where = self._where(principal, request)
        await self.integrity.follow()
        limit = EXACT_LIMIT if request.mode == "exact" else max(ROUTE_LIMIT, 3 * request.top_k)
        found = await routes.ask(
            request,
            where,
            limit,
            seconds * (1 - RESERVE),
            tenant=principal.tenant,
            index=self._index,
            embedder=self._embedder,
        )
        progress = Progress(degraded=list(found.degraded))
        candidates = fuse(found.routes)
        try:
            async with asyncio.timeout(max(end - time.monotonic(), 0)):
                await self._refine(principal, request, where, candidates, found.vector, end, progress)
        except TimeoutError:
            progress.degraded.append("deadline")
        except RearviewError as error:
            log.warning("recall ended early: %s", type(error).__name__)
            progress.degraded.append("index")
        memories, hidden = present.fitted(
            progress.hits[: request.top_k],
            progress.spans,
            request,
            floor if request.min_score is None else request.min_score,
            self._clock.now(),
        )
        return RecallAnswer(
            recall_id=f"r_{secrets.token_hex(12)}",
            memories=memories,
            degraded=tuple(dict.fromkeys(progress.degraded)),
            hidden=hidden.model_copy(update={"state": progress.hidden_state}),
            took_ms=round((time.monotonic() - started) * 1000, 2),
            explain=self._explain(principal, found) if request.explain else None,
        )

    def holds(self, memory: Memory) -> bool:
        """Whether a record is as it was signed and recorded."""
        return self.integrity.holds(memory)

    async def _sound(self, tenant: str, memory: Memory) -> bool:
        """The same, for a row that may have been read from a replica of the store that lags behind."""
        if self.integrity.look(memory) is Finding.REPLAYED:
            newest = (await self._index.get(tenant, [memory.id], fresh=True)).get(memory.id)
            if newest is not None and newest.version > memory.version and self.holds(newest):
                return False  # it was changed while we looked: not what was asked for, and no alarm
        return self.holds(memory)

    def _where(self, principal: Principal, request: RecallRequest) -> Where:
        where = where_of(principal, request.filters)
        if request.as_of is not None:
            return in_states(valid_at(where, request.as_of, begun=True), RECALLABLE)
        states = self._shown_states(request)
        if State.SUPERSEDED not in states:  # those have ended by their nature
            where = valid_at(where, self._clock.now(), begun=False)
        return in_states(where, states if request.filters.state is not None else (State.ACTIVE, State.PENDING))

    @staticmethod
    def _shown_states(request: RecallRequest) -> tuple[State, ...]:
        if request.filters.state is not None:
            return tuple(s for s in request.filters.state if s in RECALLABLE)
        return (State.ACTIVE, State.SUPERSEDED) if request.as_of else (State.ACTIVE,)

    async def _refine(
        self,
        principal: Principal,
        request: RecallRequest,
        where: Where,
        candidates: Sequence[Candidate],
        vector: Vector | None,
        end: float,
        progress: Progress,
    ) -> None:
        """Turn candidates into hits, leaving in `progress` the best answer after every step."""
        await self._verify(principal, request, where, candidates, progress)
        if request.recency_weight:
            now = self._clock.now()
            for seen in progress.hits:
                seen.order += request.recency_weight * recency(age_days(seen.when, now))
            progress.hits.sort(key=lambda s: (-s.order, s.memory.id))
        await self._score(principal.tenant, request, vector, progress)
        await self._rerank(principal.tenant, request, end, progress)
        shown = progress.hits[: request.top_k]
        if not present.fits_whole(shown, request.token_budget):
            progress.spans = await self._index.spans(principal.tenant, [s.found_part for s in shown])

    async def _verify(
        self,
        principal: Principal,
        request: RecallRequest,
        where: Where,
        candidates: Sequence[Candidate],
        progress: Progress,
    ) -> None:
        """Read candidates in order until enough of them hold; count what their state hides."""
        wanted = max(request.top_k, RERANK_DEPTH if self._reranker else 0)
        if request.recency_weight:
            wanted = len(candidates)  # age may lift any of them
        literal = fold(request.query) if request.mode == "exact" else None
        at = 0
        while at < len(candidates) and len(progress.hits) < wanted:
            chunk = candidates[at : at + wanted - len(progress.hits) + 3]
            at += len(chunk)
            ids = [c.id for c in chunk]
            records = await self._index.get(principal.tenant, ids, fresh=request.after is not None)
            for candidate in chunk:
                memory = records.get(candidate.id)
                if memory is None or memory.state is State.FORGOTTEN or not principal.sees(memory):
                    continue
                if not await self._sound(principal.tenant, memory) or not fits(memory, where):
                    continue
                if memory.state not in self._shown_states(request):
                    progress.hidden_state += 1
                elif literal is None or literal in fold(memory.text):
                    score = _evidence(candidate, request)
                    progress.hits.append(Seen(candidate, memory, score, candidate.fused))

    async def _score(self, tenant: str, request: RecallRequest, vector: Vector | None, progress: Progress) -> None:
        """Where the model ran, evidence is the cosine: ask for it where only keywords found a hit."""
        missing = [s for s in progress.hits if "dense" not in s.candidate.routes]
        if not missing or vector is None or request.mode == "exact":
            return
        parts = await self._index.spans(tenant, [(s.memory.id, s.candidate.part) for s in missing])
        for seen in missing:
            part = parts.get((seen.memory.id, seen.candidate.part))
            if part is not None:
                seen.score = evidence.from_cosine(float(part.vector @ vector))

    async def _rerank(self, tenant: str, request: RecallRequest, end: float, progress: Progress) -> None:
        """The reranker's say, if there is one and it comes in time; else the order stays."""
        head = progress.hits[:RERANK_DEPTH]
        if self._reranker is None or len(head) < 2 or request.mode == "exact":
            return
        try:
            async with asyncio.timeout(max(end - time.monotonic(), 0) * (1 - RESERVE)):
                spans = await self._index.spans(tenant, present.too_long(head, LONG_CHARACTERS))
                texts = [present.part_text(s, spans) for s in head]  # a model reads only the start of a long text
                scores = await self._reranker.scores(request.query, texts)
        except (TimeoutError, RearviewError) as error:
            log.warning("reranker skipped: %s", type(error).__name__)
            progress.degraded.append("reranker")
            return
        low = min(scores)
        span = (max(scores) - low) or 1.0
        reranked = [
            replace(seen, order=seen.order + RERANK_WEIGHT * (score - low) / span)
            for seen, score in zip(head, scores, strict=True)
        ]
        reranked.sort(key=lambda s: (-s.order, s.memory.id))
        progress.hits = reranked + progress.hits[RERANK_DEPTH:]

    def _explain(self, principal: Principal, found: routes.Found) -> dict[str, object]:
        return {
            "routes": {name: len(matches) for name, matches in found.routes.items()},
            "reranker": self._reranker.name if self._reranker else "off: none is configured",
            "embedder": self._embedder.name,
            "scope": {"tenant": principal.tenant, "agent": principal.agent, "user": principal.user},
        }


def _evidence(candidate: Candidate, request: RecallRequest) -> float:
    if request.mode == "exact":
        return 1.0
    if "dense" in candidate.routes:
        return evidence.from_cosine(candidate.routes["dense"][1])
    return evidence.from_bm25(candidate.routes["keyword"][1])
