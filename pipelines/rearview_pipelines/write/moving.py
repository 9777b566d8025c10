"""Memories between the tiers, and back from a snapshot. What they say does not change; their version does.

Archiving: the cold copy is written, the ledger says that it counts, the hot row is removed. A crash in between leaves
either both with the ledger's word on which counts, or a hot row to be removed, which is noted before.
"""

import asyncio
import json
import logging
from collections.abc import Sequence
from datetime import datetime

from rearview_pipelines.ledger.events import Event, Op, event_of
from rearview_pipelines.memory import Layer, Memory, State, Tier
from rearview_pipelines.ports import ObjectStore, Part
from rearview_pipelines.stores.cold import ColdStore
from rearview_pipelines.stores.packing import Row, tenant_hash
from rearview_pipelines.write.commit import persist
from rearview_pipelines.write.embed import draft_of, embed, sound_parts
from rearview_pipelines.write.item import Item, Tools, Work
from rearview_pipelines.write.known import is_sound
from rearview_pipelines.write.signing import digest_of_parts, signed, vouched_digest

log = logging.getLogger(__name__)
MOVABLE = frozenset({State.ACTIVE, State.SUPERSEDED})
_UNFINISHED = "archiving/"


async def archive(tenant: str, ids: Sequence[str], tools: Tools) -> list[str]:
    """Move memories to the cold tier; answers which were. One that is pinned, waits or is not sound stays."""
    cold = _cold(tools)
    found = await tools.index.get(tenant, ids)
    moved: list[Row] = []
    events: list[Event] = []
    now = tools.clock.now()
    for memory in found.values():
        if memory.tier is Tier.COLD or memory.pinned or memory.state not in MOVABLE or not is_sound(memory, tools):
            continue
        parts = await sound_parts(memory, tools)
        after, digest = _moved(memory, Tier.COLD, digest_of_parts(parts), now, tools)
        moved.append((after, parts))
        events.append(event_of(Op.ARCHIVE, after, digest))
        await asyncio.sleep(0)  # other requests are waiting for this loop
    if not moved:
        return []
    names = [memory.id for memory, _ in moved]
    await cold.put(tenant, moved)
    await _objects(tools).put(_note(tenant), json.dumps({"tenant": tenant, "ids": names}).encode())
    for id_ in names:
        tools.changes.note(tenant, id_)
    await tools.ledger.append(events)
    await _remove(tenant, names, tools)
    return names


def _moved(memory: Memory, tier: Tier, derived: str, now: datetime, tools: Tools) -> tuple[Memory, str]:
    model = tools.embedder.name if tier is Tier.HOT else memory.embedding_model
    after = {
        "tier": tier,
        "version": memory.version + 1,
        "updated_at": now,
        "derived": derived,
        "embedding_model": model,
    }
    return signed(memory.model_copy(update=after), tools.keys.ring)


async def _of_this_model(memory: Memory, parts: Sequence[Part], tools: Tools) -> Sequence[Part]:
    """Its parts, made again where another model made them: two models' vectors are never compared."""
    if memory.embedding_model == tools.embedder.name:
        return parts
    again = Item(memory.tenant, memory.agent, memory.user, draft_of(memory), memory.trust, id=memory.id)
    await embed(Work([again]), tools)
    return again.parts


async def _remove(tenant: str, ids: Sequence[str], tools: Tools) -> None:
    await tools.index.remove(tenant, ids)
    for id_ in ids:
        tools.changes.note(tenant, id_)
    await _objects(tools).delete(_note(tenant))


async def finish(tools: Tools) -> None:
    """Remove the hot rows that a crash left of what had been archived."""
    if tools.cold is None:
        return
    for key in await _objects(tools).keys(_UNFINISHED):
        raw = await _objects(tools).get(key)
        noted = json.loads(raw or b"{}")
        tenant = str(noted.get("tenant", ""))
        held = {id_: tools.ledger.head.get(tenant, id_) for id_ in noted.get("ids", ())}
        gone = [id_ for id_, recorded in held.items() if recorded is not None and recorded.cold]
        if gone:
            log.warning("%d memories had been archived and not removed yet", len(gone))
            await _remove(tenant, gone, tools)
        else:
            await _objects(tools).delete(key)


