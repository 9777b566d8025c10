"""Snapshots: all memories of a tenant, hot and cold, as they are signed; and what was forgotten, by id.

Parts hold some hundred memories each and say by id which, so that forgetting writes only those parts anew. The
manifest, written last, names every part by its hash: a snapshot that was cut or altered is refused before anything is
restored.
"""

import asyncio
import hashlib
import json
import logging
import secrets
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from weakref import WeakValueDictionary

from rearview_pipelines.errors import Conflict, NotFound
from rearview_pipelines.ports import ObjectStore
from rearview_pipelines.stores.packing import (
    NotAsSealed,
    Row,
    about,
    packed,
    sealed,
    tenant_hash,
    unpacked_rows,
    unsealed,
)
from rearview_pipelines.write.keys import Keys

log = logging.getLogger(__name__)
PART, MANIFEST = "snapshot-part", "snapshot"
PART_ROWS = 250
KEPT = 7
"""Snapshots of a tenant that are kept."""
HEAD_BYTES = 2**15
"""Of a part, enough to read which ids it holds."""
READS = 8


@dataclass
class Manifest:
    """`seq`: batch of the ledger that it began after. `parts`: name to SHA-256. `forgotten`: ids."""

    name: str
    at: str
    seq: int
    count: int = 0
    parts: dict[str, str] = field(default_factory=dict)
    forgotten: list[str] = field(default_factory=list)


