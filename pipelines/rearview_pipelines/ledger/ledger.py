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

from rearview_pipelines.errors import BrokenLedger, RearviewError, Unavailable
from rearview_pipelines.ledger.events import (
    GENESIS,
    Batch,
    BrokenChain,
    Event,
    decode,
    decode_intent,
    encode,
    encode_intent,
)
from rearview_pipelines.ledger.head import Head
from rearview_pipelines.ports import AlreadyThere, ObjectStore
from rearview_pipelines.write.keys import Keys, write_private

log = logging.getLogger(__name__)
WRITER = "writer-0"
"""The chain's name; a shard would be another writer with another chain."""
_PENDING = f"ledger/{WRITER}.pending"


def _key(seq: int) -> str:
    return f"ledger/{WRITER}/{seq:012d}.json"


class Unsettled(Unavailable):
    """Whether a batch was recorded is not known: the store did not answer. What it records must stay as it is."""


@dataclass
class LedgerReader:
    """Follows the log into a head. `broken`: why it stopped trusting it, if it did.

    `witness` of None: a chain that was cut at its end is not noticed.
    """

    store: ObjectStore
    keys: Keys
    witness: "Witness | None" = None
    head: Head = field(default_factory=Head)
    broken: str | None = None

    def __post_init__(self) -> None:
        self._lock = asyncio.Lock()
        self._compared = False
        if not self.head.hash:
            self.head.hash = GENESIS

    async def follow(self) -> None:
        """Take in what was appended since the last call. Raises Unavailable."""
        async with self._lock:
            # Read before the chain is: a batch is written first and witnessed then.
            seen = self.witness.read() if self.witness and not self._compared else None
            while self.broken is None and (raw := await self.store.get(_key(self.head.seq + 1))) is not None:
                try:
                    self.head.apply(decode(raw, WRITER, self.head.seq + 1, self.head.hash, self.keys))
                except BrokenChain as error:
                    self._break(str(error))
                if seen is not None and self.head.seq == seen[0] and self.head.hash != seen[1]:
                    self._break(f"batch {seen[0]} is another than the one that was written")
            if seen is not None and self.broken is None and self.head.seq < seen[0]:
                self._break(
                    f"it ends at batch {self.head.seq}, batch {seen[0]} was written: it was cut or put back to an "
                    "older state"
                )
            self._compared = True

    def _break(self, why: str) -> None:
        self.broken = why
        log.error("the ledger does not hold: %s", why)

    async def followed(self) -> None:
        """Follow, for whoever is to trust the head then.

        Raises BrokenLedger: what was forgotten after the break cannot be told from what was not. Raises
        Unavailable if the log was never read; later the head as it is has to do.
        """
        try:
            await self.follow()
        except Unavailable as error:
            if not self._compared:
                raise
            log.warning("the ledger was not followed: %s", type(error).__name__)
        self._require_whole("read")

    def _require_whole(self, done: str) -> None:
        if self.broken is not None:
            raise BrokenLedger(f"the ledger was changed: {self.broken}; nothing is {done} until it is restored")

    async def events_of(self, tenant: str, id_: str) -> list[dict[str, object]]:
        """What the log says of one memory, oldest first."""
        await self.followed()
        return [
            {"batch": batch.seq, "at": batch.at, "op": e.op.value, "version": e.version, "state": e.state.value,
             "digest": e.digest, "kid": batch.kid}
            async for batch in self.walk()
            for e in batch.events
            if (e.tenant, e.id) == (tenant, id_)
        ]  # fmt: skip

    async def walk(self) -> AsyncIterator[Batch]:
        """Every batch from the first on, checked again. Raises BrokenChain at the first that does not hold."""
        names = await self.store.keys(f"ledger/{WRITER}/")  # before they are read: others may be added meanwhile
        seq, previous = 1, GENESIS
        while (raw := await self.store.get(_key(seq))) is not None:
            batch = decode(raw, WRITER, seq, previous, self.keys)
            yield batch
            seq, previous = seq + 1, batch.hash
        if any(name >= _key(seq) for name in names):
            raise BrokenChain(seq, "is missing, others follow it")


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
            # Cut by a power loss. Whoever else can write here has the keys too.
            log.error("the ledger's witness %s cannot be read, a cut is not noticed: %s", self.path.name, error)
            return 0, GENESIS

    def write(self, seq: int, hash_: str) -> None:
        write_private(self.path, json.dumps({"seq": seq, "hash": hash_}), sync=False)


class Ledger(LedgerReader):
    """The writer's end: appends, and says what a crash left undone."""

    def __init__(self, store: ObjectStore, keys: Keys, witness: Witness | None, now: Callable[[], datetime]) -> None:
        super().__init__(store, keys, witness)
        self._now = now
        self._checked = False

    async def open(self) -> None:
        """Read the chain and hold it against the witness. Raises Unavailable, or BrokenLedger."""
        await self.follow()
        self._require_whole("written")
        self._checked = True

    async def intend(self, events: Sequence[Event]) -> None:
        """Note what is about to be stored, so that a crash before `append` is found at the next start."""
        if not self._checked:
            await self.open()
        await self.store.put(_PENDING, encode_intent(events, self.keys.ring), fleeting=True)

    async def append(self, events: Sequence[Event]) -> None:
        """Record events; on return they are on disk.

        Raises Unavailable: nothing was recorded then; or Unsettled, which is one.
        """
        if not self._checked:
            await self.open()
        async with self._lock:  # a reader in this process may be following the same head
            seq = self.head.seq + 1
            raw = encode(WRITER, seq, self.head.hash, self._now(), events, self.keys.ring)
            await self._put(seq, raw)
            self.head.apply(decode(raw, WRITER, seq, self.head.hash, self.keys))
        # It is recorded: what fails from here on takes nothing back.
        try:
            if self.witness:
                self.witness.write(self.head.seq, self.head.hash)
            await self.settle()
        except (OSError, RearviewError) as error:
            log.warning("batch %d is recorded, its witness or its intent was not written: %s", seq, error)

    async def _put(self, seq: int, raw: bytes) -> None:
        """Write a batch. A failure after it was written is none: the store is asked what it holds."""
        try:
            await self.store.put(_key(seq), raw, new=True)
        except (AlreadyThere, Unavailable) as error:
            try:
                held = await self.store.get(_key(seq))
            except Unavailable as unknown:
                self._checked = False
                raise Unsettled(
                    "the object store does not answer: whether the write is recorded shows later"
                ) from unknown
            if held == raw:
                return
            if held is not None:
                self._checked = False
                raise Unavailable("another writer has written to this store's ledger") from error
            raise

    async def undone(self) -> list[Event]:
        """What was noted and not recorded: the writer died, or could not say so, in between."""
        raw = await self.store.get(_PENDING)
        if raw is None:
            return []
        events = decode_intent(raw, self.keys)
        if events is None:  # cut by a power loss, or not ours: `verify` names rows that nobody recorded
            log.error("what was being written when the writer stopped cannot be read: it is not adopted")
            return []
        known = (self.head.get(e.tenant, e.id) for e in events)
        return [e for e, held in zip(events, known, strict=True) if held is None or held.version < e.version]

    async def settle(self) -> None:
        """Nothing is undone any more."""
        await self.store.delete(_PENDING)
