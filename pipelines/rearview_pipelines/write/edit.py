"""Changing a memory in hand: whose it is, what the change makes of it, which stages it goes through."""

from collections.abc import Mapping, Sequence
from typing import Any

from rearview_pipelines.errors import Conflict, NotFound
from rearview_pipelines.ledger.events import Op
from rearview_pipelines.memory import Draft, Memory, State
from rearview_pipelines.principal import Principal, Role
from rearview_pipelines.receipts import Status
from rearview_pipelines.write.admit import admit
from rearview_pipelines.write.commit import store
from rearview_pipelines.write.edits import merged
from rearview_pipelines.write.embed import context_of, draft_of, embed, sound_parts
from rearview_pipelines.write.identity import is_memory_id
from rearview_pipelines.write.item import Item, Stage, Tools, Work
from rearview_pipelines.write.known import identify, is_sound, known
from rearview_pipelines.write.quota import within_quota
from rearview_pipelines.write.records import sign_records, superseded
from rearview_pipelines.write.relate.stage import relate
from rearview_pipelines.write.screen import screen

_STATES = ("text", "kind", "key", "outcome", "metadata", "data", "task", "task_type", "ref", "source")
"""What a memory states: who changes it answers for it."""


async def prepared(
    principal: Principal, id_: str, changes: Mapping[str, Any], if_match: int | None, tools: Tools
) -> Work:
    """The edit as the one item of a batch. Raises NotFound, Forbidden, Conflict."""
    [old] = await own(principal, [id_], tools)
    if old.state is State.QUARANTINED:
        if principal.role is not Role.ADMIN:
            raise NotFound()  # as reading it answers
        raise Conflict("this memory is in quarantine: release it, or forget it and write it anew")
    require_sound(old, tools)
    if old.state is State.SUPERSEDED:
        raise Conflict(f"this memory was superseded by {old.superseded_by}; change that one")
    if if_match is not None and if_match != old.version:
        raise Conflict(f"the memory is at version {old.version}, not {if_match}; read it again")
    [item] = admit(principal, [merged(old, changes)])
    item.agent, item.edits, item.previous = item.agent or old.agent, True, old
    was = draft_of(old)
    item.restates = any(getattr(item.draft, name) != getattr(was, name) for name in _STATES)
    if principal.role is Role.ADMIN or not item.restates:
        item.trust = old.trust  # other words of a writer's are trusted as that writer is
    return Work([item])


def stages(item: Item) -> tuple[Stage, ...]:
    """What an edit goes through once it is scrubbed and its identity is settled."""
    if item.supersedes:
        return (known, embed, screen, hold, relate, replace, within_quota, sign_records, store)
    return (embed, screen, hold, sign_records, store)


async def hold(work: Work, _: Tools) -> None:
    """A suspect edit changes nothing that stands: other words wait in quarantine, an edit in place is refused."""
    for item in work.open:
        if item.suspected and not item.supersedes:
            item.reject(*item.suspected)
        elif item.suspected:
            item.supersedes = []


async def replace(work: Work, tools: Tools) -> None:
    """The old record ends where the edit's own stands, or the one that says the same."""
    for item in work.items:
        if item.receipt is not None and item.receipt.status is not Status.DUPLICATE:
            continue
        by = item.receipt.id if item.receipt is not None else item.id
        for old in item.supersedes:
            if (old.tenant, old.id) not in work.others:
                ended = superseded(old, item, tools.clock.now()).model_copy(update={"superseded_by": by})
                work.change(Op.SUPERSEDE, old, ended)


async def settle_identity(work: Work, tools: Tools) -> None:
    """In place if the memory is still itself; else the old one is superseded by what the edit makes."""
    [item] = work.items
    old = item.previous
    assert old is not None
    await identify(work, tools)
    was = draft_of(old)
    if item.id == old.id or _same_thing(item, old, was):
        item.id = old.id
        if context_of(item.draft) == context_of(was) and item.draft.text == old.text:
            item.parts = await sound_parts(old, tools)
        item.contradicts = old.state is State.PENDING and any(r.relation == "contradicts" for r in old.related)
        item.related = list(old.related)
        return
    item.previous = None
    item.supersedes = [old]


def _same_thing(item: Item, old: Memory, was: Draft) -> bool:
    """Whether nothing that makes a memory itself changed: one revived from history has another id than its words."""
    new = item.draft
    parts = ("text", "key", "namespace", "visibility", "session", "ref", "occurred_at", "source")
    same = all(getattr(new, p) == getattr(was, p) for p in parts)
    return same and (item.agent, item.user, new.settled_layer) == (old.agent, old.user, old.layer)


def require_sound(memory: Memory, tools: Tools) -> None:
    if not is_sound(memory, tools):
        raise Conflict("this memory is not as it was signed and recorded: it can be forgotten, not changed")


async def own(principal: Principal, ids: Sequence[str], tools: Tools, *, unfinished: bool = False) -> list[Memory]:
    """Memories that the principal may change. `unfinished`: tombstones that still have parts, too."""
    found = await tools.index.get(principal.tenant, [id_ for id_ in ids if is_memory_id(id_)])
    memories = []
    for id_ in ids:
        memory = found.get(id_)
        gone = memory is not None and memory.state is State.FORGOTTEN
        if gone and memory is not None and not (unfinished and await _has_parts(memory, tools)):
            raise NotFound()
        memories.append(principal.changeable(memory))
    return memories


async def _has_parts(memory: Memory, tools: Tools) -> bool:
    parts = await tools.index.parts(memory.tenant, [memory.id])
    return any(part.number > 0 for part in parts.get(memory.id, ()))
