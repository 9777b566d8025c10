"""The last stages: one upsert, one batch of the ledger, and only then the receipts.

If the ledger cannot be written, the rows are taken back and the caller is told to retry: nothing is
acknowledged that is not recorded.
"""

import logging
from collections.abc import Sequence

from rearview_pipelines.errors import RearviewError
from rearview_pipelines.ledger.events import Event, Op, event_of
from rearview_pipelines.ledger.ledger import Unsettled
from rearview_pipelines.memory import Memory, State, Tier
from rearview_pipelines.ports import Part
from rearview_pipelines.receipts import Receipt, Status
from rearview_pipelines.write.embed import sound_parts
from rearview_pipelines.write.item import Item, Tools, Work
from rearview_pipelines.write.relate.settle import settle_disputes
from rearview_pipelines.write.signing import digest_of_parts, signed, verified_digest

log = logging.getLogger(__name__)
Row = tuple[Memory, Sequence[Part]]


async def store(work: Work, tools: Tools) -> None:
    """Store and record the batch, then settle its receipts."""
    fresh = [item for item in work.open if item.memory is not None]
    await settle_disputes([c.after for c in work.others.values() if c.after.state is State.SUPERSEDED], work, tools)
    rows, events, before = await changed(work, tools)
    for item in fresh:
        assert item.memory is not None
        if item.previous is not None:
            parts = (await tools.index.parts(item.tenant, [item.id])).get(item.id, ())
            before.append((item.previous, parts))
        rows.append((item.memory, item.parts))
        events.append(event_of(_op(item), item.memory, item.digest))
    if rows:
        await persist(rows, events, before, tools)
    for item in fresh:
        if item.previous is not None:  # it may have been cut into more parts before
            await tools.index.drop_parts(item.tenant, item.id, len(item.parts))
    settle(work, tools)


async def changed(work: Work, tools: Tools) -> tuple[list[Row], list[Event], list[Row]]:
    """(rows, events, rows as they were) of the other records that a batch changes."""
    rows: list[Row] = []
    events: list[Event] = []
    before: list[Row] = []
    for change in work.others.values():
        parts = await sound_parts(change.before, tools)
        after, digest = signed(
            change.after.model_copy(update={"derived": digest_of_parts(parts), "tier": Tier.HOT}), tools.keys.ring
        )
        rows.append((after, parts))
        events.append(event_of(change.op, after, digest))
        before.append((change.before, parts))
    return rows, events, before


def _op(item: Item) -> Op:
    if item.suspected:
        return Op.QUARANTINE
    return Op.UPDATE if item.previous is not None else Op.WRITE


async def persist(rows: Sequence[Row], events: Sequence[Event], before: Sequence[Row], tools: Tools) -> None:
    """Rows into the index, events into the ledger; or neither."""
    second = tools.beside.second
    renditions, vouching = await second.also(rows, tools.keys.ring) if second is not None else ([], [])
    await tools.ledger.intend(events)
    await tools.index.upsert(rows)
    if second is not None:
        await second.copy(renditions)
    # Told before they are recorded: whose head knows the new version has then heard of the new row.
    for memory, _ in rows:
        tools.changes.note(memory.tenant, memory.id)
    try:
        await tools.ledger.append([*events, *vouching])
    except Unsettled:
        log.error("whether the ledger was written is not known: %d rows stay until it is", len(rows))
        raise
    except RearviewError:
        log.error("the ledger was not written: %d rows are taken back", len(rows))
        if second is not None:
            second.miss(rows)
        await _take_back(rows, before, tools)
        raise


async def _take_back(rows: Sequence[Row], before: Sequence[Row], tools: Tools) -> None:
    """Put things as they were. What cannot be is found by `recover` before the next write.

    What was there first: were the new rows gone and this failed, a superseded fact would have no successor.
    """
    hot = [row for row in before if row[0].tier is Tier.HOT]  # a cold one lies where it lay
    if hot:
        await tools.index.upsert(hot)
    had = {(memory.tenant, memory.id) for memory, _ in hot}
    for memory, _ in rows:
        if (memory.tenant, memory.id) not in had:
            await tools.index.remove(memory.tenant, [memory.id])
    await tools.ledger.settle()


async def recover(tools: Tools) -> None:
    """Adopt signed rows that a crash, or a failure to take them back, left unrecorded.

    A row counts only with a signature that holds. One that was superseded by what did not arrive stands again.
    """
    found: list[Event] = []
    revived: list[Row] = []
    for event in await tools.ledger.undone():
        memory = (await tools.index.get(event.tenant, [event.id])).get(event.id)
        if memory is None or verified_digest(memory, tools.keys) != event.digest:
            continue
        if memory.state is State.SUPERSEDED and not await _has_successor(memory, tools):
            row, event_ = await _revived(memory, tools)
            revived.append(row)
            found.append(event_)
        else:
            found.append(Event(Op.ADOPT, event.tenant, event.id, event.version, event.state, event.digest))
    if found:
        log.warning("%d stored memories were not in the ledger yet: adopted", len(found))
        if revived:  # noted first, as every write is: this may be cut short too
            await tools.ledger.intend(found)
            await tools.index.upsert(revived)
            for after, _ in revived:
                tools.changes.note(after.tenant, after.id)
        await tools.ledger.append(found)
    else:
        await tools.ledger.settle()


async def _has_successor(memory: Memory, tools: Tools) -> bool:
    id_ = memory.superseded_by or ""
    successor = (await tools.index.get(memory.tenant, [id_])).get(id_)
    return successor is not None and verified_digest(successor, tools.keys) is not None


async def _revived(memory: Memory, tools: Tools) -> tuple[Row, Event]:
    parts = (await tools.index.parts(memory.tenant, [memory.id])).get(memory.id, ())
    standing = memory.model_copy(
        update={
            "state": State.ACTIVE,
            "superseded_at": None,
            "superseded_by": None,
            "version": memory.version + 1,
            "updated_at": tools.clock.now(),
        }
    )
    after, digest = signed(standing, tools.keys.ring)
    return (after, parts), event_of(Op.ADOPT, after, digest)


_STATUS = {State.PENDING: Status.PENDING, State.QUARANTINED: Status.QUARANTINED}


def settle(work: Work, tools: Tools) -> None:
    """Receipts of what was stored; every receipt says after which moment a recall sees it."""
    after = f"{int(tools.clock.now().timestamp() * 1000)}"
    for item in work.items:
        if item.receipt is None and item.memory is not None:
            gone = tuple(m.id for m in item.supersedes)
            reasons = [*item.suspected, *(("supersedes",) if gone else ()), *item.reasons]
            item.receipt = Receipt(
                id=item.id,
                status=_STATUS.get(item.memory.state, Status.STORED),
                reasons=tuple(dict.fromkeys(reasons)),
                redactions=item.redactions,
                version=item.memory.version,
                supersedes=gone,
                related=tuple(item.related),
            )
        if item.receipt is not None and item.receipt.id is not None:
            item.receipt = item.receipt.model_copy(update={"after": after})
