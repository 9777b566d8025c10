"""The stages of a write, each a function over a batch. Items with a receipt are settled.

admit → identify → known → embed → sign → store; the stages that judge (gate, secrets, scrub,
screen, relate) join this list between `admit` and `sign`.
"""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import datetime

from rearview_pipelines.memory import Draft, Kind, Memory, SourceKind, State, Trust, Visibility
from rearview_pipelines.ports import Clock, Embedder, MemoryIndex, Part, Passage
from rearview_pipelines.principal import Principal
from rearview_pipelines.receipts import Receipt, Status
from rearview_pipelines.text.analyse import joined, terms_of
from rearview_pipelines.text.language import language_of
from rearview_pipelines.write.identity import memory_id
from rearview_pipelines.write.keys import KeyRing
from rearview_pipelines.write.signing import digest_of_parts, sign, verify


@dataclass
class Item:
    """One memory on its way in. `supersedes`: the record that an edit replaces."""

    tenant: str
    agent: str
    user: str
    draft: Draft
    trust: Trust
    id: str = ""
    parts: tuple[Part, ...] = ()
    previous: Memory | None = None
    supersedes: Memory | None = None
    memory: Memory | None = None
    receipt: Receipt | None = None


@dataclass(frozen=True)
class Tools:
    """What the stages work with."""

    index: MemoryIndex
    embedder: Embedder
    ring: KeyRing
    clock: Clock


Stage = Callable[[Sequence[Item], Tools], Awaitable[None]]


def admit(principal: Principal, drafts: Sequence[Draft]) -> list[Item]:
    """Settle whose each memory is. Raises Forbidden for the whole request: nothing is stored by half."""
    principal.require_writer()
    if any(draft.visibility is Visibility.SHARED for draft in drafts):
        principal.require_share()
    return [
        Item(
            tenant=principal.tenant,
            agent=principal.settle_agent(draft.agent),
            user=principal.settle_user(draft.user),
            draft=draft,
            trust=_trust(draft),
        )
        for draft in drafts
    ]


def _trust(draft: Draft) -> Trust:
    if draft.source.kind is SourceKind.IMPORT:
        return Trust.IMPORTED
    return Trust.OBSERVED if draft.source.kind is SourceKind.TURN else Trust.STATED


async def identify(items: Sequence[Item], tools: Tools) -> None:
    for item in items:
        item.id = _identity(item, tools, 0)


def _identity(item: Item, tools: Tools, generation: int) -> str:
    return memory_id(
        tools.ring.identity,
        tenant=item.tenant,
        agent=item.agent,
        user=item.user,
        draft=item.draft,
        generation=generation,
    )


async def known(items: Sequence[Item], tools: Tools) -> None:
    """Answer what is there already; what was forgotten, ended or superseded may be written anew."""
    now = tools.clock.now()
    for tenant in {item.tenant for item in items}:
        looking = [item for item in items if item.tenant == tenant]
        generation = 0
        while looking:
            found = await tools.index.get(tenant, sorted({item.id for item in looking}))
            for item in looking:
                item.previous = found.get(item.id)
            # Held true again after it was superseded: a new memory beside the one in the history.
            looking = [i for i in looking if i.previous is not None and i.previous.state is State.SUPERSEDED]
            generation += 1
            for item in looking:
                item.id = _identity(item, tools, generation)
    first: dict[tuple[str, str], Item] = {}
    for item in items:
        same = first.setdefault((item.tenant, item.id), item)
        held = item.previous
        if held is not None and _answers(held, item, now) and verify(held, tools.ring):
            item.receipt = _duplicate(item, held.version)
        elif same is not item:
            item.receipt = _duplicate(item, held.version + 1 if held else 1)


def _answers(held: Memory, item: Item, now: datetime) -> bool:
    """Whether writing the item again would change nothing."""
    waits_no_more = held.state is State.PENDING and not _waits(item.draft)
    return _stands(held, now) and not waits_no_more


def _stands(memory: Memory, now: datetime) -> bool:
    ends = [t for t in (memory.valid_to, memory.expires_at) if t is not None]
    ended = any(t <= now for t in ends)
    return memory.state not in (State.FORGOTTEN, State.SUPERSEDED) and not ended


def _waits(draft: Draft) -> bool:
    return draft.kind is Kind.ACTION and draft.outcome is None


def _duplicate(item: Item, version: int) -> Receipt:
    return Receipt(id=item.id, status=Status.DUPLICATE, reasons=("duplicate",), version=version)


