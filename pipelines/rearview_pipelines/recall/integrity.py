"""Is a stored record what was written? Its signature, and its version against the head of the ledger.

What is not is left out of every answer, counted, remembered for the admin's list and logged by id.
"""

import logging
import weakref
from collections import Counter

from rearview_pipelines.ledger.head import Finding
from rearview_pipelines.ledger.ledger import LedgerReader
from rearview_pipelines.memory import Memory
from rearview_pipelines.write.keys import Keys
from rearview_pipelines.write.signing import verified_digest

log = logging.getLogger(__name__)
MOST = 10_000
"""Suspect rows remembered by id."""


class Integrity:
    """`ledger` of None: signatures only. `suspects`: what was found, by tenant and id."""

    def __init__(self, keys: Keys, ledger: LedgerReader | None) -> None:
        self._keys = keys
        self._ledger = ledger
        self.counts: Counter[str] = Counter()
        self._digests: dict[str, tuple[weakref.ref[Memory], str]] = {}
        self.suspects: dict[tuple[str, str], Finding] = {}

    async def follow(self) -> None:
        """Bring the head in step with the log, before rows are read: a head that is older alarms nobody.

        Raises BrokenLedger, and Unavailable if the log was never read.
        """
        if self._ledger is not None:
            await self._ledger.followed()

    @property
    def mark(self) -> str | None:
        """The state of the ledger as it was followed last; None without one."""
        return f"{self._ledger.head.seq}:{self._ledger.head.hash}" if self._ledger is not None else None

    def _digest(self, memory: Memory) -> str | None:
        """Its digest if its signature holds. The same object, which nothing can change, is computed once."""
        kid = memory.signature.kid if memory.signature else ""
        known = self._digests.get(memory.id)
        if known is not None and known[0]() is memory and self._keys.knowing(kid).usable(kid) is not None:
            return known[1]
        digest = verified_digest(memory, self._keys)
        if digest is not None:
            self._digests[memory.id] = (weakref.ref(memory), digest)  # what is forgotten is not held here
            if len(self._digests) > MOST:
                self._digests.pop(next(iter(self._digests)))
        return digest

    def look(self, memory: Memory) -> Finding | None:
        """What is wrong with a record, if anything is."""
        digest = self._digest(memory)
        if digest is None:
            return Finding.UNSIGNED if memory.signature is None else Finding.ALTERED
        return None if self._ledger is None else self._ledger.head.judge(memory, digest)

    def holds(self, memory: Memory) -> bool:
        """Whether a record may be served. One that may not is counted and logged by id."""
        return self.settled(memory, self.look(memory))

    def settled(self, memory: Memory, finding: Finding | None) -> bool:
        """The same, of a record that was looked at."""
        key = (memory.tenant, memory.id)
        if finding is None:
            self.suspects.pop(key, None)  # it was put back
            return True
        self.counts[finding.value] += 1
        if key not in self.suspects and len(self.suspects) < MOST:
            self.suspects[key] = finding
        log.error("memory %s is left out: %s", memory.id, finding.value)
        return False
