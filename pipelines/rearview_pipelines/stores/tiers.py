"""Both tiers as one index: what is not hot is looked for in the cold tier. Searching stays each tier's own."""

from collections.abc import Mapping, Sequence

from rearview_pipelines.memory import Memory
from rearview_pipelines.ports import HeldScope, Inspected, Match, MemoryIndex, Part, Tokens, Vector, Where
from rearview_pipelines.stores.cold import ColdStore
from rearview_pipelines.stores.rows import columns_of


class TieredIndex:
    """`MemoryIndex` over a hot one and the cold tier. What is written is hot."""

    def __init__(self, hot: MemoryIndex, cold: ColdStore) -> None:
        self.hot = hot
        self.cold = cold

    async def get(self, tenant: str, ids: Sequence[str], *, fresh: bool = True) -> dict[str, Memory]:
        found = await self.hot.get(tenant, ids, fresh=fresh)
        # One that is cold may have left a row behind that has not been removed yet: the ledger says which counts.
        cold = await self.cold.get(tenant, ids)
        return found | {id_: memory for id_, (memory, _) in cold.items()}

    async def parts(self, tenant: str, ids: Sequence[str]) -> dict[str, tuple[Part, ...]]:
        found = await self.hot.parts(tenant, ids)
        return found | {id_: parts for id_, (_, parts) in (await self.cold.get(tenant, ids)).items()}

    async def page(
        self, tenant: str, where: Where, before: tuple[int, str] | None, limit: int
    ) -> list[tuple[int, str]]:
        hot = await self.hot.page(tenant, where, before, limit)
        cold = [key for key in await self.cold.page(tenant, where) if before is None or key < before]
        return sorted({*hot, *cold}, reverse=True)[:limit] if cold else hot

    async def counts(self, tenant: str) -> Mapping[str, int]:
        hot, cold = await self.hot.counts(tenant), await self.cold.counts(tenant)
        return {state: count + cold.get(state, 0) for state, count in hot.items()}

    async def inspect(self, tenant: str, ids: Sequence[str] | None = None) -> list[Inspected]:
        hot = await self.hot.inspect(tenant, ids)
        wanted = await self.cold.matching(tenant, Where()) if ids is None else ids
        cold = await self.cold.get(tenant, wanted)
        rows = [Inspected(id_, memory, parts, (columns_of(memory),)) for id_, (memory, parts) in cold.items()]
        return [row for row in hot if row.id not in cold] + rows

    @property
    def model(self) -> str | None:
        return self.hot.model

    @property
    def generation(self) -> str:
        return self.hot.generation

    @property
    def dimension(self) -> int:
        return self.hot.dimension

    async def refresh(self) -> None:
        await self.hot.refresh()

    async def follow(self, tenant: str, mark: str | None = None) -> None:
        await self.hot.follow(tenant, mark)

    async def upsert(self, rows: Sequence[tuple[Memory, Sequence[Part]]]) -> None:
        await self.hot.upsert(rows)

    async def drop_parts(self, tenant: str, id_: str, keep: int) -> None:
        await self.hot.drop_parts(tenant, id_, keep)

    async def remove(self, tenant: str, ids: Sequence[str]) -> None:
        await self.hot.remove(tenant, ids)

    async def ids(self, tenant: str) -> list[str]:
        return sorted({*await self.hot.ids(tenant), *await self.cold.matching(tenant, Where())})

    async def spans(self, tenant: str, found: Sequence[tuple[str, int]]) -> dict[tuple[str, int], Part]:
        return await self.hot.spans(tenant, found)

    async def tokens(
        self, tenant: str, late: str, ids: Sequence[str] | None = None, *, most: int | None = None
    ) -> dict[str, Tokens] | None:
        return await self.hot.tokens(tenant, late, ids, most=most)

    async def held(self, tenant: str, *, fresh: bool = False) -> HeldScope | None:
        return await self.hot.held(tenant, fresh=fresh)

    async def dense(self, tenant: str, where: Where, vector: Vector, limit: int, *, fresh: bool = False) -> list[Match]:
        return await self.hot.dense(tenant, where, vector, limit, fresh=fresh)

    async def keyword(
        self, tenant: str, where: Where, terms: Sequence[str], limit: int, *, fresh: bool = False
    ) -> list[Match]:
        return await self.hot.keyword(tenant, where, terms, limit, fresh=fresh)

    async def ping(self) -> None:
        await self.hot.ping()
