"""The domain in one place: what REST, MCP and the command line call. Composition is the caller's."""

import asyncio
import base64
import json
import logging
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Protocol, TypeVar

from rearview_pipelines.errors import Conflict, Forbidden, InvalidInput, NotFound, RearviewError
from rearview_pipelines.fields import MAX_METADATA_BYTES
from rearview_pipelines.forgets import ForgetReport, Forgets
from rearview_pipelines.ledger.audit import verify
from rearview_pipelines.ledger.ledger import LedgerReader
from rearview_pipelines.lifecycle.jobs import Job, Jobs
from rearview_pipelines.lifecycle.transfer import Importing, Sealing
from rearview_pipelines.memory import Memory, State
from rearview_pipelines.ports import Clock, Embedder, MemoryIndex, Reranker, Where
from rearview_pipelines.principal import Principal, Role
from rearview_pipelines.privacy.egress import Egress
from rearview_pipelines.privacy.scrub import Found, Scrubber
from rearview_pipelines.recall.answers import ContextAnswer, RecallAnswer
from rearview_pipelines.recall.context import render
from rearview_pipelines.recall.filters import in_states, where_of
from rearview_pipelines.recall.pipeline import RecallPipeline
from rearview_pipelines.receipts import Receipt
from rearview_pipelines.reflect.pipeline import parameters_of, principal_of
from rearview_pipelines.reflect.results import Result, Results
from rearview_pipelines.requests import (
    FeedbackRequest,
    Filters,
    ForgetRequest,
    JobRequest,
    ListRequest,
    ObserveRequest,
    RecallRequest,
    ReflectRequest,
    TranscriptRequest,
    WriteRequest,
)
from rearview_pipelines.session_service import SessionPort, SessionService, Summarizer
from rearview_pipelines.sessions.summary import Extractive
from rearview_pipelines.sessions.transcript import Page, Transcripts
from rearview_pipelines.sessions.working import WorkingMemory
from rearview_pipelines.stores.rows import fits
from rearview_pipelines.traces import Traces, UsePort, shown_recall
from rearview_pipelines.write.admit import admit
from rearview_pipelines.write.gone import Forgotten, Scope
from rearview_pipelines.write.handouts import Handout
from rearview_pipelines.write.identity import is_memory_id
from rearview_pipelines.write.item import Item
from rearview_pipelines.write.keys import Keys
from rearview_pipelines.write.keystore import KeyStore

READABLE = (State.ACTIVE, State.PENDING, State.SUPERSEDED)
PAGE = 1000
"""Memories read at a time where all are wanted."""
RESIGN_PAGE = 200
"""Memories signed anew at a time; writes get their turn in between."""
EXPORT_PAGE = 200
"""Memories read at a time for an export."""
MAX_HISTORY = 200
log = logging.getLogger(__name__)
_M = TypeVar("_M", bound=Memory)


class WritePort(UsePort, SessionPort, Protocol):
    """The writer, here or behind a deployment handle."""

    async def write(
        self, principal: Principal, items: list[Item], idempotency_key: str | None = None
    ) -> list[Receipt]: ...

    async def patch(
        self, principal: Principal, id_: str, changes: Mapping[str, Any], if_match: int | None
    ) -> Receipt: ...

    async def forget(self, principal: Principal, scope: Scope) -> Forgotten: ...

    async def start_job(self, tenant: str, kind: str, parameters: Mapping[str, Any]) -> Job: ...

    async def observe(
        self, principal: Principal, request: ObserveRequest, idempotency_key: str | None = None
    ) -> list[Receipt]: ...

    async def release(self, principal: Principal, id_: str) -> Memory: ...

    async def resign(self, tenant: str, ids: Sequence[str], kid: str) -> int: ...

    async def handed(self, handout: Handout) -> None: ...


@dataclass(frozen=True)
class Trust:
    """What makes a store one that can be trusted: how it scrubs, what its ledger says, its keys and transcripts.

    `reader` follows the log in this process.
    """

    keys: KeyStore | Keys
    reader: LedgerReader | None = None
    scrubber: Scrubber | None = None
    transcripts: Transcripts | None = None
    jobs: Jobs | None = None
    working: WorkingMemory | None = None
    results: Results | None = None


