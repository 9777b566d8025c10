"""Working memory as it is kept: one sealed object a session and holder, with a version to compare and swap by.

Kept by the writer. What nobody touched for the idle time is as if it were not there.
"""

import hashlib
import json
import logging
from collections.abc import Collection
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from rearview_pipelines.ports import ObjectStore
from rearview_pipelines.principal import Principal
from rearview_pipelines.sessions.state import State, without
from rearview_pipelines.stores.packing import NotAsSealed, sealed, tenant_hash, unsealed
from rearview_pipelines.write.keys import Keys

log = logging.getLogger(__name__)
IDLE = timedelta(minutes=30)
KIND = "session"


@dataclass(frozen=True)
class Session:
    """A session's working memory. `turns`: ids of the memories that its turns became. `ended`: it was summed up."""

    session: str
    agent: str
    user: str
    version: int
    state: State
    started_at: datetime
    updated_at: datetime
    task: str | None = None
    task_type: str | None = None
    seeds: tuple[str, ...] = ()
    turns: tuple[str, ...] = ()
    ended: bool = False


class WorkingMemory:
    """Raises Unavailable."""

    def __init__(self, objects: ObjectStore, keys: Keys, idle: timedelta = IDLE) -> None:
        self._objects = objects
        self._keys = keys
        self.idle = idle

    async def get(self, tenant: str, session: str, agent: str, user: str, now: datetime) -> Session | None:
        """The session of this holder, unless it was idle for too long."""
        held = await self._read(tenant, _key(tenant, session, agent, user))
        return held if held is not None and held.updated_at + self.idle > now else None

    async def put(self, tenant: str, session: Session) -> Session:
        """Keep it as its next version."""
        kept = replace(session, version=session.version + 1)
        key = _key(tenant, kept.session, kept.agent, kept.user)
        # It outlives the process; a power loss takes the last minutes of a state that lives half an hour.
        await self._objects.put(key, _sealed(tenant, kept, self._keys), fleeting=True)
        return kept

    async def forget(self, principal: Principal, session: str | None, user: str | None) -> int:
        """Remove states of a session, or of a user, as far as the principal may change them; answers how many."""
        gone = 0
        for key in await self._objects.keys(_folder(principal.tenant, session)):
            held = await self._read(principal.tenant, key)
            if held is None:
                await self._objects.delete(key)
                continue
            theirs = principal.agent is None or held.agent == principal.agent
            theirs = theirs and (principal.user is None or held.user == principal.user)
            if theirs and (user is None or held.user == user):
                await self._objects.delete(key)
                gone += 1
        return gone

    async def scrub(self, tenant: str, session: str | None, texts: Collection[str], ids: Collection[str]) -> int:
        """Take out what these texts said, in one session or in all; answers how many states changed."""
        changed = 0
        for key in await self._objects.keys(_folder(tenant, session)):
            held = await self._read(tenant, key)
            if held is None:
                continue
            state = without(held.state, list(texts))
            turns = tuple(id_ for id_ in held.turns if id_ not in ids)
            seeds = tuple(id_ for id_ in held.seeds if id_ not in ids)
            if (state, turns, seeds) != (held.state, held.turns, held.seeds):
                kept = replace(held, state=state, turns=turns, seeds=seeds, version=held.version + 1)
                await self._objects.put(key, _sealed(tenant, kept, self._keys))
                changed += 1
        return changed

    async def expire(self, tenant: str, now: datetime) -> int:
        """Remove what is over its time; answers how many."""
        gone = 0
        for key in await self._objects.keys(_folder(tenant, None)):
            held = await self._read(tenant, key)
            if held is None or held.updated_at + self.idle <= now:
                await self._objects.delete(key)
                gone += 1
        return gone

    async def _read(self, tenant: str, key: str) -> Session | None:
        raw = await self._objects.get(key)
        if raw is None:
            return None
        try:
            _, body = unsealed(KIND, tenant, raw, self._keys)
            return _session(json.loads(body))
        except (NotAsSealed, ValueError, KeyError, TypeError) as error:
            log.error("the working memory of a session is left out: %s", type(error).__name__)
            return None


def _sealed(tenant: str, session: Session, keys: Keys) -> bytes:
    body = vars(session) | {
        "state": session.state.model_dump(mode="json"),
        "started_at": session.started_at.isoformat(),
        "updated_at": session.updated_at.isoformat(),
    }
    return sealed(KIND, tenant, {}, json.dumps(body, ensure_ascii=False).encode(), keys.ring)


def _session(body: dict[str, Any]) -> Session:
    return Session(
        **body
        | {
            "state": State.model_validate(body["state"]),
            "started_at": datetime.fromisoformat(body["started_at"]),
            "updated_at": datetime.fromisoformat(body["updated_at"]),
            "seeds": tuple(body["seeds"]),
            "turns": tuple(body["turns"]),
        }
    )


def _folder(tenant: str, session: str | None) -> str:
    top = f"sessions/{tenant_hash(tenant)}/"
    return top if session is None else f"{top}{_hash(session)}/"


def _key(tenant: str, session: str, agent: str, user: str) -> str:
    return f"{_folder(tenant, session)}{_hash(json.dumps([agent, user]))}.json"


def _hash(name: str) -> str:
    return hashlib.sha256(name.encode()).hexdigest()[:32]