async def thaw(tenant: str, ids: Sequence[str], tools: Tools) -> list[str]:
    """Bring cold memories back; answers which were."""
    rows: list[Row] = []
    events: list[Event] = []
    now = tools.clock.now()
    for memory, held in (await _cold(tools).get(tenant, ids)).values():
        parts = await _of_this_model(memory, held, tools)
        after, digest = _moved(memory, Tier.HOT, digest_of_parts(parts), now, tools)
        rows.append((after, parts))
        events.append(event_of(Op.THAW, after, digest))
    if rows:
        await persist(rows, events, (), tools)
    return [memory.id for memory, _ in rows]


async def restore(tenant: str, rows: Sequence[Row], tools: Tools) -> dict[str, int]:
    """Put memories of a snapshot back where the ledger knows nothing newer of them; answers how many, by what was done.

    What was forgotten stays forgotten. What this store's keys did not sign is left out.
    """
    counts: dict[str, int] = {}
    put: list[Row] = []
    events: list[Event] = []
    there = await tools.index.get(tenant, [memory.id for memory, _ in rows])
    for memory, parts in rows:
        done = _fate(tenant, memory, parts, there.get(memory.id), tools)
        counts[done] = counts.get(done, 0) + 1
        if done not in ("restored", "put_back", "older"):
            continue
        if done == "older":  # all that is left of it: the next version of what is recorded
            memory = _as_recorded(memory, tools)
        back, digest = memory, vouched_digest(memory, tools.keys) or ""
        if memory.tier is Tier.COLD or memory.embedding_model != tools.embedder.name:
            # Its place in the cold tier is gone; or the store has moved to another model since.
            parts = await _of_this_model(memory, parts, tools)
            back, digest = _moved(memory, Tier.HOT, digest_of_parts(parts), tools.clock.now(), tools)
        put.append((back, parts))
        if done in ("restored", "older") or back is not memory:
            events.append(event_of(Op.RESTORE, back, digest))
    if events:
        await persist(put, events, (), tools)
    elif put:
        await tools.index.upsert(put)
    for memory, _ in put:
        tools.changes.note(tenant, memory.id)
    return counts


def _as_recorded(memory: Memory, tools: Tools) -> Memory:
    """An older version of what is lost, signed as the one after the last that was recorded, in its state."""
    recorded = tools.ledger.head.get(memory.tenant, memory.id)
    assert recorded is not None
    update = {"version": recorded.version + 1, "state": recorded.state, "updated_at": tools.clock.now()}
    return signed(memory.model_copy(update=update), tools.keys.ring)[0]


async def bury(tenant: str, ids: Sequence[str], tools: Tools) -> int:
    """Record as forgotten what a snapshot says was, where the ledger knows nothing of it; answers how many."""
    now = tools.clock.now()
    state, layer = State.FORGOTTEN, Layer.SEMANTIC
    rows = [
        signed(
            Memory(id=id_, tenant=tenant, text="", layer=layer, state=state, created_at=now, updated_at=now),
            tools.keys.ring,
        )
        for id_ in ids
        if tools.ledger.head.get(tenant, id_) is None
    ]
    if rows:
        events = [event_of(Op.FORGET, grave, digest) for grave, digest in rows]
        await persist([(grave, ()) for grave, _ in rows], events, (), tools)
    return len(rows)


def _fate(tenant: str, memory: Memory, parts: Sequence[Part], there: Memory | None, tools: Tools) -> str:
    recorded = tools.ledger.head.get(tenant, memory.id)
    digest = vouched_digest(memory, tools.keys)
    if digest is None or memory.tenant != tenant or digest_of_parts(parts) != memory.derived:
        return "altered"
    if recorded is None:
        return "restored"
    if recorded.state is State.FORGOTTEN:
        return "forgotten"
    if recorded.version > memory.version:
        return "newer" if there is not None else "older"
    if not recorded.vouches(memory.version, digest):
        return "altered"
    return "there" if there is not None and is_sound(there, tools) else "put_back"


def _cold(tools: Tools) -> ColdStore:
    assert tools.cold is not None, "a writer without a cold tier moves nothing"
    return tools.cold


def _objects(tools: Tools) -> ObjectStore:
    return _cold(tools).objects


def _note(tenant: str) -> str:
    return f"{_UNFINISHED}{tenant_hash(tenant)}.json"
