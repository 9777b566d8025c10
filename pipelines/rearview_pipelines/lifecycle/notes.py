"""What a job remembers of a tenant between its runs: a few words in the object store."""

import json
from collections.abc import Mapping

from rearview_pipelines.ports import ObjectStore
from rearview_pipelines.stores.packing import tenant_hash


class Notes:
    """`kind` names the folder that they lie in. One writer: a note is read and written back."""

    def __init__(self, objects: ObjectStore, kind: str) -> None:
        self._objects = objects
        self._kind = kind

    def _key(self, tenant: str) -> str:
        return f"{self._kind}/{tenant_hash(tenant)}.json"

    async def of(self, tenant: str) -> dict[str, str]:
        """What is noted; empty if nothing is."""
        raw = await self._objects.get(self._key(tenant))
        return dict(json.loads(raw)) if raw else {}

    async def add(self, tenant: str, what: Mapping[str, str]) -> None:
        """Note this too; what bears the same name is replaced."""
        await self._objects.put(self._key(tenant), json.dumps({**await self.of(tenant), **what}).encode())