class SystemClock:
    def now(self) -> datetime:
        return datetime.now(UTC)


class MemoryService:
    """Every verb, for a principal that was authenticated by the caller."""

    def __init__(
        self,
        writer: WritePort,
        recaller: RecallPipeline,
        index: MemoryIndex,
        embedder: Embedder,
        reranker: Reranker | None,
        floor: float,
        trust: Trust | None = None,
        clock: Clock | None = None,
        summarizer: Summarizer | None = None,
    ) -> None:
        self._writer = writer
        self._recaller = recaller
        self._index = index
        self._embedder = embedder
        self._reranker = reranker
        self._floor = floor
        self._trust = trust
        self._clock = clock or SystemClock()
        self._egress = Egress(trust.scrubber if trust else None, trust.keys) if trust else None
        self._traces = Traces(writer, index)
        self._forgets = Forgets(writer, index, trust.transcripts if trust else None, self._clock)
        self._sessions = None
        if trust is not None and trust.working is not None and trust.transcripts is not None:
            self._sessions = SessionService(
                writer, self, trust.working, trust.transcripts, summarizer or Extractive(), trust.scrubber, self._clock
            )
        self._noting: set[asyncio.Task[None]] = set()

    @property
    def sessions(self) -> SessionService:
        """Working memory. Raises Conflict where the store keeps none."""
        if self._sessions is None:
            raise Conflict("this store keeps no sessions")
        return self._sessions

    @property
    def tampered(self) -> Mapping[str, int]:
        """Rows left out since the start, by what was wrong with them."""
        return dict(self._recaller.integrity.counts)

    @property
    def remembered(self) -> int:
        """Recalls since the start whose ranking was remembered."""
        return self._recaller.cache_hits

    @property
    def rejected_rows(self) -> int:
        """Rows left out of recalls since the start because their signature did not hold."""
        return self._recaller.rejected_rows

    async def write(
        self, principal: Principal, request: WriteRequest, idempotency_key: str | None = None
    ) -> list[Receipt]:
        items = admit(principal, request.memories)
        return await self._writer.write(principal, items, idempotency_key)

    async def recall(self, principal: Principal, request: RecallRequest, *, floored: bool = False) -> RecallAnswer:
        """`floored`: apply the configured floor where the request names none, as for a model's eyes."""
        if request.reveal:
            principal.require_reveal()
        request = request.model_copy(update={"filters": self._scrubbed(principal, request.filters)})
        standing = self._traces.standing(principal.tenant)
        answer = await self._recaller.recall(principal, request, self._floor if floored else 0.0, standing)
        self._note(principal, request, answer)
        hits = tuple(self._out(hit, reveal=request.reveal) for hit in answer.memories)
        return answer.model_copy(update={"memories": hits})

    def _out(self, memory: _M, *, reveal: bool = False) -> _M:
        return self._egress.out(memory, reveal=reveal) if self._egress else memory

    def _scrubbed(self, principal: Principal, filters: Filters) -> Filters:
        """Filters in the words that memories are kept in: a value that scrubbing replaces finds what it replaced."""
        scrubber = self._trust.scrubber if self._trust else None
        if scrubber is None:
            return filters
        update: dict[str, Any] = {}
        for name in ("key", "namespace", "task", "task_type", "ref", "tags", "any_tags"):
            values = getattr(filters, name)
            if values is not None:
                update[name] = tuple(scrubber.name(name, v, principal.tenant, Found()) for v in values)
        if filters.metadata is not None:
            update["metadata"] = scrubber.json(filters.metadata, principal.tenant, Found(), MAX_METADATA_BYTES)
        return filters.model_copy(update=update)

    async def recalled(self, principal: Principal, recall_id: str) -> dict[str, Any]:
        """What a recall handed out, and where each came from. Raises NotFound for another's, or after seven days."""
        await self.settled()
        handout, found = await self._traces.handed_out(principal, recall_id)
        await self._recaller.integrity.follow()
        seen = {id_: self._out(m) for id_, m in found.items() if principal.sees(m) and self._recaller.holds(m)}
        return shown_recall(handout, seen)

    async def feedback(self, principal: Principal, request: FeedbackRequest) -> dict[str, Any]:
        """Note what the caller thought of a memory that it was handed; answers the counts."""
        await self.settled()
        use = await self._traces.feedback(principal, request)
        return {"id": request.id, "used": use.used, "helpful": use.helpful, "unhelpful": use.unhelpful}

    def _note(self, principal: Principal, request: RecallRequest, answer: RecallAnswer) -> None:
        """Tell the writer what was handed out, after the reply: echoes and second sources are judged by it."""
        if not answer.memories:
            return
        session = request.session or (request.filters.session[0] if request.filters.session else "")
        handout = Handout(
            answer.recall_id,
            self._clock.now().isoformat(),
            principal.tenant,
            principal.id,
            principal.agent or "",
            principal.user or "",
            session,
            tuple(hit.id for hit in answer.memories),
        )
        task = asyncio.ensure_future(self._tell(handout))
        self._noting.add(task)
        task.add_done_callback(self._noting.discard)

    async def _tell(self, handout: Handout) -> None:
        try:
            await self._writer.handed(handout)
        except RearviewError as error:
            log.warning("a recall was not noted: %s", type(error).__name__)

    async def settled(self) -> None:
        """Wait until what recalls handed out is noted."""
        await asyncio.gather(*self._noting)

    async def observe(
        self, principal: Principal, request: ObserveRequest, idempotency_key: str | None = None
    ) -> list[Receipt]:
        """A receipt for each observed turn: what was kept of it, or why nothing was."""
        return await self._writer.observe(principal, request, idempotency_key)

    async def transcript(self, principal: Principal, request: TranscriptRequest) -> Page:
        """A session's turns as kept, in order. Raises NotFound if there are none for this principal."""
        transcripts = self._trust.transcripts if self._trust else None
        if transcripts is None:
            raise NotFound("no such session")
        page = await transcripts.page(principal, request.session, request.cursor, request.limit, self._clock.now())
        if not page.turns and request.cursor == 0:
            raise NotFound("no such session")
        return page

    async def context(self, principal: Principal, request: RecallRequest) -> ContextAnswer:
        answer = await self.recall(principal, request, floored=True)
        text, tokens, ids = render(answer.memories, request.token_budget)
        return ContextAnswer(
            recall_id=answer.recall_id, text=text, tokens=tokens, memories=ids, degraded=answer.degraded
        )

    async def get(self, principal: Principal, id_: str, *, reveal: bool = False) -> Memory:
        """Raises NotFound for what is unknown, forgotten, or another's: the same answer."""
        if reveal:
            principal.require_reveal()
        return self._out(await self._readable(principal, id_), reveal=reveal)

    async def _readable(self, principal: Principal, id_: str) -> Memory:
        await self._recaller.integrity.follow()
        found = await self._index.get(principal.tenant, [id_]) if is_memory_id(id_) else {}
        memory = found.get(id_)
        if memory is None or not self._shows(principal, memory):
            raise NotFound()
        return memory

    def _shows(self, principal: Principal, memory: Memory) -> bool:
        """Whether a record may be read by id: the principal's, in a state for its eyes, and as it was written."""
        hidden = memory.state not in READABLE and principal.role is not Role.ADMIN
        gone = memory.state is State.FORGOTTEN
        return principal.sees(memory) and not hidden and not gone and self._recaller.holds(memory)

    async def list_memories(self, principal: Principal, request: ListRequest) -> tuple[list[Memory], str | None]:
        """(memories, next cursor), newest first; the cursor is None at the end."""
        await self._recaller.integrity.follow()
        where = where_of(principal, self._scrubbed(principal, request.filters))
        states = request.filters.state or (State.ACTIVE, State.PENDING)
        where = in_states(where, tuple(states))
        before = _read_cursor(request.cursor) if request.cursor else None
        keys = await self._index.page(principal.tenant, where, before, request.limit)
        found = await self._index.get(principal.tenant, [id_ for _, id_ in keys])
        read = [found[id_] for _, id_ in keys if id_ in found]
        memories = [m for m in read if principal.sees(m) and self._recaller.holds(m)]
        memories = [self._out(m) for m in memories]
        return memories, _cursor(keys[-1]) if len(keys) == request.limit else None

    async def patch(
        self, principal: Principal, id_: str, changes: Mapping[str, Any], if_match: int | None = None
    ) -> Receipt:
        return await self._writer.patch(principal, id_, changes, if_match)

    async def forget(self, principal: Principal, request: ForgetRequest) -> ForgetReport:
        """Forget what the request names; a dry run says what that would be. On return nothing of it is recalled."""
        filters = request.filters and self._scrubbed(principal, request.filters)
        return await self._forgets.forget(principal, request.model_copy(update={"filters": filters}))

    async def export(self, principal: Principal, filters: Filters) -> AsyncIterator[bytes]:
        """The principal's memories that stand, hot and cold, as lines under a signed manifest."""
        trust = self._trusted()
        await self._recaller.integrity.follow()
        where = where_of(principal, self._scrubbed(principal, filters))
        where = in_states(where, tuple(filters.state or (State.ACTIVE, State.PENDING)))
        sealing = Sealing(principal.tenant, trust.keys, self._clock.now())
        held: Memory | None = None
        begun = False
        ids = await self._index.ids(principal.tenant)
        for start in range(0, len(ids), EXPORT_PAGE):
            found = await self._index.get(principal.tenant, ids[start : start + EXPORT_PAGE])
            for memory in found.values():
                if not (fits(memory, where) and principal.sees(memory) and self._recaller.holds(memory)):
                    continue
                if not begun:
                    yield sealing.manifest(empty=False)
                    begun = True
                if held is not None:
                    yield sealing.memory(held, last=False)
                held = self._out(memory)
        yield sealing.memory(held, last=True) if held is not None else sealing.manifest(empty=True)

    async def import_lines(self, principal: Principal, lines: AsyncIterator[bytes | None]) -> dict[str, Any]:
        """Write what lines hold; the bad ones are counted, and the first described."""
        principal.require_writer()

        async def write(items: list[Item]) -> list[Receipt]:
            return await self._writer.write(principal, items)

        return (await Importing(principal, self._trusted().keys, write).take(lines)).shown

    async def start_job(self, principal: Principal, request: JobRequest) -> dict[str, Any]:
        """Begin long work. Admins only."""
        principal.require_admin()
        if request.kind in ("migrate", "reindex") and not _owns_store(principal):
            raise Forbidden("only an admin of the tenant `default`, of no agent or user alone, changes the whole store")
        if request.kind == "reflect":
            scope = {
                n: getattr(request, n) for n in ("task", "task_type", "session") if getattr(request, n) is not None
            }
            return await self.reflect(principal, ReflectRequest.model_validate(scope))
        job = await self._writer.start_job(principal.tenant, request.kind, request.parameters)
        return {"id": job.id}

    async def job(self, principal: Principal, id_: str) -> dict[str, Any]:
        """How far a job of the principal's tenant is. Raises NotFound."""
        jobs = self._trusted().jobs
        if jobs is None:
            raise NotFound("no such job")
        return (await jobs.get(principal.tenant, id_)).shown

    async def stats(self, principal: Principal) -> dict[str, Any]:
        """Counts of the tenant's memories by state, and the models in use."""
        counts = dict(await self._index.counts(principal.tenant))
        languages = self._embedder.languages
        return {
            "tenant": principal.tenant,
            "memories": counts,
            "embedding_model": self._embedder.name,
            "dimension": self._embedder.dimension,
            "languages": sorted(languages) if languages is not None else None,
            "reranker": self._reranker.name if self._reranker else None,
            "late_interaction": self._recaller.late_name,
            "rejected_rows": self.rejected_rows,
            "tampered": dict(self._recaller.integrity.counts),
        }

    async def history(self, principal: Principal, id_: str) -> list[Memory]:
        """What was held before and after it, oldest first: the chain of what superseded what. Raises NotFound."""
        memory = await self._readable(principal, id_)
        chain = {memory.id: memory}
        waiting = [memory]
        while waiting and len(chain) < MAX_HISTORY:
            at = waiting.pop()
            ids = [r.id for r in at.related if r.relation == "supersedes"]
            ids += [at.superseded_by] if at.superseded_by else []
            found = await self._index.get(principal.tenant, [i for i in ids if i not in chain])
            for other in found.values():
                if self._shows(principal, other):
                    chain[other.id] = other
                    waiting.append(other)
        # What was written in one request has one birth: what ended first was first.
        never = datetime.max.replace(tzinfo=UTC)
        order = sorted(chain.values(), key=lambda m: (m.created_at, m.superseded_at or never, m.id))
        return [self._out(m) for m in order]

    async def provenance(self, principal: Principal, id_: str) -> dict[str, Any]:
        """Where a memory came from and what happened to it: source, authors, support, every recorded event."""
        memory = self._out(await self._readable(principal, id_))
        reader = self._trust.reader if self._trust else None
        events = await reader.events_of(principal.tenant, id_) if reader else []
        return {
            "id": memory.id,
            "agent": memory.agent,
            "user": memory.user,
            "source": memory.source.model_dump(mode="json"),
            "session": memory.session,
            "trust": memory.trust.value,
            "state": memory.state.value,
            "supporters": len(memory.support),
            "derived_from": list(memory.source.derived_from),
            "related": [r.model_dump() for r in memory.related],
            "superseded_by": memory.superseded_by,
            "suspected": list(memory.suspected),
            "signature": {"kid": memory.signature.kid if memory.signature else None, "holds": True},
            "events": events,
        }

    async def verify(self, principal: Principal) -> dict[str, Any]:
        """Check every memory of the tenant and the whole ledger. Admins only."""
        principal.require_admin()
        trust = self._trusted()
        assert trust.reader is not None
        report = await verify(principal.tenant, self._index, trust.reader, trust.keys)
        findings = [{"id": id_, "kind": kind.value} for id_, kind in sorted(report.findings.items())]
        return {"ok": not findings, "checked": report.checked, "findings": findings}

    async def reflect(self, principal: Principal, request: ReflectRequest) -> dict[str, Any]:
        """Begin a reflection in the caller's scope. Raises NotFound for what nothing is known of."""
        principal.require_writer()
        name, value = request.scope
        scrubbed = self._scrubbed(principal, Filters.model_validate({name: value}))
        [value] = getattr(scrubbed, name)
        await self._require_known(principal, name, value)
        job = await self._writer.start_job(principal.tenant, "reflect", parameters_of(principal, name, value))
        return {"id": job.id}

    async def _require_known(self, principal: Principal, name: str, value: str) -> None:
        where = in_states(where_of(principal, Filters.model_validate({name: value})), (State.ACTIVE, State.PENDING))
        if await self._index.page(principal.tenant, where, None, 1):
            return
        transcripts = self._trust.transcripts if self._trust else None
        now = self._clock.now()
        if name == "session" and transcripts and (await transcripts.page(principal, value, 0, 1, now)).turns:
            return
        raise NotFound(f"nothing is known of this {name.replace('_', ' ')}")

    async def reflection(self, principal: Principal, id_: str) -> dict[str, Any]:
        """How far a reflection is, and what it found. Raises NotFound for another's."""
        trust = self._trusted()
        if trust.jobs is None or trust.results is None:
            raise NotFound("no such reflection")
        job = await trust.jobs.get(principal.tenant, id_)
        overseen = principal.role is Role.ADMIN and principal.agent is None and principal.user is None
        mine = principal_of(job).id == principal.id or overseen
        if job.kind != "reflect" or not mine:
            raise NotFound("no such reflection")
        result = await trust.results.get(principal.tenant, id_) or Result(id_, principal.id)
        answer = {
            "id": id_,
            "status": job.status,
            "mode": result.mode,
            "lessons": result.lessons,
            "errors": result.errors,
            "improvements": result.improvements,
            "skipped": result.skipped,
            "done": job.done,
            "total": job.total,
        }
        return answer | ({"error": job.detail["error"]} if "error" in job.detail else {})

    async def quarantine(self, principal: Principal) -> dict[str, Any]:
        """What is held back: memories that screening suspects, and rows that are not as they were written."""
        principal.require_admin()
        await self._recaller.integrity.follow()
        where = in_states(where_of(principal, Filters()), (State.QUARANTINED,))
        keys = await self._index.page(principal.tenant, where, None, PAGE)
        found = await self._index.get(principal.tenant, [id_ for _, id_ in keys])
        held = [found[id_] for _, id_ in keys if id_ in found]
        tampered = [
            {"id": id_, "kind": kind.value}
            for (tenant, id_), kind in self._recaller.integrity.suspects.items()
            if tenant == principal.tenant
        ]
        return {
            "memories": [self._out(m) for m in held if principal.sees(m) and self._recaller.holds(m)],
            "tampered": tampered,
        }

    async def release(self, principal: Principal, id_: str) -> Memory:
        """Let a quarantined memory be recalled from now on. Admins only; recorded as a signed event."""
        principal.require_admin()
        return self._out(await self._writer.release(principal, id_))

    def keys(self, principal: Principal) -> list[dict[str, str | None]]:
        principal.require_admin()
        return self._key_store().described()

    async def rotate_key(self, principal: Principal) -> dict[str, Any]:
        """A new active key; what the old ones signed is signed anew in the background."""
        principal.require_admin()
        kid = self._key_store().rotate(self._clock.now())
        self._resign_soon()
        return {"kid": kid, "state": "active"}

    async def revoke_key(self, principal: Principal, kid: str) -> dict[str, Any]:
        """Trust a key no more. What it signed and the ledger vouches for is signed anew first."""
        principal.require_admin()
        store = self._key_store()
        described = {key["kid"]: key["state"] for key in store.described()}
        if described.get(kid) == "verify-only":
            await self.resign()
        store.revoke(kid)
        return {"kid": kid, "state": "revoked"}

    def _resign_soon(self) -> None:
        async def run() -> None:
            try:
                await self.resign()
            except RearviewError as error:
                log.warning("signing anew stopped, the next rotation or revocation goes on: %s", type(error).__name__)

        task = asyncio.ensure_future(run())
        self._noting.add(task)
        task.add_done_callback(self._noting.discard)

    async def resign(self) -> int:
        """Sign every tenant's records with the active key, a page at a time; answers how many were."""
        trust = self._trusted()
        assert trust.reader is not None
        await trust.reader.followed()
        active = trust.keys.ring.active
        tenants = trust.reader.head.tenants() or [""]
        return sum([await self._resign_tenant(tenant, active) for tenant in tenants])

    async def _resign_tenant(self, tenant: str, active: str) -> int:
        # First: from here on the writer signs with the key that is active now, whatever it had heard of.
        done = await self._writer.resign(tenant, [], active)
        before: tuple[int, str] | None = None
        while keys := await self._index.page(tenant, Where(), before, RESIGN_PAGE):
            done += await self._writer.resign(tenant, [id_ for _, id_ in keys], active)
            before = keys[-1]
        return done

    def _key_store(self) -> KeyStore:
        keys = self._trusted().keys
        if not isinstance(keys, KeyStore):
            raise Conflict("the keys of this store are managed elsewhere")
        return keys

    def _trusted(self) -> Trust:
        if self._trust is None:
            raise Conflict("this store has no ledger")
        return self._trust

    async def ping(self) -> None:
        """Raises Unavailable unless the index answers."""
        await self._index.ping()


def _owns_store(principal: Principal) -> bool:
    return principal.tenant == "default" and principal.agent is None and principal.user is None


def _cursor(key: tuple[int, str]) -> str:
    return base64.urlsafe_b64encode(json.dumps(key).encode()).decode().rstrip("=")


def _read_cursor(cursor: str) -> tuple[int, str]:
    try:
        created, id_ = json.loads(base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)))
        if not 0 <= int(created) < 2**62:
            raise ValueError("out of range")
        return int(created), str(id_)
    except (ValueError, TypeError, OverflowError) as error:
        raise InvalidInput.one("cursor", "is not one that a list answered", "leave it out to begin anew") from error
