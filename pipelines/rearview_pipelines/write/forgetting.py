"""Tombstones, and signing anew: changes to records that no draft is behind."""

from collections.abc import Sequence

from rearview_pipelines.ledger.events import Op, event_of
from rearview_pipelines.memory import Memory, State
from rearview_pipelines.write.commit import changed, persist
from rearview_pipelines.write.embed import sound_parts
from rearview_pipelines.write.item import Tools, Work
from rearview_pipelines.write.known import version_after
from rearview_pipelines.write.relate.settle import settle_disputes
from rearview_pipelines.write.signing import sign, vouched_digest


async def forget(memories: Sequence[Memory], tools: Tools) -> None:
    """Replace memories by empty, signed tombstones; the record first, then its further parts."""
    now = tools.clock.now()
    tombstones = [
        Memory(
            id=m.id,
            version=version_after(m.tenant, m.id, m, tools),
            tenant=m.tenant,
            agent=m.agent,
            user=m.user,
            visibility=m.visibility,
            text="",
            layer=m.layer,
            state=State.FORGOTTEN,
            created_at=m.created_at,
            updated_at=now,
        )
        for m in memories
    ]
    freed = Work([])
    await settle_disputes(memories, freed, tools)
    rows, events, before = await changed(freed, tools)
    # The record first: from here on nothing of it is served, whatever happens to its parts.
    for memory, tombstone in zip(memories, tombstones, strict=True):
        rows.append((sign(tombstone, tools.keys.ring), ()))
        events.append(event_of(Op.FORGET, tombstone))
        before.append((memory, (await tools.index.parts(memory.tenant, [memory.id])).get(memory.id, ())))
    await persist(rows, events, before, tools)
    for tombstone in tombstones:
        await tools.index.drop_parts(tombstone.tenant, tombstone.id, 1)
    for tenant in {tombstone.tenant for tombstone in tombstones}:
        await tools.usage.forget(tenant, [t.id for t in tombstones if t.tenant == tenant])


async def resign(tenant: str, ids: Sequence[str], kid: str, tools: Tools) -> int:
    """Sign with the active key what the ledger says is the recorded version. Its digest stays, so no event is made.

    What a revoked key signed counts too, if the ledger says the same of it. `kid`: the key that the caller
    knows to be active; this process may not have heard of it yet.
    """
    active = tools.keys.knowing(kid).active
    found = await tools.index.get(tenant, ids)
    rows = []
    for memory in found.values():
        recorded = tools.ledger.head.get(tenant, memory.id)
        old = memory.signature is not None and memory.signature.kid != active
        if old and recorded is not None and recorded.version == memory.version:
            if not recorded.vouches(memory.version, vouched_digest(memory, tools.keys)):
                continue  # not as it was signed and recorded: `verify` names it
            parts = () if memory.state is State.FORGOTTEN else await sound_parts(memory, tools)
            rows.append((sign(memory, tools.keys.ring), parts))
    if rows:
        await tools.index.upsert(rows)
    return len(rows)
