"""What is there already: the id of each memory, and whether writing it again would change nothing."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from datetime import datetime

from rearview_pipelines.ledger.events import Op
from rearview_pipelines.memory import Draft, Kind, Memory, SourceKind, State
from rearview_pipelines.receipts import Receipt, Status
from rearview_pipelines.write.identity import memory_id
from rearview_pipelines.write.item import Item, Tools, Work
from rearview_pipelines.write.signing import verified_digest
from rearview_pipelines.write.support import confirmed, mark_of

FORGOTTEN = "gate:forgotten"
"""Why what was forgotten is not brought back by an import or by reflection."""


async def identify(work: Work, tools: Tools) -> None:
    for item in work.open:
        item.id = _identity(item, tools, 0)
        item.mark = mark_of(tools.keys.ring.identity, item.author, item.draft.session)


def _identity(item: Item, tools: Tools, generation: int) -> str:
    return memory_id(
        tools.keys.ring.identity,
        tenant=item.tenant,
        agent=item.agent,
        user=item.user,
        draft=item.draft,
        generation=generation,
    )


async def known(work: Work, tools: Tools) -> None:
    """Answer what is there already; what was forgotten, ended or superseded may be written anew."""
    items = work.open
    for tenant in {item.tenant for item in items}:
        looking = [item for item in items if item.tenant == tenant]
        for item in looking:
            item.id = _identity(item, tools, 0)
        generation = 0
        ended: dict[int, Memory] = {}
        while looking:
            found = await tools.index.get(tenant, sorted({item.id for item in looking}))
            for item in looking:
                item.previous = found.get(item.id)
            # Held true again after it was superseded: a new memory beside the one in the history.
            looking = [i for i in looking if i.previous is not None and i.previous.state is State.SUPERSEDED]
            generation += 1
            for item in looking:
                assert item.previous is not None
                ended[id(item)] = item.previous
                item.id = _identity(item, tools, generation)
        _answer_repeated([item for item in items if item.tenant == tenant], ended, tools)
    await _answer(work, [item for item in items if item.receipt is None], tools)


def _answer_repeated(items: Sequence[Item], ended: Mapping[int, Memory], tools: Tools) -> None:
    """Several values of one key in one request, sent again: the last stands, the others are history already."""
    of_key: defaultdict[tuple[object, ...], list[Item]] = defaultdict(list)
    for item in items:
        if item.draft.key is not None:
            of_key[_key_scope(item)].append(item)
    now = tools.clock.now()
    for chain in of_key.values():
        last = chain[-1].previous
        told = {item.draft.text for item in chain}
        if len(told) < 2 or last is None or not _answers(last, chain[-1], now) or not is_sound(last, tools):
            continue
        held = [item.previous if item.previous is last else ended.get(id(item)) for item in chain]
        if all(memory is not None for memory in held):
            for item, memory in zip(chain, held, strict=True):
                assert memory is not None
                item.repeats(memory.id, memory.version)


def _key_scope(item: Item) -> tuple[object, ...]:
    return (item.tenant, item.agent, item.user, item.draft.namespace, item.draft.visibility, item.draft.key)


async def _answer(work: Work, items: Sequence[Item], tools: Tools) -> None:
    """In their order: what an earlier item of the batch ends does not answer a later one."""
    now = tools.clock.now()
    first: dict[tuple[str, str], Item] = {}
    last_of_key: dict[tuple[object, ...], Item] = {}
    for item in items:
        if not item.revives and _is_forgotten(item, tools):
            item.receipt = Receipt(
                id=None, status=Status.SKIPPED, reasons=(FORGOTTEN,), redactions=item.redactions, version=0
            )
            continue
        scope = _key_scope(item)
        before = last_of_key.get(scope) if item.draft.key is not None else None
        if before is not None and before.id != item.id and ((item.tenant, item.id) in first or item.previous):
            await _renew(item, first, tools)
        last_of_key[scope] = item
        same = first.setdefault((item.tenant, item.id), item)
        held = item.previous
        if held is not None and _answers(held, item, now) and is_sound(held, tools):
            _repeat(work, item, held, tools)
        elif same is not item:
            item.repeats(item.id, version_after(item.tenant, item.id, same.previous, tools))


def _is_forgotten(item: Item, tools: Tools) -> bool:
    """Whether it, or anything that it was derived from, was forgotten."""
    derived = item.draft.source.derived_from if item.draft.source.kind is SourceKind.REFLECTION else ()
    held = [tools.ledger.head.get(item.tenant, id_) for id_ in (item.id, *derived)]
    return any(recorded is not None and recorded.state is State.FORGOTTEN for recorded in held)


async def _renew(item: Item, taken: Mapping[tuple[str, str], Item], tools: Tools) -> None:
    """Another generation of a fact that holds again: `Berlin`, `Paris`, and `Berlin` once more."""
    generation = 0
    while True:
        generation += 1
        item.id = _identity(item, tools, generation)
        if (item.tenant, item.id) not in taken:
            item.previous = (await tools.index.get(item.tenant, [item.id])).get(item.id)
            if item.previous is None or item.previous.state is State.FORGOTTEN:
                return


def is_sound(memory: Memory, tools: Tools) -> bool:
    """Whether a row is as it was signed and as it was last recorded: nothing else is acknowledged or built on."""
    recorded = tools.ledger.head.get(memory.tenant, memory.id)
    return recorded is not None and recorded.vouches(memory.version, verified_digest(memory, tools.keys))


def version_after(tenant: str, id_: str, held: Memory | None, tools: Tools) -> int:
    """One after whatever is held or was ever recorded of an id, so that an older row never looks newer."""
    recorded = tools.ledger.head.get(tenant, id_)
    return max(held.version if held else 0, recorded.version if recorded else 0) + 1


def _answers(held: Memory, item: Item, now: datetime) -> bool:
    """Whether writing the item again would change nothing."""
    waits_no_more = held.state is State.PENDING and not waits(item.draft) and waits_for_outcome(held)
    return stands(held, now) and not waits_no_more


def stands(memory: Memory, now: datetime) -> bool:
    ends = [t for t in (memory.valid_to, memory.expires_at) if t is not None]
    ended = any(t <= now for t in ends)
    return memory.state not in (State.FORGOTTEN, State.SUPERSEDED) and not ended


def waits(draft: Draft) -> bool:
    """An action is pending until its outcome is known."""
    return draft.kind is Kind.ACTION and draft.outcome is None


def waits_for_outcome(memory: Memory) -> bool:
    return memory.kind is Kind.ACTION and memory.outcome is None


def _repeat(work: Work, item: Item, held: Memory, tools: Tools) -> None:
    held = work.now(held)
    if held.state is State.QUARANTINED:
        item.receipt = Receipt(
            id=item.id,
            status=Status.QUARANTINED,
            reasons=(*held.suspected, "duplicate"),
            version=held.version,
            redactions=item.redactions,
        )
        return
    if item.draft.source.kind is not SourceKind.TURN:  # a turn is a record: said twice is not true twice
        stronger = confirmed(held, item, tools)
        if stronger is not None:
            work.change(Op.CONFIRM, held, stronger)
            held = stronger
    item.repeats(item.id, held.version)
