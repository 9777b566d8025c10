"""The cold tier: memories that are rarely wanted, in the object store, findable by their words.

A segment holds memories of one tenant and month, whole; beside it lies its digest: what filters look at and the
words, so that a search reads no segment before it knows what it wants. The head of the ledger says which copy of a
memory counts; any other is left over and is dropped when its segment is written anew.
"""

import asyncio
import json
import logging
import math
import secrets
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from rearview_pipelines.ledger.head import Head
from rearview_pipelines.memory import Memory, State
from rearview_pipelines.ports import ObjectStore, Part, Where
from rearview_pipelines.stores.packing import NotAsSealed, Row, packed, sealed, tenant_hash, unpacked_rows, unsealed
from rearview_pipelines.stores.rows import columns_of, matches
from rearview_pipelines.write.keys import Keys
from rearview_pipelines.write.signing import sign, verified_digest

log = logging.getLogger(__name__)
SEGMENT, DIGEST = "cold", "cold-digest"
SEGMENTS_HELD = 8
"""Segments whose memories stay unpacked in this process."""
READS = 8
"""Objects read at once."""
Segment = Mapping[str, tuple[Memory, tuple[Part, ...]]]


@dataclass(frozen=True)
class Member:
    """One memory of a segment: where it lies, which version, what filters look at."""

    segment: str
    version: int
    columns: Mapping[str, Any]
    words: Mapping[str, int]


@dataclass
class Shelf:
    """What this process knows of a tenant's cold tier. `heard`: moves of the ledger that it has taken in."""

    heard: int = -1
    segments: dict[str, list[str]] = field(default_factory=dict)
    members: dict[str, Member] = field(default_factory=dict)
    postings: defaultdict[str, set[str]] = field(default_factory=lambda: defaultdict(set))


@dataclass
class Rewritten:
    """What writing segments anew did: copies dropped, and until when a lock keeps what was there."""

    dropped: int = 0
    kept_until: datetime | None = None


