"""The index on Milvus: Lite as a server on loopback, Lite in this process, or a Milvus server.

Hides what differs: Lite's negative BM25 distances, deletes that ignore partitions, servers without
BM25, consistency levels. One partition a tenant, always named, since naming it is what prunes.
"""

import asyncio
import functools
import hashlib
import logging
import re
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, TypeVar

import grpc
import numpy as np
from pymilvus import AsyncMilvusClient
from pymilvus.client import entity_helper
from pymilvus.exceptions import MilvusException

from rearview_pipelines.errors import Unavailable
from rearview_pipelines.fields import millis
from rearview_pipelines.memory import Memory, State
from rearview_pipelines.ports import Condition, Inspected, Match, Part, Tokens, Vector, Where
from rearview_pipelines.stores.collection import CHANNEL, Live, look_up, prepare
from rearview_pipelines.stores.expressions import expression
from rearview_pipelines.stores.rows import is_nowhere, memory_of, part_of, row_id, rows_of, unpacked

log = logging.getLogger(__name__)
# It logs a traceback with the request's content for every failed call, which we report ourselves.
logging.getLogger("pymilvus").setLevel(logging.CRITICAL)
# Its check of strings looks at each character of a row's value: 5,000 a row here, half of the time of a write.
entity_helper.CHECK_STR_ARRAY = False

_Result = TypeVar("_Result")
_KEY = re.compile(r"[A-Za-z0-9_-]+(#[0-9]+)?")
SCAN_WINDOW = 16_384
"""The most rows that a Milvus server answers to one query."""
TOKEN_WINDOW = 2000
"""Rows read at a time with their token vectors: about 6 KB each, and a message has its limit."""
_SPAN_FIELDS = ["memory", "part", "start_at", "end_at", "terms", "vector"]
_PART_FIELDS = [*_SPAN_FIELDS, "tokens"]
_RECORD_FIELDS = ["id", "tenant", "record", "text"]
_WHOLE_FIELDS = [*_SPAN_FIELDS, *_RECORD_FIELDS]
_DAY = 24 * 3600 * 1000
_LOOK_BACK = (2 * _DAY, 30 * _DAY, 0)
"""Milliseconds of creation time read at a step when listing; 0: all that is left."""


def _on_whichever_is_there(read: Callable[..., Awaitable[_Result]]) -> Callable[..., Awaitable[_Result]]:
    """A read of a collection that was dropped meanwhile is made again of the one that took its place.

    Not where that holds vectors of another model: nothing is compared with those.
    """

    @functools.wraps(read)
    async def reading(self: "MilvusIndex", *args: Any, **kwargs: Any) -> _Result:
        try:
            return await read(self, *args, **kwargs)
        except Unavailable as error:
            if not _is_missing(error.__cause__):
                raise
            await self._was_replaced(error)
            return await read(self, *args, **kwargs)

    return reading


def _is_missing(error: BaseException | None) -> bool:
    said = str(error).lower()
    return isinstance(error, MilvusException) and "collection" in said and ("not found" in said or "not exist" in said)


@dataclass
class Mirror:
    """A collection beside the live one. `failed`: it missed a change.

    `dimension`: of its own model's vectors; 0: it holds the same rows as the live one.
    """

    name: str
    failed: bool = False
    dimension: int = 0


