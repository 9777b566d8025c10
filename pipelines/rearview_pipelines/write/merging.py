"""Near-duplicates that were written one by one: the strongest stays, the others are history of it."""

from collections.abc import Sequence
from datetime import datetime

from rearview_pipelines.ledger.events import Op
from rearview_pipelines.memory import Memory, State
from rearview_pipelines.reflect.lessons import Reinforcement, is_lesson
from rearview_pipelines.write.item import Tools, Work
from rearview_pipelines.write.known import is_sound, stands

MOST_TAGS = 32
MOST_SOURCES = 64


async def merged(tenant: str, keep: str, others: Sequence[str], tools: Tools) -> Work | None:
    """The batch that merges `others` into `keep`; None if they changed meanwhile and nothing is left to do."""
    now = tools.clock.now()
    found = await tools.index.get(tenant, [keep, *others])
    held = found.get(keep)
    if held is None or held.state is not State.ACTIVE or not is_sound(held, tools):
        return None
    gone = [
        m for id_ in others if (m := found.get(id_)) is not None and m.state is State.ACTIVE and stands(m, now)
        and not m.pinned and is_sound(m, tools)
    ]  # fmt: skip
    if not gone:
        return None
    work = Work([])
    work.change(Op.CONFIRM, held, _strengthened(held, gone, now))
    for memory in gone:
        update = {
            "state": State.SUPERSEDED,
            "version": memory.version + 1,
            "updated_at": now,
            "superseded_at": max(now, memory.valid_from or memory.occurred_at or memory.created_at),
            "superseded_by": keep,
        }
        work.change(Op.SUPERSEDE, memory, memory.model_copy(update=update))
    return work


def _strengthened(held: Memory, gone: Sequence[Memory], now: datetime) -> Memory:
    """What stays, with what the others add: sources, tags, the highest importance and confidence."""
    support = tuple(dict.fromkeys((*held.support, *(mark for m in gone for mark in m.support))))
    tags = tuple(dict.fromkeys((*held.tags, *(tag for m in gone for tag in m.tags))))[:MOST_TAGS]
    derived = tuple(dict.fromkeys((*held.source.derived_from, *(i for m in gone for i in m.source.derived_from))))[
        :MOST_SOURCES
    ]
    return held.model_copy(
        update={
            "support": support,
            "tags": tags,
            "source": held.source.model_copy(update={"derived_from": derived}),
            "importance": max(held.importance, *(m.importance for m in gone)),
            "confidence": max(held.confidence, *(m.confidence for m in gone)),
            "version": held.version + 1,
            "updated_at": now,
        }
    )


async def reinforced(tenant: str, again: Sequence[Reinforcement], tools: Tools) -> Work:
    """The batch that notes what lessons rest on now; empty where nothing is new."""
    work = Work([])
    found = await tools.index.get(tenant, [one.id for one in again])
    for one in again:
        held = found.get(one.id)
        if held is None or held.state is not State.ACTIVE or not is_sound(held, tools):
            continue
        sources = tuple(dict.fromkeys((*held.source.derived_from, *one.sources)))[-MOST_SOURCES:]
        if one.data == held.data and sources == held.source.derived_from:
            continue  # nothing new; what callers thought of it since stands
        same = (sources, one.confidence, one.data) == (held.source.derived_from, held.confidence, held.data)
        if not same:
            update = {
                "source": held.source.model_copy(update={"derived_from": sources}),
                "confidence": one.confidence,
                "data": one.data,
                "version": held.version + 1,
                "updated_at": tools.clock.now(),
            }
            work.change(Op.CONFIRM, held, held.model_copy(update=update))
    return work


async def judged(tenant: str, id_: str, more: float, tools: Tools) -> Work:
    """The batch that makes a lesson surer, or less sure; empty for any other memory."""
    work = Work([])
    held = (await tools.index.get(tenant, [id_])).get(id_)
    if held is None or not is_lesson(held) or held.state is not State.ACTIVE or not is_sound(held, tools):
        return work
    sure = round(min(1.0, max(0.0, held.confidence + more)), 3)
    if sure != held.confidence:
        update = {"confidence": sure, "version": held.version + 1, "updated_at": tools.clock.now()}
        work.change(Op.UPDATE, held, held.model_copy(update=update))
    return work
