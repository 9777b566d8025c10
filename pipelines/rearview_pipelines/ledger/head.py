"""The head: which version of each memory is the last one recorded, or that it was forgotten.

Compact: a version and a digest an id. Every process keeps its own and follows the log.
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from enum import StrEnum

from rearview_pipelines.ledger.events import Batch, Event, Op
from rearview_pipelines.memory import Memory, State

KEPT = frozenset({State.ACTIVE, State.PENDING, State.QUARANTINED})
"""States of a memory that takes a place."""


class Finding(StrEnum):
    """What can be wrong with a stored memory, in the words of the contract."""

    ALTERED = "altered"
    MISSING = "missing"
    REPLAYED = "replayed"
    UNSIGNED = "unsigned"
    CHAIN = "chain"


@dataclass(frozen=True)
class Recorded:
    """The last recorded version of a memory. `cold`: it lies in the cold tier.

    `also`: digest of the same version with vectors of another model, while a store moves to one.
    """

    version: int
    digest: str
    state: State
    cold: bool = False
    also: str = ""

    def vouches(self, version: int, digest: str | None) -> bool:
        """Whether a record is this version, in either rendition."""
        return version == self.version and bool(digest) and digest in (self.digest, self.also)


class Head:
    """`seq`, `hash`: the last batch that is in it."""

    def __init__(self) -> None:
        self._held: dict[str, dict[str, Recorded]] = {}
        self._counted: Counter[str] = Counter()
        self._cold: Counter[str] = Counter()
        self._archived: Counter[str] = Counter()
        self.seq = 0
        self.hash = ""

    def apply(self, batch: Batch) -> None:
        self.add(batch.events)
        self.seq, self.hash = batch.seq, batch.hash

    def add(self, events: Iterable[Event]) -> None:
        for event in events:
            held = self._held.setdefault(event.tenant, {})
            before = held.get(event.id)
            if event.op is Op.RENDER:
                if before is not None and before.version == event.version:
                    held[event.id] = replace(before, also=event.digest)
                continue
            self._counted[event.tenant] += (event.state in KEPT) - (before is not None and before.state in KEPT)
            is_cold = event.op is Op.ARCHIVE
            self._cold[event.tenant] += is_cold - (before is not None and before.cold)
            self._archived[event.tenant] += is_cold
            held[event.id] = Recorded(event.version, event.digest, event.state, is_cold)

    def get(self, tenant: str, id_: str) -> Recorded | None:
        return self._held.get(tenant, {}).get(id_)

    def of_tenant(self, tenant: str) -> Iterator[tuple[str, Recorded]]:
        yield from list(self._held.get(tenant, {}).items())

    def tenants(self) -> list[str]:
        return sorted(self._held)

    def judge(self, memory: Memory, digest: str) -> Finding | None:
        """What is wrong with a record whose signature holds, if anything is.

        A version that is newer than the recorded one is a write on its way: only our keys can sign it.
        """
        held = self.get(memory.tenant, memory.id)
        if held is None or memory.version > held.version:
            return None
        if memory.version < held.version:
            return Finding.REPLAYED
        return None if held.vouches(memory.version, digest) else Finding.REPLAYED

    def cold(self, tenant: str) -> int:
        """Memories of a tenant that lie in the cold tier."""
        return self._cold[tenant]

    def archived(self, tenant: str) -> int:
        """How often one was ever moved there: whoever knows this number has heard of every move."""
        return self._archived[tenant]

    def count(self, tenant: str) -> int:
        """Memories that a tenant keeps, hot and cold together: what was forgotten or superseded is none."""
        return self._counted[tenant]
