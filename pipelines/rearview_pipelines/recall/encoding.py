"""Queries encoded once, however many ask; one that nobody waits for any more is not encoded at all."""

import asyncio
from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from rearview_pipelines.ports import Vector

MOST = 1024
"""Encoded queries kept."""


@dataclass
class _Under:
    """A query that is being encoded, and how many wait for it."""

    future: "asyncio.Future[Vector]"
    waiters: int = 0


class Queries:
    """`encode` runs in a thread of its own, one query at a time."""

    def __init__(self, encode: Callable[[str], Vector]) -> None:
        self._encode = encode
        self._kept: OrderedDict[str, Vector] = OrderedDict()
        self._under: dict[str, _Under] = {}
        self._pool = ThreadPoolExecutor(1, thread_name_prefix="late-query")

    async def encoded(self, query: str) -> Vector:
        if query in self._kept:
            self._kept.move_to_end(query)
            return self._kept[query]
        under = self._under.get(query)
        if under is None:
            future = asyncio.get_running_loop().run_in_executor(self._pool, self._encode, query)
            under = self._under[query] = _Under(asyncio.ensure_future(future))
            under.future.add_done_callback(lambda done: self._settle(query, done))
        under.waiters += 1
        try:
            return await asyncio.shield(under.future)
        finally:
            under.waiters -= 1
            if under.waiters == 0 and not under.future.done():
                under.future.cancel()

    def _settle(self, query: str, done: "asyncio.Future[Vector]") -> None:
        self._under.pop(query, None)
        if not done.cancelled() and done.exception() is None:
            self._kept[query] = done.result()
            while len(self._kept) > MOST:
                self._kept.popitem(last=False)
