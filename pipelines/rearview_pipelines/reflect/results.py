"""What reflections found, as callers ask for it; apart from the job's record, because this holds words of episodes.

Sealed like everything that holds words, and emptied when an episode that it speaks of is forgotten.
"""

import json
import logging
from collections.abc import Collection
from dataclasses import asdict, dataclass, field

from rearview_pipelines.ports import ObjectStore
from rearview_pipelines.stores.packing import NotAsSealed, sealed, tenant_hash, unsealed
from rearview_pipelines.write.keys import Keys

log = logging.getLogger(__name__)
KIND = "reflection"


@dataclass
class Result:
    """`sources`: ids of the episodes that were looked at. `by`: who asked, by the id of the credential."""

    id: str
    by: str
    mode: str = "extractive"
    lessons: list[str] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    improvements: list[str] = field(default_factory=list)
    skipped: dict[str, int] = field(default_factory=dict)
    sources: list[str] = field(default_factory=list)


class Results:
    """Raises Unavailable."""

    def __init__(self, objects: ObjectStore, keys: Keys) -> None:
        self._objects = objects
        self._keys = keys

    async def put(self, tenant: str, result: Result) -> None:
        body = json.dumps(asdict(result), ensure_ascii=False).encode()
        await self._objects.put(_key(tenant, result.id), sealed(KIND, tenant, {}, body, self._keys.ring))

    async def get(self, tenant: str, id_: str) -> Result | None:
        return await self._read(tenant, _key(tenant, id_))

    async def forget(self, tenant: str, ids: Collection[str]) -> int:
        """Empty what speaks of these episodes; answers how many results."""
        gone, wanted = 0, set(ids)
        for key in await self._objects.keys(f"reflections/{tenant_hash(tenant)}/"):
            result = await self._read(tenant, key)
            if result is None:
                await self._objects.delete(key)
            elif wanted & {*result.sources, *result.lessons}:
                result.errors, result.improvements = [], []
                result.lessons = [id_ for id_ in result.lessons if id_ not in wanted]
                result.sources = [id_ for id_ in result.sources if id_ not in wanted]
                await self.put(tenant, result)
                gone += 1
        return gone

    async def _read(self, tenant: str, key: str) -> Result | None:
        raw = await self._objects.get(key)
        if raw is None:
            return None
        try:
            _, body = unsealed(KIND, tenant, raw, self._keys)
            return Result(**json.loads(body))
        except (NotAsSealed, ValueError, TypeError) as error:
            log.error("the result of a reflection is left out: %s", type(error).__name__)
            return None


def _key(tenant: str, id_: str) -> str:
    return f"reflections/{tenant_hash(tenant)}/{id_}.json"
