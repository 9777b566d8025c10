"""A session's transcript: every observed turn, kept or not, scrubbed, in the object store. Never recalled.

An object an observation, named by the number of its first turn; sealed with an HMAC, so that what
reflection reads later is what was observed.
"""

import hashlib
import hmac
import json
import logging
from collections import OrderedDict
from collections.abc import Collection
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from rearview_pipelines.errors import Unavailable
from rearview_pipelines.ports import AlreadyThere, ObjectStore
from rearview_pipelines.principal import Principal
from rearview_pipelines.requests import MAX_BATCH
from rearview_pipelines.write.canonical import canonical
from rearview_pipelines.write.keys import KeyRing, Keys, derive

log = logging.getLogger(__name__)
KEPT = timedelta(days=30)
MOST = 10_000
"""Sessions whose next turn is remembered; of others it is looked up."""
_PURPOSE = "transcript"


@dataclass(frozen=True)
class Page:
    """Turns in order, and where the next page begins; None at the end."""

    turns: list[dict[str, Any]]
    next: int | None


@dataclass
class Gone:
    """Turns that were removed, and until when a lock keeps some of their bytes."""

    count: int = 0
    until: datetime | None = None
    said: list[str] = field(default_factory=list)

    def add(self, count: int, until: datetime | None) -> None:
        self.count += count
        self.until = max(filter(None, (self.until, until)), default=None)


class Transcripts:
    """The transcripts of a store. Raises Unavailable."""

    def __init__(self, store: ObjectStore, keys: Keys, kept: timedelta = KEPT) -> None:
        self._store = store
        self._kept = kept
        self._keys = keys
        self._next: OrderedDict[str, int] = OrderedDict()

    async def next_turn(self, tenant: str, session: str) -> int:
        """The number that a session's next turn has; the first is 0."""
        folder = _folder(tenant, session)
        if folder not in self._next:
            names = await self._store.keys(folder)
            last = await self._read(names[-1], tenant) if names else None
            if last is not None:
                self._next[folder] = last["first"] + last["count"]
            else:  # one that cannot be read keeps its place: nothing is written over it
                self._next[folder] = _first(names[-1]) + MAX_BATCH if names else 0
        return self._next[folder]

    async def append(self, principal: Principal, body: dict[str, Any]) -> None:
        """Add an observation: `session`, `agent`, `user`, `first`, `at`, `turns` and what they belong to."""
        tenant, session = principal.tenant, body["session"]
        body = body | {"tenant": tenant, "count": len(body["turns"])}
        try:
            await self._store.put(_key(tenant, session, body["first"]), _sealed(body, self._keys.ring), new=True)
        except AlreadyThere as error:
            self._next.pop(_folder(tenant, session), None)
            raise Unavailable("the session's transcript was written to by another: try again") from error
        self._next[_folder(tenant, session)] = body["first"] + body["count"]
        while len(self._next) > MOST:
            self._next.popitem(last=False)

    async def page(
        self,
        principal: Principal,
        session: str,
        start: int,
        limit: int,
        now: datetime,
        *,
        since: datetime | None = None,
        of: tuple[str, str] | None = None,
    ) -> Page:
        """Turns from number `start` on that the principal may see and that are not over their time.

        `since`: only what was observed from then on; `of`: only what this agent and user observed.
        """
        found: list[dict[str, Any]] = []
        for name in await self._store.keys(_folder(principal.tenant, session)):
            body = await self._read(name, principal.tenant)
            if body is None or not _sees(principal, body) or self._over(body, now):
                continue
            if since is not None and datetime.fromisoformat(body["at"]) < since:
                continue
            if of is not None and (body["agent"], body["user"]) != of:
                continue
            for turn in body["turns"]:
                if turn["turn"] < start:
                    continue
                if len(found) == limit:
                    return Page(found, turn["turn"])
                about = {k: body[k] for k in ("agent", "user", "task", "task_type") if body.get(k)}
                found.append(turn | about)
        return Page(found, None)

    async def forget(self, principal: Principal, session: str) -> Gone:
        """Remove all of a session that the principal may change."""
        gone = Gone()
        for name in await self._store.keys(_folder(principal.tenant, session)):
            body = await self._read(name, principal.tenant)
            whole = principal.agent is None and principal.user is None
            if whole if body is None else _changes(principal, body):
                gone.add(len(body["turns"]) if body else 0, await self._store.delete(name))
        return gone

    async def forget_user(self, principal: Principal, user: str) -> Gone:
        """Remove what was observed of a user, in every session, as far as the principal may change it."""
        gone = Gone()
        for name in await self.names(principal.tenant):
            body = await self._read(name, principal.tenant)
            if body is not None and body["user"] == user and _changes(principal, body):
                gone.add(len(body["turns"]), await self._store.delete(name))
        return gone

    async def expire(self, tenant: str, now: datetime) -> int:
        """Remove what is over its time; answers how many observations."""
        over = 0
        for name in await self.names(tenant):
            body = await self._read(name, tenant)
            if body is not None and self._over(body, now):
                await self._store.delete(name)
                over += 1
        return over

    async def forget_turns(self, tenant: str, session: str, ids: Collection[str]) -> Gone:
        """Take the turns out that these memories were made of."""
        gone = Gone()
        for name in await self._store.keys(_folder(tenant, session)):
            body = await self._read(name, tenant)
            if body is None:  # it may hold one of them, and nobody is ever shown it
                log.warning("transcript %s cannot be read: removed", name.rpartition("/")[2])
                await self._store.delete(name)
                continue
            kept = [turn for turn in body["turns"] if turn.get("id") not in ids]
            if len(kept) < len(body["turns"]):
                until = await self._store.put(name, _sealed(body | {"turns": kept}, self._keys.ring))
                gone.add(len(body["turns"]) - len(kept), until)
        return gone

    async def forget_numbers(self, principal: Principal, session: str, numbers: Collection[int]) -> Gone:
        """Take turns out by their numbers, as far as the principal may change them; `said` is what they said."""
        gone = Gone()
        for name in await self._store.keys(_folder(principal.tenant, session)):
            body = await self._read(name, principal.tenant)
            if body is None or not _changes(principal, body):
                continue
            kept = [turn for turn in body["turns"] if turn["turn"] not in numbers]
            if len(kept) < len(body["turns"]):
                gone.said += [turn["text"] for turn in body["turns"] if turn["turn"] in numbers]
                until = await self._store.put(name, _sealed(body | {"turns": kept}, self._keys.ring))
                gone.add(len(body["turns"]) - len(kept), until)
        return gone

    async def names(self, tenant: str) -> list[str]:
        """The objects that a tenant's transcripts are kept in."""
        return await self._store.keys(f"transcripts/{_hash(tenant)}/")

    async def reseal(self, name: str, tenant: str) -> int:
        """Seal an object with the active key, if its seal holds and is another's; answers 1 if it was."""
        raw = await self._store.get(name)
        ring = self._keys.ring
        if raw is None or _kid(raw) == ring.active or (body := _opened(raw, self._keys)) is None:
            return 0
        if body["tenant"] != tenant:
            return 0
        await self._store.put(name, _sealed(body, ring))
        return 1

    def _over(self, body: dict[str, Any], now: datetime) -> bool:
        return datetime.fromisoformat(body["at"]) + self._kept < now

    async def _read(self, name: str, tenant: str) -> dict[str, Any] | None:
        raw = await self._store.get(name)
        body = None if raw is None else _opened(raw, self._keys)
        if body is None or body["tenant"] != tenant:
            log.error("transcript %s is left out: its seal does not hold", name.rpartition("/")[2])
            return None
        return body


