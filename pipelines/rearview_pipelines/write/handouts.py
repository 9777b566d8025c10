"""What recalls handed out, to whom and when, for seven days: ids, never a text.

By it an echo is known for one, and a statement by somebody who had just been told is no second source.
"""

import json
import logging
import time
from collections import OrderedDict, deque
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta

from rearview_pipelines.errors import RearviewError
from rearview_pipelines.ports import ObjectStore

log = logging.getLogger(__name__)
KEPT = timedelta(days=7)
MOST = 100_000
"""Recalls remembered in memory; the oldest go first."""
FLUSH = 100
"""Recalls written in one object."""
FLUSH_SECONDS = 30.0
"""After which they are written, however few they are."""
LATELY = 200
"""Recalls of one holder that are looked through for what was handed out last."""
_PREFIX = "recalls/"


@dataclass(frozen=True)
class Handout:
    """One recall: which memories went to which holder of a credential."""

    recall_id: str
    at: str
    tenant: str
    principal: str
    agent: str
    user: str
    session: str
    ids: tuple[str, ...]


class Handouts:
    """Kept by the writer. `store` of None: in memory only."""

    def __init__(self, store: ObjectStore | None = None) -> None:
        self._store = store
        self._by_recall: OrderedDict[str, Handout] = OrderedDict()
        self._of_memory: dict[tuple[str, str], deque[Handout]] = {}
        self._of_holder: dict[tuple[str, str], deque[Handout]] = {}
        self._unwritten: list[Handout] = []
        self._flushed = time.monotonic()

    async def load(self, now: datetime) -> None:
        """Read what the last days' writers kept; remove what is older."""
        if self._store is None:
            return
        oldest = (now - KEPT).date().isoformat()
        for key in await self._store.keys(_PREFIX):
            if key.split("/")[1] < oldest:
                await self._store.delete(key)
                continue
            raw = await self._store.get(key)
            try:
                rows = [Handout(**(row | {"ids": tuple(row["ids"])})) for row in json.loads(raw or b"[]")]
            except (ValueError, KeyError, TypeError):
                log.warning("what recalls of %s handed out cannot be read: removed", key.split("/")[1])
                await self._store.delete(key)
                continue
            for row in rows:
                self._keep(row)

    async def note(self, handout: Handout) -> None:
        """Remember a recall; written to the store now and then, so that a crash loses a few at most."""
        self._keep(handout)
        self._unwritten.append(handout)
        if len(self._unwritten) >= FLUSH or time.monotonic() - self._flushed >= FLUSH_SECONDS:
            await self.flush()

    async def flush(self) -> None:
        if self._store is None or not self._unwritten:
            return
        rows, self._unwritten, self._flushed = self._unwritten, [], time.monotonic()
        key = f"{_PREFIX}{rows[0].at[:10]}/{rows[0].recall_id}.json"
        try:
            await self._store.put(key, json.dumps([asdict(row) for row in rows]).encode())
        except RearviewError as error:
            log.warning("recalls not written: %s", type(error).__name__)
            self._unwritten = rows + self._unwritten

    async def forget(self, tenant: str, user: str) -> int:
        """Remove what was handed out for a user, here and in the store; answers how many recalls."""
        await self.flush()
        gone = [h for h in self._by_recall.values() if (h.tenant, h.user) == (tenant, user)]
        for handout in gone:
            self._by_recall.pop(handout.recall_id)
            for id_ in handout.ids:
                _remove(self._of_memory, (tenant, id_), handout)
            _remove(self._of_holder, (tenant, handout.principal), handout)
        for key in await self._store.keys(_PREFIX) if self._store is not None and gone else ():
            assert self._store is not None
            rows = json.loads(await self._store.get(key) or b"[]")
            kept = [row for row in rows if (row["tenant"], row["user"]) != (tenant, user)]
            if not kept:
                await self._store.delete(key)
            elif len(kept) < len(rows):
                await self._store.put(key, json.dumps(kept).encode())
        return len(gone)

    def _keep(self, handout: Handout) -> None:
        self._by_recall[handout.recall_id] = handout
        for id_ in handout.ids:
            self._of_memory.setdefault((handout.tenant, id_), deque(maxlen=32)).append(handout)
        self._of_holder.setdefault((handout.tenant, handout.principal), deque(maxlen=LATELY)).append(handout)
        while len(self._by_recall) > MOST:
            _, gone = self._by_recall.popitem(last=False)
            for id_ in gone.ids:
                _drop(self._of_memory, (gone.tenant, id_), gone)
            _drop(self._of_holder, (gone.tenant, gone.principal), gone)

    def find(self, tenant: str, recall_id: str) -> Handout | None:
        found = self._by_recall.get(recall_id)
        return found if found is not None and found.tenant == tenant else None

    def was_handed(self, tenant: str, id_: str, principal: str, session: str | None) -> bool:
        """Whether that holder, in that session or in one that was not named, had been given the memory."""
        return any(
            h.principal == principal and (not h.session or not session or h.session == session)
            for h in self._of_memory.get((tenant, id_), ())
        )

    def lately(self, tenant: str, principal: str, session: str | None, most: int) -> list[str]:
        """Ids of memories that were handed to that holder last, newest first."""
        ids: dict[str, None] = {}
        for handout in reversed(self._of_holder.get((tenant, principal), ())):
            if handout.session and session and handout.session != session:
                continue
            ids.update(dict.fromkeys(handout.ids))
            if len(ids) >= most:
                break
        return list(ids)[:most]


def _remove(kept: dict[tuple[str, str], deque[Handout]], key: tuple[str, str], gone: Handout) -> None:
    held = kept.get(key)
    if held is not None:
        rest = [handout for handout in held if handout is not gone]
        kept[key] = deque(rest, maxlen=held.maxlen)
        if not rest:
            del kept[key]


def _drop(kept: dict[tuple[str, str], deque[Handout]], key: tuple[str, str], gone: Handout) -> None:
    held = kept.get(key)
    if held and held[0] is gone:
        held.popleft()
    if not held:
        kept.pop(key, None)
