"""Is a stored record what was written? Its signature, and its version against the head of the ledger.

What is not is left out of every answer, counted, remembered for the admin's list and logged by id.
"""

import logging
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
        self.suspects: dict[tuple[str, str], Finding] = {}

    async def follow(self) -> None:
        """Bring the head in step with the log, before rows are read: a head that is older alarms nobody.

        Raises BrokenLedger, and Unavailable if the log was never read.
        """
        if self._ledger is not None:
            await self._ledger.followed()

    def look(self, memory: Memory) -> Finding | None:
        """What is wrong with a record, if anything is."""
        digest = verified_digest(memory, self._keys)
        if digest is None:
            return Finding.UNSIGNED if memory.signature is None else Finding.ALTERED
        return None if self._ledger is None else self._ledger.head.judge(memory, digest)

    def holds(self, memory: Memory) -> bool:
        """Whether a record may be served. One that may not is counted and logged by id."""
        finding = self.look(memory)
        key = (memory.tenant, memory.id)
        if finding is None:
            self.suspects.pop(key, None)  # it was put back
            return True
        self.counts[finding.value] += 1
        if key not in self.suspects and len(self.suspects) < MOST:
            self.suspects[key] = finding
        log.error("memory %s is left out: %s", memory.id, finding.value)
        return False
