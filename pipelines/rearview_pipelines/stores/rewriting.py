"""A fresh collection beside the live one: filled by copying, kept in step by mirroring, then put in its place.

Milvus Lite gives back no bytes of what was deleted, and a server when it likes; dropping a whole collection does.
"""

import asyncio
import logging
from collections.abc import Callable, Sequence
from typing import Protocol, TypeVar

from pymilvus import MilvusClient

from rearview_pipelines.errors import Unavailable
from rearview_pipelines.memory import Memory, State
from rearview_pipelines.ports import Part
from rearview_pipelines.stores import collection
from rearview_pipelines.stores.milvus import MilvusIndex, translated

log = logging.getLogger(__name__)
GRACE_SECONDS = 2.0
"""Between moving the alias and dropping the old collection: readers hear of it with their next question."""
_Result = TypeVar("_Result")


class Whole(Protocol):
    """Who can say all there is of a memory, from memory where it is hot."""

    async def ids(self, tenant: str) -> list[str]: ...

    async def refresh(self) -> None: ...

    async def whole(
        self, tenant: str, ids: Sequence[str], *, tokens: bool = False
    ) -> list[tuple[Memory, tuple[Part, ...]]]: ...


class Rewriter:
    """Rewrites the collection of a store. The writer's own: nobody else changes rows meanwhile."""

    def __init__(self, index: MilvusIndex, whole: Whole, uri: str, token: str, seconds: float) -> None:
        self._index = index
        self._whole = whole
        self._connect = (uri, token, seconds)
        self._name = ""

    async def begin(self) -> None:
        """A fresh collection; from now on every change is made in both. What an earlier attempt left is dropped."""
        await self._index.mirror(None)
        name = await self._sync(self._begun)
        self._name = name
        await self._index.mirror(name)

    def _begun(self, client: MilvusClient) -> str:
        live = collection.current_generation(client)
        for name in collection.generations(client):
            if name != live:
                client.drop_collection(name)
        note = collection.note_of(client, collection.COLLECTION)
        name = collection.next_generation(client)
        collection.create_generation(client, name, note["model"], note["dimension"])
        client.load_collection(name)
        return name

    async def beside(self, model: str, dimension: int, name: str | None) -> str:
        """A collection for another model, kept in step from now on: a new one, or one that was begun before."""
        await self._index.mirror(None)
        made = await self._sync(lambda client: self._beside(client, model, dimension, name))
        await self._index.mirror(made, dimension)
        return made

    @staticmethod
    def _beside(client: MilvusClient, model: str, dimension: int, name: str | None) -> str:
        live = collection.current_generation(client)
        there = collection.generations(client)
        if name is not None and name in there and name != live:
            client.load_collection(name)
            return name
        for other in there:
            if other != live:
                client.drop_collection(other)
        name = collection.next_generation(client)
        collection.create_generation(client, name, model, dimension)
        client.load_collection(name)
        return name

    async def take_place(self, name: str) -> str:
        """Put the collection beside in the place of the live one, whose name it answers. Under the writer's lock."""
        old = await self._sync(lambda client: self._placed(client, name))
        await self._index.mirror(None)
        await self._whole.refresh()  # what is held in memory is of the other model
        return old

    @staticmethod
    def _placed(client: MilvusClient, new: str) -> str:
        old = collection.current_generation(client)
        if old == new:  # an earlier call moved it, and its answer was lost
            others = [name for name in collection.generations(client) if name != new]
            return others[-1] if others else new
        for partition in client.list_partitions(old):
            if not client.has_partition(new, partition):
                client.create_partition(new, partition)
        client.alter_alias(new, collection.COLLECTION)
        return old

    @property
    def index(self) -> MilvusIndex:
        return self._index

    async def whole(self, tenant: str, ids: Sequence[str]) -> list[tuple[Memory, tuple[Part, ...]]]:
        """These memories with all that is derived from them."""
        return await self._whole.whole(tenant, ids, tokens=True)

    async def ids(self, tenant: str) -> list[str]:
        return await self._whole.ids(tenant)

    async def copy(self, tenant: str, ids: Sequence[str]) -> int:
        """Copy memories as they are now; answers how many. Called under the writer's lock."""
        held = await self._whole.whole(tenant, ids, tokens=True)
        # Of what is forgotten nothing is carried over but that it was there.
        rows = [(m, () if m.state is State.FORGOTTEN else parts) for m, parts in held]
        if rows:
            await self._index.copy(rows)
        return len(rows)

    async def switch(self) -> str:
        """Put the fresh collection in the place of the old one, whose name it answers. Called under the writer's lock.

        Raises Unavailable if the fresh one missed a change.
        """
        if not self._index.mirrors:
            raise Unavailable("the fresh collection missed a change: it has to be begun anew")
        old = await self._sync(lambda client: self._placed(client, self._name))
        await self._index.mirror(None)
        await self._index.refresh()
        return old

    @property
    def generation(self) -> str:
        return self._index.generation

    async def drop(self, old: str) -> None:
        """Drop a collection, once what was asked of it has ended."""
        await asyncio.sleep(GRACE_SECONDS)
        if old != self._index.generation:
            await self._sync(lambda client: client.drop_collection(old))

    async def abandon(self) -> None:
        """Drop what was begun."""
        await self._index.mirror(None)
        await self._sync(self._dropped)

    @staticmethod
    def _dropped(client: MilvusClient) -> None:
        live = collection.current_generation(client)
        for name in collection.generations(client):
            if name != live:
                client.drop_collection(name)

    async def _sync(self, work: Callable[[MilvusClient], _Result]) -> _Result:
        uri, token, seconds = self._connect

        def run() -> _Result:
            client = MilvusClient(uri, token=token, timeout=seconds, grpc_options=collection.CHANNEL)
            try:
                return work(client)
            finally:
                client.close()

        async with translated():
            return await asyncio.to_thread(run)
