"""Who stated a memory, and when a second statement counts: only if its source is independent.

A mark is a keyed hash of who and of which session, so that a record tells nobody's name.
"""

import hashlib
import hmac

from rearview_pipelines.memory import Memory, Trust
from rearview_pipelines.write.item import Item, Tools

MAX_MARKS = 8
"""Sources remembered of a memory; two make it confirmed."""


def mark_of(identity_key: bytes, author: str, session: str | None) -> str:
    who = _hash(identity_key, "author", author)
    return f"{who}:{_hash(identity_key, 'session', session) if session else ''}"


def _hash(key: bytes, what: str, value: str) -> str:
    return hmac.new(key, f"mark {what}\x00{value}".encode(), hashlib.sha256).hexdigest()[:16]


def confirmed(held: Memory, item: Item, tools: Tools) -> Memory | None:
    """The record with one more source, unless that source says nothing new."""
    if not item.mark or not is_independent(held, item, tools):
        return None
    trust = Trust.VERIFIED if item.is_admin and item.author else held.trust
    if trust is not Trust.VERIFIED and held.trust is not Trust.VERIFIED:
        trust = Trust.CONFIRMED
    return held.model_copy(
        update={
            "support": (*held.support, item.mark)[:MAX_MARKS],
            "trust": trust,
            "version": held.version + 1,
            "updated_at": tools.clock.now(),
        }
    )


def is_independent(held: Memory, item: Item, tools: Tools) -> bool:
    """Another principal, or another session that had not been handed the memory."""
    if item.mark in held.support or not held.support:
        return False
    who, _, session = item.mark.partition(":")
    authors = {mark.partition(":")[0] for mark in held.support}
    if who not in authors:
        return not tools.handouts.was_handed(held.tenant, held.id, item.author, item.draft.session)
    sessions = {mark.partition(":")[2] for mark in held.support if mark.startswith(f"{who}:")}
    if not session or "" in sessions or session in sessions:
        return False
    return not tools.handouts.was_handed(held.tenant, held.id, item.author, item.draft.session)