class ColdStore:
    """The cold tier of a store. `head` answers the ledger's as this process knows it. Raises Unavailable."""

    def __init__(self, objects: ObjectStore, keys: Keys, head: Callable[[], Head]) -> None:
        self.objects = objects
        self._keys = keys
        self._head = head
        self._shelves: dict[str, Shelf] = {}
        self._held: OrderedDict[str, Segment] = OrderedDict()
        self._locks: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)
        self._rewriting = asyncio.Lock()

    async def put(self, tenant: str, rows: Sequence[Row]) -> None:
        """Write memories that are signed as cold; none is there before the ledger says so."""
        by_month: defaultdict[str, list[Row]] = defaultdict(list)
        for memory, parts in rows:
            by_month[(memory.occurred_at or memory.created_at).astimezone(UTC).strftime("%Y-%m")].append(
                (memory, parts)
            )
        for month, of_month in by_month.items():
            await self._write(tenant, f"{_folder(tenant)}{month}/{secrets.token_hex(12)}", of_month)

    async def get(self, tenant: str, ids: Collection[str]) -> dict[str, tuple[Memory, tuple[Part, ...]]]:
        """Those of these memories that lie here now, verified."""
        head = self._head()
        wanted = [id_ for id_ in ids if (held := head.get(tenant, id_)) is not None and held.cold]
        found: dict[str, tuple[Memory, tuple[Part, ...]]] = {}
        for again in (False, True):  # a segment may have been written anew since this process looked
            missing = [id_ for id_ in wanted if id_ not in found]
            if not missing:
                break
            shelf = await self._shelf(tenant, again=again)
            segments = {shelf.members[id_].segment for id_ in missing if id_ in shelf.members}
            for segment in sorted(segments):
                rows = await self._read(tenant, segment)
                found |= {id_: rows[id_] for id_ in missing if id_ in rows and self._counts(rows[id_][0])}
        for id_ in wanted:
            if id_ not in found:
                log.error("memory %s is recorded as cold and cannot be read", id_)
        return found

    def _counts(self, memory: Memory) -> bool:
        """Whether a copy is the one that the ledger names."""
        recorded = self._head().get(memory.tenant, memory.id)
        if recorded is None or not recorded.cold:
            return False
        return recorded.vouches(memory.version, verified_digest(memory, self._keys))

    async def matching(self, tenant: str, where: Where) -> list[str]:
        """Ids of cold memories that pass a filter."""
        if not self._head().cold(tenant):
            return []
        shelf = await self._shelf(tenant)
        return [
            id_ for id_, member in shelf.members.items() if self._is_here(tenant, id_, member) and _fits(member, where)
        ]

    async def page(self, tenant: str, where: Where) -> list[tuple[int, str]]:
        """(created, id) of the same."""
        ids = await self.matching(tenant, where)
        members = self._shelves[tenant].members if ids else {}
        return [(int(members[id_].columns["created"]), id_) for id_ in ids]

    async def counts(self, tenant: str) -> Mapping[str, int]:
        """Cold memories by state."""
        found: defaultdict[str, int] = defaultdict(int)
        for _, recorded in self._head().of_tenant(tenant):
            if recorded.cold:
                found[recorded.state.value] += 1
        return found

    async def search(self, tenant: str, where: Where, terms: Sequence[str], limit: int) -> list[tuple[str, float]]:
        """(id, share of the query's rarity that its words hold), best first: which cold memories may answer."""
        if not terms or not self._head().cold(tenant):
            return []
        shelf = await self._shelf(tenant)
        count = len(shelf.members)
        # A word that is nowhere here is no rarer than one that is once: in a small tier it would outweigh all others.
        seen = {term: max(1, len(shelf.postings.get(term, ()))) for term in dict.fromkeys(terms)}
        rarity = {term: math.log(1 + count / (0.5 + held)) for term, held in seen.items()}
        whole = sum(rarity.values())
        shares: defaultdict[str, float] = defaultdict(float)
        for term, worth in rarity.items():
            for id_ in shelf.postings.get(term, ()):
                shares[id_] += worth / whole if whole else 0.0
        best = sorted(shares.items(), key=lambda pair: (-pair[1], pair[0]))
        found = []
        for id_, share in best:
            member = shelf.members[id_]
            if self._is_here(tenant, id_, member) and _fits(member, where):
                found.append((id_, share))
                if len(found) == limit:
                    break
        return found

    def _is_here(self, tenant: str, id_: str, member: Member) -> bool:
        recorded = self._head().get(tenant, id_)
        return recorded is not None and recorded.cold and recorded.version == member.version

    async def rewrite(self, tenant: str, *, ids: Collection[str] = (), least: float = 0.0) -> Rewritten:
        """Write segments anew without what is left over.

        Those that hold one of `ids`, and those of which a share under `least` still counts.
        """
        async with self._rewriting:
            return await self._rewritten(tenant, ids, least)

    async def _rewritten(self, tenant: str, ids: Collection[str], least: float) -> Rewritten:
        done = Rewritten()
        if not self._head().archived(tenant):
            return done
        shelf = await self._shelf(tenant, again=True)
        for segment, members in list(shelf.segments.items()):
            live = [id_ for id_ in members if self._is_in(tenant, id_, segment, shelf)]
            if not set(ids) & set(members) and (len(members) == 0 or len(live) / len(members) >= least):
                continue
            rows = await self._read(tenant, segment)
            kept = [rows[id_] for id_ in live if id_ in rows]
            if kept:  # first the new one: a crash in between leaves both, and the head says which copy counts
                await self._write(tenant, f"{segment.rpartition('/')[0]}/{secrets.token_hex(12)}", kept)
            await self._drop(segment, done)
            done.dropped += len(members) - len(kept)
        self._shelves.pop(tenant, None)
        return done

    def _is_in(self, tenant: str, id_: str, segment: str, shelf: Shelf) -> bool:
        member = shelf.members.get(id_)
        return member is not None and member.segment == segment and self._is_here(tenant, id_, member)

    async def holding(self, tenant: str, ids: Collection[str]) -> int:
        """How many of these have a copy here, one that counts or one left over."""
        if not self._head().archived(tenant):
            return 0
        shelf = await self._shelf(tenant)
        return len({id_ for members in shelf.segments.values() for id_ in members} & set(ids))

    async def resign(self, tenant: str) -> int:
        """Sign and seal anew what is not under the active key; answers how many memories."""
        async with self._rewriting:
            return await self._resigned(tenant)

    async def _resigned(self, tenant: str) -> int:
        done = 0
        active = self._keys.ring.active
        for segment in list((await self._shelf(tenant, again=True)).segments):
            rows = await self._read(tenant, segment)
            if all(m.signature is not None and m.signature.kid == active for m, _ in rows.values()):
                continue
            fresh = [(sign(m, self._keys.ring), parts) for m, parts in rows.values() if self._counts(m)]
            if fresh:
                await self._write(tenant, f"{segment.rpartition('/')[0]}/{secrets.token_hex(12)}", fresh)
            await self._drop(segment, Rewritten())
            done += len(fresh)
        self._shelves.pop(tenant, None)
        return done

    async def _write(self, tenant: str, name: str, rows: Sequence[Row]) -> None:
        digest = {memory.id: [memory.version, columns_of(memory), _words(parts)] for memory, parts in rows}
        ring, about = self._keys.ring, {"count": len(rows)}
        # The digest last: what has none is no segment yet.
        await self.objects.put(f"{name}.seg", sealed(SEGMENT, tenant, about, packed(rows), ring), new=True)
        body = json.dumps(digest, ensure_ascii=False, separators=(",", ":")).encode()
        await self.objects.put(f"{name}.dig", sealed(DIGEST, tenant, about, body, ring), new=True)

    async def _drop(self, segment: str, done: Rewritten) -> None:
        for ending in (".dig", ".seg"):
            until = await self.objects.delete(segment + ending)
            if until is not None:
                done.kept_until = max(done.kept_until or until, until)
        self._held.pop(segment, None)

    async def _read(self, tenant: str, segment: str) -> Segment:
        if segment in self._held:
            self._held.move_to_end(segment)
            return self._held[segment]
        raw = await self.objects.get(f"{segment}.seg")
        rows: dict[str, tuple[Memory, tuple[Part, ...]]] = {}
        try:
            if raw is not None:
                _, body = unsealed(SEGMENT, tenant, raw, self._keys)
                for memory, parts in await asyncio.to_thread(lambda: list(unpacked_rows(body))):
                    rows[memory.id] = (memory, tuple(parts))
        except NotAsSealed as error:
            log.error("cold segment %s is left out: %s", segment.rpartition("/")[2], error.why)
        self._held[segment] = rows
        while len(self._held) > SEGMENTS_HELD:
            self._held.popitem(last=False)
        return rows

    async def _shelf(self, tenant: str, *, again: bool = False) -> Shelf:
        """The tenant's shelf in step with the head; `again`: the store is listed whatever the head says."""
        heard = self._head().archived(tenant)
        shelf = self._shelves.get(tenant)
        if shelf is not None and shelf.heard == heard and not again:
            return shelf
        async with self._locks[tenant]:
            shelf = self._shelves.get(tenant) or Shelf()
            if shelf.heard == heard and not again and tenant in self._shelves:
                return shelf
            names = {k.removesuffix(".dig") for k in await self.objects.keys(_folder(tenant)) if k.endswith(".dig")}
            if set(shelf.segments) - names:
                shelf = Shelf()  # some were written anew
            gate = asyncio.Semaphore(READS)

            async def load(name: str) -> None:
                async with gate:
                    await self._take(tenant, name, shelf)

            await asyncio.gather(*(load(name) for name in sorted(names - set(shelf.segments))))
            shelf.heard = heard
            self._shelves[tenant] = shelf
            return shelf

    async def _take(self, tenant: str, name: str, shelf: Shelf) -> None:
        raw = await self.objects.get(f"{name}.dig")
        if raw is None:
            return
        try:
            _, body = unsealed(DIGEST, tenant, raw, self._keys)
        except NotAsSealed as error:
            log.error("cold digest %s is left out: %s", name.rpartition("/")[2], error.why)
            return
        digest = json.loads(body)
        shelf.segments[name] = list(digest)
        for id_, (version, columns, words) in digest.items():
            before = shelf.members.get(id_)
            if before is not None:
                if before.version > version:
                    continue  # a copy that was thawed and archived again counts by its version
                for word in before.words:
                    shelf.postings[word].discard(id_)
            shelf.members[id_] = Member(name, version, columns, words)
            for word in words:
                shelf.postings[word].add(id_)


def _folder(tenant: str) -> str:
    return f"cold/{tenant_hash(tenant)}/"


def _words(parts: Sequence[Part]) -> dict[str, int]:
    counted: dict[str, int] = {}
    for part in parts:
        for word in part.terms.split():
            counted[word] = counted.get(word, 0) + 1
    return counted


def _fits(member: Member, where: Where) -> bool:
    return member.columns["state"] != State.FORGOTTEN.value and matches(where, {**member.columns, "part": 0})