def _folder(tenant: str, session: str) -> str:
    return f"transcripts/{_hash(tenant)}/{_hash(session)}/"


def _key(tenant: str, session: str, first: int) -> str:
    return f"{_folder(tenant, session)}{first:010d}.json"


def _hash(name: str) -> str:
    return hashlib.sha256(name.encode()).hexdigest()[:32]


def _sees(principal: Principal, body: dict[str, Any]) -> bool:
    agent = principal.agent is None or body["agent"] == principal.agent
    return agent and (principal.user is None or body["user"] in ("", principal.user))


def _changes(principal: Principal, body: dict[str, Any]) -> bool:
    agent = principal.agent is None or body["agent"] == principal.agent
    return agent and (principal.user is None or body["user"] == principal.user)


def _first(name: str) -> int:
    return int(name.rpartition("/")[2].partition(".")[0])


def _kid(raw: bytes) -> str | None:
    try:
        return str(json.loads(raw)["kid"])
    except (ValueError, KeyError, TypeError):
        return None


def _sealed(body: dict[str, Any], ring: KeyRing) -> bytes:
    mac = _mac(ring.masters[ring.active], body)
    return json.dumps({"body": body, "kid": ring.active, "mac": mac}, ensure_ascii=False).encode()


def _opened(raw: bytes, keys: Keys) -> dict[str, Any] | None:
    try:
        sealed = json.loads(raw)
        master = keys.knowing(sealed["kid"]).usable(sealed["kid"])
        body: dict[str, Any] = sealed["body"]
        if master is None or not hmac.compare_digest(_mac(master, body), sealed["mac"]):
            return None
    except (ValueError, KeyError, TypeError):
        return None
    return body


def _mac(master: bytes, body: dict[str, Any]) -> str:
    return hmac.new(derive(master, body["tenant"], _PURPOSE), canonical(body), hashlib.sha256).hexdigest()
