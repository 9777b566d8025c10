"""Answer a repeated request with the first one's receipts.

Kept in memory by the one writer. After a restart a repeat is harmless all the same, because ids are
content-addressed: it answers `duplicate` with the same id.
"""

import asyncio
import hashlib
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Sequence

from rearview_pipelines.errors import InvalidInput
from rearview_pipelines.principal import Principal
from rearview_pipelines.receipts import Receipt

KEPT = 10_000
"""Requests remembered; the oldest goes first."""


class Answers:
    def __init__(self) -> None:
        self._kept: OrderedDict[tuple[str, str, str], tuple[str, asyncio.Future[list[Receipt]]]] = OrderedDict()

    async def once(
        self,
        principal: Principal,
        key: str,
        content: Sequence[str],
        work: Callable[[], Awaitable[list[Receipt]]],
    ) -> list[Receipt]:
        """Run `work` for the first request of a key; later ones get its answer. A failure is not kept.

        Raises InvalidInput if the key comes back with other content.
        """
        slot = (principal.tenant, principal.id, key)
        digest = hashlib.sha256("\n".join(content).encode()).hexdigest()
        if slot in self._kept:
            first, answer = self._kept[slot]
            if first != digest:
                raise InvalidInput.one(
                    "Idempotency-Key", "was used for another request", "send a new key for new content"
                )
            return await asyncio.shield(answer)
        task = asyncio.ensure_future(work())
        self._kept[slot] = (digest, task)
        while len(self._kept) > KEPT:
            self._kept.popitem(last=False)
        task.add_done_callback(lambda done: self._drop_failed(slot, done))
        return await asyncio.shield(task)

    def _drop_failed(self, slot: tuple[str, str, str], done: asyncio.Future[list[Receipt]]) -> None:
        """Whoever waits for it or not: a failed request may be repeated with its key."""
        if done.cancelled() or done.exception() is not None:
            self._kept.pop(slot, None)