class Snapshots:
    """Snapshots of a store. Raises Unavailable."""

    def __init__(self, objects: ObjectStore, keys: Keys) -> None:
        self._objects = objects
        self._keys = keys

    def begin(self, at: datetime, seq: int) -> Manifest:
        name = f"{at.astimezone(UTC):%Y%m%dT%H%M%SZ}-{secrets.token_hex(3)}"
        return Manifest(name, at.astimezone(UTC).isoformat(), seq)

    async def add(self, tenant: str, manifest: Manifest, rows: Sequence[Row]) -> None:
        """One part more."""
        name = f"part-{len(manifest.parts) + 1:06d}"
        raw = await asyncio.to_thread(self._part, tenant, rows)
        await self._objects.put(f"{_folder(tenant, manifest.name)}{name}.snap", raw)
        manifest.parts[name] = hashlib.sha256(raw).hexdigest()
        manifest.count += len(rows)

    def _part(self, tenant: str, rows: Sequence[Row]) -> bytes:
        ids = {"ids": [memory.id for memory, _ in rows]}
        return sealed(PART, tenant, ids, packed(rows), self._keys.ring)

    async def end(self, tenant: str, manifest: Manifest) -> datetime | None:
        """Write the manifest: from now on it is a snapshot."""
        body = json.dumps(vars(manifest)).encode()
        raw = sealed(MANIFEST, tenant, {"name": manifest.name}, body, self._keys.ring)
        return await self._objects.put(f"{_folder(tenant, manifest.name)}manifest.snap", raw)

    async def names(self, tenant: str, *, whole: bool = True) -> list[str]:
        """Snapshots, oldest first; with `whole` of False, those that were not finished too."""
        keys = await self._objects.keys(_top(tenant))
        if whole:
            keys = [key for key in keys if key.endswith("/manifest.snap")]
        return sorted({key.split("/")[2] for key in keys})

    async def read(self, tenant: str, name: str) -> Manifest:
        """Raises NotFound, or Conflict saying what is wrong with it."""
        if name == "latest":
            names = await self.names(tenant)
            if not names:
                raise NotFound("no snapshot")
            name = names[-1]
        if not all(c.isalnum() or c == "-" for c in name) or not name:
            raise NotFound("no such snapshot")
        raw = await self._objects.get(f"{_folder(tenant, name)}manifest.snap")
        if raw is None:
            raise NotFound("no such snapshot")
        try:
            _, body = unsealed(MANIFEST, tenant, raw, self._keys)
            manifest = Manifest(**json.loads(body))
        except (NotAsSealed, TypeError, ValueError) as error:
            raise Conflict(f"snapshot {name} cannot be used: {_why(error)}") from error
        if manifest.name != name:
            raise Conflict(f"snapshot {name} cannot be used: its manifest is another's")
        return manifest

    async def check(self, tenant: str, manifest: Manifest) -> None:
        """Raises Conflict unless every part is there as it was written."""
        for part in manifest.parts:
            await self._raw(tenant, manifest, part)

    async def rows(self, tenant: str, manifest: Manifest, part: str) -> list[Row]:
        """Raises Conflict if the part is not as it was written."""
        raw = await self._raw(tenant, manifest, part)
        try:
            _, body = unsealed(PART, tenant, raw, self._keys)
            return await asyncio.to_thread(lambda: list(unpacked_rows(body)))
        except NotAsSealed as error:
            raise Conflict(f"snapshot {manifest.name} cannot be used: {part}: {error.why}") from error

    async def _raw(self, tenant: str, manifest: Manifest, part: str) -> bytes:
        raw = await self._objects.get(f"{_folder(tenant, manifest.name)}{part}.snap")
        if raw is None:
            raise Conflict(f"snapshot {manifest.name} cannot be used: {part} is missing")
        if hashlib.sha256(raw).hexdigest() != manifest.parts[part]:
            raise Conflict(f"snapshot {manifest.name} cannot be used: {part} is not as it was written")
        return raw

    async def prune(self, tenant: str, kept: int = KEPT) -> int:
        """Remove all but the newest, and what was never finished; answers how many."""
        finished = await self.names(tenant)
        good = set(finished[-kept:])
        newest = finished[-1] if finished else ""
        # One that is not finished and newer than the last that is may be under way.
        over = [
            name
            for name in await self.names(tenant, whole=False)
            if name not in good and (name in finished or name < newest)
        ]
        for name in over:
            await self._remove(tenant, name)
        return len(over)

    async def _remove(self, tenant: str, name: str) -> None:
        keys = await self._objects.keys(_folder(tenant, name))
        for key in sorted(keys, key=lambda k: not k.endswith("/manifest.snap")):  # first what makes it a snapshot
            await self._objects.delete(key)

    async def holding(self, tenant: str, ids: Collection[str]) -> dict[str, list[str]]:
        """By snapshot, finished or not, its parts that hold one of these memories."""
        wanted, found = set(ids), dict[str, list[str]]()
        gate = asyncio.Semaphore(READS)

        async def look(key: str) -> None:
            async with gate:
                held = await self._ids(key)
            if held is None or wanted & held:  # one that cannot be read may hold them
                found.setdefault(key.split("/")[2], []).append(key.rpartition("/")[2].removesuffix(".snap"))

        keys = [key for key in await self._objects.keys(_top(tenant)) if "/part-" in key]
        await asyncio.gather(*(look(key) for key in keys))
        return {name: sorted(parts) for name, parts in sorted(found.items())}

    async def _ids(self, key: str) -> set[str] | None:
        start = await self._objects.slice(key, 0, HEAD_BYTES)
        try:
            return set(about(start or b"")["ids"])
        except (NotAsSealed, KeyError, TypeError):
            return None

    async def forget(self, tenant: str, ids: Collection[str], *, under_way: bool = False) -> datetime | None:
        """Write the parts that hold these memories anew without them; answers until when a lock keeps some.

        `under_way`: one is being written, which looks at its end what was forgotten meanwhile.
        A part that cannot be read is removed with its whole snapshot: it may hold one of them.
        """
        async with _writing(tenant):
            return await self._forgotten(tenant, ids, under_way)

    async def _forgotten(self, tenant: str, ids: Collection[str], under_way: bool) -> datetime | None:
        until: datetime | None = None
        for name, parts in (await self.holding(tenant, ids)).items():
            try:
                manifest = await self.read(tenant, name)
            except NotFound:  # never finished
                if not under_way:
                    await self._remove(tenant, name)
                continue
            except Conflict:
                log.warning("snapshot %s cannot be read: removed", name)
                await self._remove(tenant, name)
                continue
            for part in parts:
                try:
                    rows = [row for row in await self.rows(tenant, manifest, part) if row[0].id not in set(ids)]
                except Conflict:
                    log.warning("snapshot %s cannot be read: removed", name)
                    await self._remove(tenant, name)
                    break
                kept = await self._swap(tenant, manifest, part, rows, ids)
                until = max(filter(None, (until, kept)), default=None)
        return until

    async def _swap(
        self, tenant: str, manifest: Manifest, part: str, rows: Sequence[Row], forgotten: Collection[str]
    ) -> datetime | None:
        """A part under another name with these rows, in the place of the old one: a crash leaves one or the other."""
        raw = await asyncio.to_thread(self._part, tenant, rows)
        fresh = f"{part[: len('part-000000')]}-{secrets.token_hex(4)}"
        await self._objects.put(f"{_folder(tenant, manifest.name)}{fresh}.snap", raw)
        parts = {fresh if name == part else name: value for name, value in manifest.parts.items()}
        manifest.parts = parts | {fresh: hashlib.sha256(raw).hexdigest()}
        manifest.forgotten = sorted({*manifest.forgotten, *forgotten})
        held = await self.end(tenant, manifest)
        gone = await self._objects.delete(f"{_folder(tenant, manifest.name)}{part}.snap")
        return max(filter(None, (held, gone)), default=None)

    async def reseal(self, tenant: str) -> int:
        """Seal anew what is not under the active key; answers how many snapshots."""
        async with _writing(tenant):
            return await self._resealed(tenant)

    async def _resealed(self, tenant: str) -> int:
        done = 0
        active = self._keys.ring.active
        for name in await self.names(tenant):
            try:
                manifest = await self.read(tenant, name)
                kids = {part: about(await self._raw(tenant, manifest, part))["kid"] for part in manifest.parts}
                stale = [part for part, kid in kids.items() if kid != active]
                for part in stale:
                    rows = await self.rows(tenant, manifest, part)
                    await self._swap(tenant, manifest, part, rows, ())
            except Conflict as error:
                log.error("a snapshot is not sealed anew: %s", error.detail)
                continue
            if stale:
                done += 1
        return done


_locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()


def _writing(tenant: str) -> asyncio.Lock:
    """Held while snapshots of a tenant are written anew: a manifest is read, changed and written back."""
    return _locks.setdefault(tenant, asyncio.Lock())


def _why(error: Exception) -> str:
    return error.why if isinstance(error, NotAsSealed) else "its manifest cannot be read"


def _top(tenant: str) -> str:
    return f"snapshots/{tenant_hash(tenant)}/"


def _folder(tenant: str, name: str) -> str:
    return f"{_top(tenant)}{name}/"
