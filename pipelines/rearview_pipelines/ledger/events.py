"""Events, and the batches that they are written in: canonical JSON, chained by hash, signed. Pure."""

import hashlib
import hmac
import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any

from rearview_pipelines.memory import Memory, State
from rearview_pipelines.write.canonical import canonical
from rearview_pipelines.write.keys import KeyRing, Keys, derive
from rearview_pipelines.write.signing import digest

FORMAT = 1
GENESIS = "0" * 64
"""What the first batch of a chain comes after."""
_PURPOSE, _INTENT = "ledger", "ledger-intent"


class Op(StrEnum):
    """What was done to a memory."""

    WRITE = "write"
    UPDATE = "update"
    CONFIRM = "confirm"
    LINK = "link"
    SUPERSEDE = "supersede"
    QUARANTINE = "quarantine"
    RELEASE = "release"
    FORGET = "forget"
    ARCHIVE = "archive"
    """Moved to the cold tier."""
    THAW = "thaw"
    RENDER = "render"
    """The same version with vectors of another model: a second rendition of it."""
    RESTORE = "restore"
    """Put back from a snapshot."""
    ADOPT = "adopt"
    """A signed row that a crash had left unrecorded."""


@dataclass(frozen=True)
class Event:
    """One version of one memory. `digest`: SHA-256 of its signed bytes."""

    op: Op
    tenant: str
    id: str
    version: int
    state: State
    digest: str


@dataclass(frozen=True)
class Batch:
    """Events that were committed together. `hash`: SHA-256 of the batch as written."""

    writer: str
    seq: int
    previous: str
    at: str
    events: tuple[Event, ...]
    kid: str
    hash: str


class BrokenChain(ValueError):
    """A batch that is not what its writer wrote, or not where it wrote it. `batch`: which, in words."""

    def __init__(self, seq: int, what: str) -> None:
        self.batch = f"batch {seq}"
        super().__init__(f"{self.batch} {what}")


def event_of(op: Op, memory: Memory, digest_: str | None = None) -> Event:
    """The event of a version. `digest_`: that of the record, where it is at hand."""
    return Event(op, memory.tenant, memory.id, memory.version, memory.state, digest_ or digest(memory))


def encode(writer: str, seq: int, previous: str, at: datetime, events: Sequence[Event], ring: KeyRing) -> bytes:
    """A batch as bytes, signed with the active key."""
    body: dict[str, Any] = {
        "format": FORMAT,
        "writer": writer,
        "seq": seq,
        "previous": previous,
        "at": at.isoformat(),
        "events": _rows(events),
        "kid": ring.active,
    }
    mac = _mac(ring.masters[ring.active], canonical(body))
    return canonical(body | {"mac": mac})


def encode_intent(events: Sequence[Event], ring: KeyRing) -> bytes:
    """What is about to be recorded, signed, so that nobody else can say that a write of theirs was under way."""
    body: dict[str, Any] = {"events": _rows(events), "kid": ring.active}
    return canonical(body | {"mac": _mac(ring.masters[ring.active], canonical(body), _INTENT)})


def decode_intent(raw: bytes, keys: Keys) -> tuple[Event, ...] | None:
    """The events of an intent; None if it is not as it was signed, or was not written to its end."""
    try:
        body = json.loads(raw)
        mac = body.pop("mac")
        master = keys.knowing(body["kid"]).usable(body["kid"])
        if master is None or not hmac.compare_digest(mac, _mac(master, canonical(body), _INTENT)):
            return None
        return _events(body["events"])
    except (ValueError, KeyError, TypeError, AttributeError):
        return None


def _rows(events: Sequence[Event]) -> list[list[Any]]:
    return [[e.op.value, e.tenant, e.id, e.version, e.state.value, e.digest] for e in events]


def _events(rows: Any) -> tuple[Event, ...]:
    return tuple(Event(Op(op), t, i, v, State(state), d) for op, t, i, v, state, d in rows)


def decode(raw: bytes, writer: str, seq: int, previous: str, keys: Keys) -> Batch:
    """A batch, if it is the one that stands at this place of the chain. Raises BrokenChain."""
    try:
        body = json.loads(raw)
        mac = body.pop("mac")
        kid = body["kid"]
        # A revoked key still vouches for history here: each later batch, signed by another, hashes over it.
        master = keys.knowing(kid).masters.get(kid)
        if master is None or not hmac.compare_digest(mac, _mac(master, canonical(body))):
            raise BrokenChain(seq, "is not as it was signed")
        if (body["writer"], body["seq"], body["previous"]) != (writer, seq, previous):
            raise BrokenChain(seq, "does not follow the one before it")
        events = _events(body["events"])
        return Batch(writer, seq, previous, body["at"], events, kid, hashlib.sha256(raw).hexdigest())
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        if isinstance(error, BrokenChain):
            raise
        raise BrokenChain(seq, "cannot be read") from error


def _mac(master: bytes, body: bytes, purpose: str = _PURPOSE) -> str:
    return hmac.new(derive(master, "", purpose), body, hashlib.sha256).hexdigest()
