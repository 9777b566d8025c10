"""The log: appended to by one writer, followed by everyone else.

A batch is an object of its own, written only if none is there: two writers of one chain cannot both
win. A witness beside the keys remembers the last batch, so that a chain that was cut, or a store that
was put back to an older day, is noticed.
"""

import asyncio
import json
import logging
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

from rearview_pipelines.errors import BrokenLedger, Unavailable
from rearview_pipelines.ledger.events import GENESIS, Batch, BrokenChain, Event, Op, decode, encode
from rearview_pipelines.ledger.head import Head
from rearview_pipelines.memory import State
from rearview_pipelines.ports import AlreadyThere, ObjectStore
from rearview_pipelines.write.keys import Keys, write_private

log = logging.getLogger(__name__)
WRITER = "writer-0"
"""The chain's name; a shard would be another writer with another chain."""
_PENDING = f"ledger/{WRITER}.pending"


def _key(seq: int) -> str:
    return f"ledger/{WRITER}/{seq:012d}.json"


@dataclass
class LedgerReader:
    """Follows the log into a head. `broken`: why it stopped trusting it, if it did."""

    store: ObjectStore
    keys: Keys
    head: Head = field(default_factory=Head)
    broken: str | None = None

    def __post_init__(self) -> None:
        self._lock = asyncio.Lock()
        if not self.head.hash:
            self.head.hash = GENESIS

    async def follow(self) -> None:
        """Take in what was appended since the last call. Raises Unavailable."""
        async with self._lock:
            while self.broken is None and (raw := await self.store.get(_key(self.head.seq + 1))) is not None:
                try:
                    self.head.apply(decode(raw, WRITER, self.head.seq + 1, self.head.hash, self.keys))
                except BrokenChain as error:
                    self.broken = str(error)
                    log.error("the ledger does not hold: %s", error)

    async def events_of(self, tenant: str, id_: str) -> list[dict[str, object]]:
        """What the log says of one memory, oldest first."""
        await self.follow()
        return [
            {"batch": batch.seq, "at": batch.at, "op": e.op.value, "version": e.version, "state": e.state.value,
             "digest": e.digest, "kid": batch.kid}
            async for batch in self.walk()
            for e in batch.events
            if (e.tenant, e.id) == (tenant, id_)
        ]  # fmt: skip

    async def walk(self) -> AsyncIterator[Batch]:
        """Every batch from the first on, checked again. Raises BrokenChain at the first that does not hold."""
        seq, previous = 1, GENESIS
        while (raw := await self.store.get(_key(seq))) is not None:
            batch = decode(raw, WRITER, seq, previous, self.keys)
            yield batch
            seq, previous = seq + 1, batch.hash
        names = await self.store.keys(f"ledger/{WRITER}/")
        if len(names) != seq - 1:
            raise BrokenChain(f"batch {seq} is missing, others follow it")


@dataclass(frozen=True)
class Witness:
    """A note beside the keys, off the store: the last batch that was written."""

    path: Path

    def read(self) -> tuple[int, str]:
        try:
            raw = json.loads(self.path.read_text())
            return int(raw["seq"]), str(raw["hash"])
        except FileNotFoundError:
            return 0, GENESIS
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise Unavailable(
                f"the ledger's witness {self.path.name} cannot be read: restore it from a backup"
            ) from error

    def write(self, seq: int, hash_: str) -> None:
        write_private(self.path, json.dumps({"seq": seq, "hash": hash_}), sync=False)


class Ledger(LedgerReader):
    """The writer's end: appends, and says what a crash left undone."""

    def __init__(self, store: ObjectStore, keys: Keys, witness: Witness | None, now: Callable[[], datetime]) -> None:
        super().__init__(store, keys)
        self._witness = witness
        self._now = now
        self._checked = False

    async def open(self) -> None:
        """Read the chain and hold it against the witness. Raises Unavailable, or BrokenLedger."""
        await self.follow()
        if self.broken is not None:
            raise BrokenLedger(f"the ledger was changed: {self.broken}; nothing is written until it is restored")
        seq, hash_ = self._witness.read() if self._witness else (0, GENESIS)
        if seq > self.head.seq or (seq == self.head.seq and hash_ != self.head.hash):
            raise BrokenLedger(
                f"the ledger ends at batch {self.head.seq}, batch {seq} was written: it was cut or put back to an "
                "older state; nothing is written until it is restored"
            )
        self._checked = True

    async def intend(self, events: Sequence[Event]) -> None:
        """Note what is about to be stored, so that a crash before `append` is found at the next start."""
        if not self._checked:
            await self.open()
        rows = [[e.op.value, e.tenant, e.id, e.version, e.state.value, e.digest] for e in events]
        await self.store.put(_PENDING, json.dumps(rows).encode(), fleeting=True)

    async def append(self, events: Sequence[Event]) -> None:
        """Record events; on return they are on disk. Raises Unavailable: nothing was recorded then."""
        if not self._checked:
            await self.open()
        async with self._lock:  # a reader in this process may be following the same head
            seq = self.head.seq + 1
            raw = encode(WRITER, seq, self.head.hash, self._now(), events, self.keys.ring)
            try:
                await self.store.put(_key(seq), raw, new=True)
            except AlreadyThere as error:
                self._checked = False
                raise Unavailable("another writer has written to this store's ledger") from error
            self.head.apply(decode(raw, WRITER, seq, self.head.hash, self.keys))
        if self._witness:
            self._witness.write(self.head.seq, self.head.hash)
        await self.store.delete(_PENDING)

    async def undone(self) -> list[Event]:
        """What was noted and not recorded: the writer died, or could not say so, in between."""
        raw = await self.store.get(_PENDING)
        if raw is None:
            return []
        events = [Event(Op(op), t, i, v, State(s), d) for op, t, i, v, s, d in json.loads(raw)]
        known = (self.head.get(e.tenant, e.id) for e in events)
        return [e for e, held in zip(events, known, strict=True) if held is None or held.version < e.version]

    async def settle(self) -> None:
        """Nothing is undone any more."""
        await self.store.delete(_PENDING)