class MilvusIndex:
    """`MemoryIndex` over one collection. Build it with `await MilvusIndex.open(...)`."""

    def __init__(self, client: AsyncMilvusClient, live: Live, timeout: float, connect: tuple[str, str]) -> None:
        self._client = client
        self._live = live
        self._connect = connect
        self._partitions: set[tuple[str, str]] = set()
        self._mirror: Mirror | None = None
        self._timeout = timeout

    @classmethod
    async def open(
        cls,
        uri: str,
        *,
        model: str,
        dimension: int,
        token: str = "",
        seconds: float = 10.0,
        create: bool = True,
    ) -> "MilvusIndex":
        """Connect, and make the collection where there is none; without `create` wait for it.

        `uri`: http://host:port, or a path ending in `.db` for Lite in this process. `seconds`:
        how long a call may take. Raises SetupError if the collection was made with another model,
        Unavailable if nothing answers.
        """
        live = await asyncio.to_thread(prepare, uri, token, model, dimension, seconds, create)
        client = AsyncMilvusClient(uri, token=token, timeout=seconds, grpc_options=CHANNEL)
        return cls(client, live, seconds, (uri, token))

    @property
    def model(self) -> str:
        """The model whose vectors it holds."""
        return self._live.model

    @property
    def dimension(self) -> int:
        return self._live.dimension

    @property
    def has_keyword(self) -> bool:
        return self._live.keyword

    @property
    def generation(self) -> str:
        """The collection that is read and written: pinned, so that vectors of two models never meet."""
        return self._live.name

    async def refresh(self) -> None:
        """Look what the alias stands for now. Raises Unavailable."""
        uri, token = self._connect
        self._live = await asyncio.to_thread(look_up, uri, token, self._timeout)

    async def _was_replaced(self, because: Exception | None = None) -> bool:
        """Whether the alias stands for another collection than the one that is read, which then is read from now on."""
        before = self._live
        await self.refresh()
        if self.model != before.model:
            raise Unavailable("the store has moved to another model: ask again") from because
        return self._live.name != before.name

    async def close(self) -> None:
        await self._client.close()

    async def ping(self) -> None:
        async with translated():  # a read: after a restart the collection is there, but not loaded
            await self._client.get(self._live.name, ids=["-"], output_fields=["part"], timeout=self._timeout)

    async def follow(self, tenant: str, mark: str | None = None) -> None:
        """Nothing is cached here."""

    async def upsert(self, rows: Sequence[tuple[Memory, Sequence[Part]]]) -> None:
        by_tenant: dict[str, list[dict[str, Any]]] = {}
        for memory, parts in rows:
            by_tenant.setdefault(memory.tenant, []).extend(rows_of(memory, parts, self.dimension))
        for tenant, batch in by_tenant.items():
            if self._mirror is not None and self._mirror.dimension:  # its rows are other ones: `copy` writes them
                await self._upsert(self._live.name, tenant, batch)
            else:
                await self._everywhere(lambda name, tenant=tenant, batch=batch: self._upsert(name, tenant, batch))  # type: ignore[misc]

    async def _upsert(self, collection: str, tenant: str, rows: list[dict[str, Any]]) -> None:
        async with translated():
            partition = await self._own_partition(tenant, collection)
            await self._client.upsert(collection, rows, partition_name=partition, timeout=self._timeout)

    async def drop_parts(self, tenant: str, id_: str, keep: int) -> None:
        await self._delete(tenant, Where((Condition("memory", "eq", id_), Condition("part", "ge", max(keep, 1)))))

    async def remove(self, tenant: str, ids: Sequence[str]) -> None:
        await self._delete(tenant, Where((Condition("memory", "in", tuple(ids)),)))

    async def _delete(self, tenant: str, where: Where) -> None:
        async def delete(collection: str) -> None:
            async with translated():
                await self._client.delete(collection, filter=expression(tenant, where), timeout=self._timeout)

        await self._everywhere(delete)

    async def _everywhere(self, change: Callable[[str], Awaitable[None]]) -> None:
        """Make a change in the collection, and in the one that is kept in step beside it."""
        await change(self._live.name)
        if self._mirror is not None and not self._mirror.failed:
            try:
                await change(self._mirror.name)
            except Unavailable:  # the write itself is done: what is being made has to be begun anew
                log.warning("the fresh collection %s missed a change", self._mirror.name)
                self._mirror.failed = True

    async def mirror(self, name: str | None, dimension: int = 0) -> None:
        """From now on make every change in this collection too; None: in none.

        `dimension`: it is of another model; what is written there then goes through `copy`.
        """
        self._mirror = Mirror(name, dimension=dimension) if name is not None else None
        self._partitions = {known for known in self._partitions if known[0] == self._live.name}  # names come again

    @property
    def mirrors(self) -> bool:
        """Whether the collection beside this one has had every change since it was begun."""
        return self._mirror is not None and not self._mirror.failed

    async def copy(self, rows: Sequence[tuple[Memory, Sequence[Part]]]) -> None:
        """Write memories into the collection beside, and nowhere else."""
        assert self._mirror is not None
        by_tenant: dict[str, list[dict[str, Any]]] = {}
        for memory, parts in rows:
            of = rows_of(memory, parts, self._mirror.dimension or self.dimension)
            by_tenant.setdefault(memory.tenant, []).extend(of)
        for tenant, batch in by_tenant.items():
            await self._upsert(self._mirror.name, tenant, batch)

    async def copied(self, tenant: str) -> dict[str, int]:
        """Version of each memory that the collection beside has."""
        assert self._mirror is not None
        where = Where((Condition("part", "eq", 0),))
        name = self._mirror.name
        if await self._known_partition(tenant, name) is None:
            return {}
        found: dict[str, int] = {}
        offset = 0
        async with translated():
            while True:
                window = await self._client.query(
                    name,
                    filter=expression(tenant, where),
                    output_fields=["memory", "version"],
                    limit=SCAN_WINDOW - 1,
                    offset=offset,
                    partition_names=[partition_name(tenant)],
                    timeout=self._timeout,
                    **_consistency(True),
                )
                found |= {row["memory"]: int(row["version"]) for row in window}
                offset += len(window)
                if len(window) < SCAN_WINDOW - 1:
                    return found

    async def nearest(self, tenant: str, vector: Vector, limit: int, *, beside: bool) -> list[str]:
        """Ids of what is nearest, here or in the collection beside: to compare what two models find."""
        name = self._mirror.name if beside and self._mirror is not None else self._live.name
        async with translated():
            [hits] = await self._client.search(
                name,
                data=[vector],
                anns_field="vector",
                filter=expression(tenant, Where((Condition("state", "eq", State.ACTIVE.value),))),
                limit=limit,
                search_params={"metric_type": "COSINE"},
                partition_names=[partition_name(tenant)],
                timeout=self._timeout,
            )
        return list(dict.fromkeys(_split(hit["id"])[0] for hit in hits))

    async def ids(self, tenant: str) -> list[str]:
        """Every memory that a tenant has rows of."""
        rows = await self._rows(tenant, Where((Condition("part", "eq", 0),)), ["memory"], fresh=True)
        return sorted(row["memory"] for row in rows)

    async def get(self, tenant: str, ids: Sequence[str], *, fresh: bool = True) -> dict[str, Memory]:
        rows = await self._by_key(tenant, ids, _RECORD_FIELDS, fresh)
        return {row["id"]: memory_of(row) for row in rows}

    async def parts(self, tenant: str, ids: Sequence[str]) -> dict[str, tuple[Part, ...]]:
        where = Where((Condition("memory", "in", tuple(ids)),))
        rows = await self._rows(tenant, where, _PART_FIELDS, fresh=True)
        found: dict[str, list[Part]] = {}
        for row in rows:
            found.setdefault(row["memory"], []).append(part_of(row))
        return {id_: tuple(sorted(parts, key=lambda p: p.number)) for id_, parts in found.items()}

    async def spans(self, tenant: str, found: Sequence[tuple[str, int]]) -> dict[tuple[str, int], Part]:
        keys = [row_id(id_, part) for id_, part in found]
        rows = await self._by_key(tenant, keys, _SPAN_FIELDS, fresh=False)
        return {(row["memory"], row["part"]): part_of(row) for row in rows}

    async def everything(
        self, tenant: str, limit: int, *, tokens: bool = False
    ) -> list[tuple[Memory, tuple[Part, ...]]] | None:
        """All memories of a tenant with their parts; None if there are more than `limit` rows."""
        rows = await self._rows(tenant, Where(), _whole_fields(tokens), fresh=True, most=limit + 1)
        return None if len(rows) > limit else _memories(rows)

    async def tokens(
        self, tenant: str, late: str, ids: Sequence[str] | None = None, *, most: int | None = None
    ) -> dict[str, Tokens] | None:
        fields = ["memory", "part", "tokens"]
        if ids is None:
            rows = await self._rows(tenant, Where(), fields, fresh=True, most=None if most is None else most + 1)
            if most is not None and len(rows) > most:
                return None
        else:
            keys = [row_id(id_, part) for id_ in ids for part in (0, 1)]
            rows = await self._by_key(tenant, keys, fields, fresh=True)
            if {row["memory"] for row in rows} < set(ids) and await self._was_replaced():
                # Written after another collection took this one's place, which is still there for a moment.
                rows = await self._by_key(tenant, keys, fields, fresh=True)
            rows += await self._further_parts(tenant, rows, fields)
        found: dict[str, list[Tokens]] = {}
        for row in sorted(rows, key=lambda r: (r["memory"], r["part"])):
            vectors, made_by = unpacked(row["tokens"])
            if vectors is not None and made_by == late:
                found.setdefault(row["memory"], []).append(vectors)
        return {id_: np.concatenate(parts) for id_, parts in found.items()}

    async def whole(
        self, tenant: str, ids: Sequence[str], *, tokens: bool = False
    ) -> list[tuple[Memory, tuple[Part, ...]]]:
        """These memories with their parts; what is not there is left out."""
        fields = _whole_fields(tokens)
        keys = [row_id(id_, part) for id_ in ids for part in (0, 1)]
        rows = await self._by_key(tenant, keys, fields, fresh=True)
        return _memories(rows + await self._further_parts(tenant, rows, fields))

    async def _further_parts(
        self, tenant: str, rows: Sequence[Mapping[str, Any]], fields: list[str]
    ) -> list[dict[str, Any]]:
        """Parts from the third on, of memories whose first two were read by key: how many, only a walk finds."""
        long = tuple(row["memory"] for row in rows if row["part"] == 1)
        if not long:
            return []
        where = Where((Condition("memory", "in", long), Condition("part", "gt", 1)))
        return await self._rows(tenant, where, fields, fresh=True)

    async def inspect(self, tenant: str, ids: Sequence[str] | None = None) -> list[Inspected]:
        where = Where() if ids is None else Where((Condition("memory", "in", tuple(ids)),))
        rows = await self._rows(tenant, where, ["*"], fresh=True)
        found: dict[str, list[dict[str, Any]]] = {}
        for row in rows:
            found.setdefault(_split(row["id"])[0], []).append(row)
        return [_inspected(id_, sorted(of, key=lambda r: r["part"])) for id_, of in found.items()]

    async def held(self, tenant: str, *, fresh: bool = False) -> None:
        """Nothing is held in memory here."""

    async def dense(self, tenant: str, where: Where, vector: Vector, limit: int, *, fresh: bool = False) -> list[Match]:
        hits = await self._search(tenant, where, vector, "vector", {"metric_type": "COSINE"}, limit, fresh)
        return [Match(id_, part, distance) for id_, part, distance in hits]

    async def keyword(
        self, tenant: str, where: Where, terms: Sequence[str], limit: int, *, fresh: bool = False
    ) -> list[Match]:
        if not self.has_keyword:
            raise Unavailable("this Milvus server has no BM25 (before 2.5): the keyword route is off")
        hits = await self._search(tenant, where, " ".join(terms), "sparse", {"metric_type": "BM25"}, limit, fresh)
        # Lite answers BM25 as a negative distance; a row that shares no term may come back as 0.
        return [Match(id_, part, abs(distance)) for id_, part, distance in hits if distance]

    async def page(
        self, tenant: str, where: Where, before: tuple[int, str] | None, limit: int
    ) -> list[tuple[int, str]]:
        first = where.also(Condition("part", "eq", 0))
        end = before[0] + 1 if before else millis(datetime.now(UTC)) + _DAY
        found: list[tuple[int, str]] = []
        # No store sorts for us, and reading all rows is slow on Lite: look back step by step.
        for span in _LOOK_BACK:
            start = end - span if span else 0
            window = first.also(Condition("created", "ge", start), Condition("created", "lt", end))
            rows = await self._rows(tenant, window, ["created", "id"], fresh=True)
            keys = ((row["created"], row["id"]) for row in rows)
            found += sorted((key for key in keys if before is None or key < before), reverse=True)
            if len(found) >= limit:
                break
            end = start
        return found[:limit]

    async def counts(self, tenant: str) -> Mapping[str, int]:
        rows = await self._rows(tenant, Where((Condition("part", "eq", 0),)), ["state"], fresh=True)
        counted = Counter({state.value: 0 for state in State})
        counted.update(row["state"] for row in rows)
        return counted

    @_on_whichever_is_there
    async def _search(
        self,
        tenant: str,
        where: Where,
        data: Any,
        field: str,
        params: dict[str, Any],
        limit: int,
        fresh: bool,
    ) -> list[tuple[str, int, float]]:
        async with translated():
            partition = await self._known_partition(tenant)
            if partition is None:
                return []
            [hits] = await self._client.search(
                self._live.name,
                data=[data],
                anns_field=field,
                filter=expression(tenant, where),
                limit=limit,
                search_params=params,
                partition_names=[partition],
                timeout=self._timeout,
                **_consistency(fresh),
            )
            return [(*_split(hit["id"]), float(hit["distance"])) for hit in hits]

    @_on_whichever_is_there
    async def _by_key(self, tenant: str, keys: Sequence[str], fields: list[str], fresh: bool) -> list[dict[str, Any]]:
        """Rows by primary key: on Lite a look-up, where an expression walks all rows."""
        keys = [key for key in keys if _KEY.fullmatch(key)]  # the client writes them into an expression as they are
        if not keys:
            return []
        async with translated():
            partition = await self._known_partition(tenant)
            if partition is None:
                return []
            return list(
                await self._client.get(
                    self._live.name,
                    ids=list(keys),
                    output_fields=fields,
                    partition_names=[partition],
                    timeout=self._timeout,
                    **_consistency(fresh),
                )
            )

    @_on_whichever_is_there
    async def _rows(
        self, tenant: str, where: Where, fields: list[str], fresh: bool, most: int | None = None
    ) -> list[dict[str, Any]]:
        """Every matching row, read in windows; with `most`, no window after so many."""
        async with translated():
            partition = await self._known_partition(tenant)
            if partition is None:
                return []
            rows: list[dict[str, Any]] = []
            offset = 0
            size = TOKEN_WINDOW if {"tokens", "*"} & set(fields) else SCAN_WINDOW - 1
            while True:
                window = await self._client.query(
                    self._live.name,
                    filter=expression(tenant, where),
                    output_fields=fields,
                    limit=size,
                    offset=offset,
                    partition_names=[partition],
                    timeout=self._timeout,
                    **_consistency(fresh),
                )
                rows += window
                offset += len(window)
                if len(window) < size or (most is not None and len(rows) >= most):
                    return rows

    async def _known_partition(self, tenant: str, collection: str | None = None) -> str | None:
        collection = collection or self._live.name
        name = partition_name(tenant)
        if (collection, name) not in self._partitions:
            if not await self._client.has_partition(collection, name, timeout=self._timeout):
                return None
            self._partitions.add((collection, name))
        return name

    async def _own_partition(self, tenant: str, collection: str) -> str:
        name = await self._known_partition(tenant, collection)
        if name is None:
            name = partition_name(tenant)
            await self._client.create_partition(collection, name, timeout=self._timeout)
            self._partitions.add((collection, name))
        return name


