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
from rearview_pipelines.text.analyse import terms_of
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
        item.id = memory_id(tools.ring.identity, tenant=item.tenant, agent=item.agent, user=item.user, draft=item.draft)


async def known(items: Sequence[Item], tools: Tools) -> None:
    """Answer what is there already; what was forgotten or superseded may be written anew."""
    for tenant in {item.tenant for item in items}:
        mine = [item for item in items if item.tenant == tenant]
        found = await tools.index.get(tenant, sorted({item.id for item in mine}))
        for item in mine:
            item.previous = found.get(item.id)
    first: dict[tuple[str, str], Item] = {}
    for item in items:
        same = first.setdefault((item.tenant, item.id), item)
        held = item.previous
        if held is not None and _stands(held) and verify(held, tools.ring):
            item.receipt = _duplicate(item, held.version)
        elif same is not item:
            item.receipt = _duplicate(item, held.version + 1 if held else 1)


def _stands(memory: Memory) -> bool:
    return memory.state not in (State.FORGOTTEN, State.SUPERSEDED)


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
                " ".join(terms_of(context + item.draft.text[piece.start : piece.end])),
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
    waits = draft.kind is Kind.ACTION and draft.outcome is None
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
            "state": State.PENDING if waits else State.ACTIVE,
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
    return held.created_at if held is not None and _stands(held) else now


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
    parts = (await tools.index.parts(old.tenant, [old.id])).get(old.id, ())
    return sign(record, tools.ring), parts
