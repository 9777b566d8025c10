"""How memories are used: handed out, used, helpful. Kept apart from the signed records, and written in batches.

Nothing here is evidence: a counter that is lost in a crash, or changed by whom the store belongs to, moves an
order a little, and no more.
"""

import asyncio
import hashlib
import json
import logging
import time
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from datetime import datetime

from rearview_pipelines.errors import RearviewError
from rearview_pipelines.ports import ObjectStore
from rearview_pipelines.recall.boosts import Standing

log = logging.getLogger(__name__)
FLUSH_SECONDS = 30.0
MOST_CALLERS = 100
"""Callers of one memory whose verdict is kept; the oldest goes first."""
_PREFIX = "usage/"


@dataclass
class Use:
    """hits: recalls that handed it out. last: the day of the last one. verdicts: by caller, [used, helpful]: 1 for yes,
    -1 for no, 0 if it was not said. Who says it again changes its mind and does not count twice.
    """

    hits: int = 0
    last: str = ""
    verdicts: dict[str, list[int]] = field(default_factory=dict)

    @property
    def standing(self) -> Standing:
        """What of it moves an order."""
        return Standing(self.hits, self.helpful - self.unhelpful)

    @property
    def used(self) -> int:
        """Callers who used it."""
        return sum(used > 0 or helpful > 0 for used, helpful in self.verdicts.values())

    @property
    def helpful(self) -> int:
        return sum(helpful > 0 for _, helpful in self.verdicts.values())

    @property
    def unhelpful(self) -> int:
        return sum(helpful < 0 for _, helpful in self.verdicts.values())


class Usage:
    """Kept by the writer. `store` of None: in memory only."""

    def __init__(self, store: ObjectStore | None = None) -> None:
        self._store = store
        self._of: dict[str, dict[str, Use]] = {}
        self._changed: set[str] = set()
        self._flushed = time.monotonic()
        self._writing = asyncio.Lock()

    async def of(self, tenant: str) -> Mapping[str, Use]:
        """By memory, what is known of a tenant's."""
        return await self._known(tenant)

    async def recalled(self, tenant: str, ids: Iterable[str], at: datetime) -> None:
        uses = await self._known(tenant)
        for id_ in ids:
            use = uses.setdefault(id_, Use())
            use.hits += 1
            use.last = at.date().isoformat()
        await self._note(tenant)

    async def feedback(self, tenant: str, id_: str, who: str, *, used: bool | None, helpful: bool | None) -> Use:
        """`who`: the caller's name, of which a hash is kept."""
        use = (await self._known(tenant)).setdefault(id_, Use())
        verdict = use.verdicts.pop(_caller(who), [0, 0])
        said = [
            before if now is None else (1 if now else -1) for before, now in zip(verdict, (used, helpful), strict=True)
        ]
        use.verdicts[_caller(who)] = said
        while len(use.verdicts) > MOST_CALLERS:
            use.verdicts.pop(next(iter(use.verdicts)))
        await self._note(tenant)
        return use

    async def forget(self, tenant: str, ids: Iterable[str]) -> None:
        """A memory that is forgotten leaves no count behind."""
        try:
            uses = await self._known(tenant)
        except RearviewError as error:  # a count by id: the memory itself is gone already
            log.warning("the usage of what was forgotten is still there: %s", type(error).__name__)
            return
        if any([uses.pop(id_, None) for id_ in ids]):
            self._changed.add(tenant)
            await self.flush()

    async def _note(self, tenant: str) -> None:
        self._changed.add(tenant)
        if time.monotonic() - self._flushed >= FLUSH_SECONDS:
            await self.flush()

    async def flush(self) -> None:
        if self._store is None:
            return
        async with self._writing:  # an older state never lands after a newer one
            changed, self._changed, self._flushed = self._changed, set(), time.monotonic()
            for tenant in changed:
                rows = {id_: asdict(use) for id_, use in self._of[tenant].items()}
                try:
                    await self._store.put(_key(tenant), json.dumps(rows).encode())
                except RearviewError as error:
                    log.warning("usage not written: %s", type(error).__name__)
                    self._changed.add(tenant)

    async def _known(self, tenant: str) -> dict[str, Use]:
        if tenant in self._of:
            return self._of[tenant]
        raw = await self._store.get(_key(tenant)) if self._store is not None else None
        try:
            read = {id_: Use(**row) for id_, row in json.loads(raw or b"{}").items()}
        except (ValueError, TypeError, AttributeError):
            log.warning("the usage of a tenant cannot be read: counting anew")
            read = {}
        return self._of.setdefault(tenant, read)


def _key(tenant: str) -> str:
    return f"{_PREFIX}{hashlib.sha256(tenant.encode()).hexdigest()[:32]}.json"


def _caller(who: str) -> str:
    return hashlib.sha256(who.encode()).hexdigest()[:16]
