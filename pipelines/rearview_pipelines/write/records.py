"""From a settled item to the record that is kept, signed."""

from datetime import datetime

from rearview_pipelines.memory import Draft, Layer, Memory, Related, SourceKind, State
from rearview_pipelines.text.language import language_of
from rearview_pipelines.write.item import Item, Tools, Work
from rearview_pipelines.write.known import is_sound, stands, version_after, waits
from rearview_pipelines.write.signing import digest_of_parts, signed


async def sign_records(work: Work, tools: Tools) -> None:
    now = tools.clock.now()
    for item in work.open:
        item.memory, item.digest = signed(_record(item, tools, now), tools.keys.ring)


def state_of(item: Item) -> State:
    if item.suspected:
        return State.QUARANTINED
    if item.ended_by is not None:
        return State.SUPERSEDED
    return State.PENDING if item.contradicts or waits(item.draft) else State.ACTIVE


def _record(item: Item, tools: Tools, now: datetime) -> Memory:
    draft = item.draft
    carried = draft.model_dump(exclude={"agent", "user", "layer"})
    superseded = [Related(id=m.id, relation="supersedes") for m in item.supersedes]
    return Memory.model_validate(
        carried
        | {
            "id": item.id,
            "version": version_after(item.tenant, item.id, item.previous, tools),
            "tenant": item.tenant,
            "agent": item.agent,
            "user": item.user,
            "layer": draft.settled_layer,
            "trust": item.trust,
            "state": state_of(item),
            "lang": language_of(draft.text),
            "embedding_model": tools.embedder.name,
            "created_at": _created(item, tools, now),
            "updated_at": now,
            "related": [*item.related, *superseded],
            "suspected": item.suspected,
            "support": _support(item),
            "superseded_at": now if item.ended_by else None,
            "superseded_by": item.ended_by.id if item.ended_by else None,
            "derived": digest_of_parts(item.parts),
            "expires_at": _expires(draft, tools, now),
        }
    )


def _expires(draft: Draft, tools: Tools, now: datetime) -> datetime | None:
    """Working memory that names no end has one: so long after it was written last."""
    if draft.expires_at is None and draft.settled_layer is Layer.WORKING:
        return now + tools.working
    return draft.expires_at


def _support(item: Item) -> tuple[str, ...]:
    """Who stated it. An edit in place keeps the sources of the record, unless it says something else."""
    if item.draft.source.kind is SourceKind.TURN:
        return ()
    held = item.previous.support if item.previous is not None and item.edits and not item.restates else ()
    return held or ((item.mark,) if item.mark else ())


def _created(item: Item, tools: Tools, now: datetime) -> datetime:
    """An update in place keeps its birth; what was forgotten and is written anew has a new one."""
    held = item.previous
    return held.created_at if held is not None and stands(held, now) and is_sound(held, tools) else now


def superseded(old: Memory, by: Item, now: datetime) -> Memory:
    """The record of what another replaced, from the moment on when that began to hold."""
    begins = by.draft.valid_from or by.draft.occurred_at or now
    born = old.valid_from or old.occurred_at or old.created_at
    return old.model_copy(
        update={
            "state": State.SUPERSEDED,
            "version": old.version + 1,
            "updated_at": now,
            "superseded_at": max(min(begins, now), born),
            "superseded_by": by.id,
        }
    )