def context_of(draft: Draft) -> str:
    """Who said it and when, in front of a turn's text: it doubles what dense search finds of dialogue."""
    if draft.source.kind is not SourceKind.TURN:
        return ""
    when = ""
    if draft.occurred_at is not None:
        when = f"({draft.occurred_at.day} {draft.occurred_at:%B %Y}) "
    return f"{when}{draft.source.speaker}: " if draft.source.speaker else when


async def embed(items: Sequence[Item], tools: Tools) -> None:
    """Vectors by the model, terms by us. Parts that an edit brought along are kept."""
    waiting = [item for item in items if item.receipt is None and not item.parts]
    contexts = [context_of(item.draft) for item in waiting]
    embedded = await tools.embedder.documents(
        [Passage(context, item.draft.text) for context, item in zip(contexts, waiting, strict=True)]
    )
    for item, context, pieces in zip(waiting, contexts, embedded, strict=True):
        item.parts = tuple(
            Part(
                number,
                piece.start,
                piece.end,
                joined(terms_of(context + item.draft.text[piece.start : piece.end])),
                piece.vector,
            )
            for number, piece in enumerate(pieces)
        )


async def sign_records(items: Sequence[Item], tools: Tools) -> None:
    now = tools.clock.now()
    for item in items:
        if item.receipt is None:
            item.memory = sign(_record(item, tools.embedder.name, now), tools.ring)


def _record(item: Item, model: str, now: datetime) -> Memory:
    draft = item.draft
    carried = draft.model_dump(exclude={"agent", "user", "layer"})
    return Memory.model_validate(
        carried
        | {
            "id": item.id,
            "version": item.previous.version + 1 if item.previous else 1,
            "tenant": item.tenant,
            "agent": item.agent,
            "user": item.user,
            "layer": draft.settled_layer,
            "trust": item.trust,
            "state": State.PENDING if _waits(draft) else State.ACTIVE,
            "lang": language_of(draft.text),
            "embedding_model": model,
            "created_at": _created(item, now),
            "updated_at": now,
            "derived": digest_of_parts(item.parts),
        }
    )


def _created(item: Item, now: datetime) -> datetime:
    """An update in place keeps its birth; what was forgotten and is written anew has a new one."""
    held = item.previous
    return held.created_at if held is not None and _stands(held, now) else now


async def store(items: Sequence[Item], tools: Tools) -> None:
    """One upsert for the batch, superseded records with it; then, and only then, the receipts."""
    fresh = [item for item in items if item.receipt is None]
    now = tools.clock.now()
    rows: list[tuple[Memory, Sequence[Part]]] = []
    for item in items:
        if item.supersedes is not None:
            rows.append(await _superseded(item, item.supersedes, now, tools))
    rows += [(item.memory, item.parts) for item in fresh if item.memory is not None]
    if rows:
        await tools.index.upsert(rows)
    for item in fresh:
        if item.previous is not None:  # it may have been cut into more parts before
            await tools.index.drop_parts(item.tenant, item.id, len(item.parts))
    after = f"{int(now.timestamp() * 1000)}"
    for item in items:
        if item.receipt is None and item.memory is not None:
            pending = item.memory.state is State.PENDING
            item.receipt = Receipt(
                id=item.id,
                status=Status.PENDING if pending else Status.STORED,
                version=item.memory.version,
            )
        if item.receipt is not None:
            gone = (item.supersedes.id,) if item.supersedes else ()
            reasons = item.receipt.reasons + (("supersedes",) if gone else ())
            item.receipt = item.receipt.model_copy(update={"after": after, "supersedes": gone, "reasons": reasons})


async def _superseded(item: Item, old: Memory, now: datetime, tools: Tools) -> tuple[Memory, Sequence[Part]]:
    record = old.model_copy(
        update={
            "state": State.SUPERSEDED,
            "version": old.version + 1,
            "updated_at": now,
            "superseded_at": now,
            "superseded_by": item.id,
        }
    )
    parts = await sound_parts(old, tools)
    return sign(record.model_copy(update={"derived": digest_of_parts(parts)}), tools.ring), parts


async def sound_parts(memory: Memory, tools: Tools) -> tuple[Part, ...]:
    """The parts of a verified record: as they are if its digest holds, else made again from its text."""
    parts = (await tools.index.parts(memory.tenant, [memory.id])).get(memory.id, ())
    if digest_of_parts(parts) == memory.derived:
        return parts
    again = Item(memory.tenant, memory.agent, memory.user, draft_of(memory), memory.trust, memory.id)
    await embed([again], tools)
    return again.parts


def draft_of(memory: Memory) -> Draft:
    """The draft that would make this record again."""
    fields = memory.model_dump(include=set(Draft.model_fields))
    return Draft.model_validate(fields | {"agent": memory.agent or None, "user": memory.user or None})