def _whole_fields(tokens: bool) -> list[str]:
    return [*_WHOLE_FIELDS, "tokens"] if tokens else _WHOLE_FIELDS


def _memories(rows: Sequence[Mapping[str, Any]]) -> list[tuple[Memory, tuple[Part, ...]]]:
    parts: dict[str, list[Part]] = {}
    for row in rows:
        if not is_nowhere(row):  # a tombstone's row is no part
            parts.setdefault(row["memory"], []).append(part_of(row))
    heads = [memory_of(row) for row in rows if row["part"] == 0]
    return [(m, tuple(sorted(parts.get(m.id, ()), key=lambda p: p.number))) for m in heads]


def _inspected(id_: str, rows: list[dict[str, Any]]) -> Inspected:
    head = next((row for row in rows if row["id"] == id_), None)
    if head is None:  # parts whose record is gone
        head = rows[0] | {"id": id_, "record": "", "text": ""}
    parts = tuple(part_of(row) for row in rows if not is_nowhere(row))
    return Inspected(id_, memory_of(head), parts, tuple(rows))


def partition_name(tenant: str) -> str:
    """A name that Milvus allows for any tenant, unguessably different for different ones."""
    return "t_" + hashlib.sha256(tenant.encode()).hexdigest()[:32]


def _split(key: str) -> tuple[str, int]:
    memory, _, part = key.partition("#")
    return memory, int(part or 0)


def _consistency(fresh: bool) -> dict[str, str]:
    return {"consistency_level": "Strong" if fresh else "Bounded"}


@asynccontextmanager
async def translated() -> AsyncIterator[None]:
    try:
        yield
    except (MilvusException, grpc.RpcError, grpc.aio.AioRpcError) as error:
        # The library's text can hold the filter, and with it a caller's words: keep its type only.
        raise Unavailable(f"the index did not answer: {type(error).__name__}") from error
