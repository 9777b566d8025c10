"""Tokens: who holds one is whom. Kept as SHA-256 hashes; a running service sees changes in seconds.

A token is 256 random bits, so a plain hash hides it and there is nothing to stretch.
"""

import hashlib
import json
import secrets
import time
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from filelock import FileLock

from rearview_pipelines.errors import InvalidInput, NotFound, SetupError, Unauthenticated
from rearview_pipelines.fields import MAX_NAME
from rearview_pipelines.principal import Principal, Right, Role
from rearview_pipelines.write.keys import write_private

PREFIX = "rv_"
RELOAD_SECONDS = 1.0
"""How often a running service looks whether the file changed."""
NO_CREDENTIAL = "send the header `Authorization: Bearer TOKEN`; `rearview token create` makes one"


@dataclass(frozen=True)
class TokenRecord:
    """A token as it is kept: everything but the token."""

    id: str
    hash: str
    tenant: str
    role: str
    agent: str | None = None
    user: str | None = None
    rights: tuple[str, ...] = ()
    created_at: str = ""

    @property
    def principal(self) -> Principal:
        rights = frozenset(Right(r) for r in self.rights)
        return Principal(self.tenant, Role(self.role), self.agent, self.user, rights, self.id)

    def public(self) -> dict[str, Any]:
        return {k: v for k, v in vars(self).items() if k != "hash"} | {"rights": list(self.rights)}


class TokenStore:
    """The tokens of a data folder: `tokens.json`, and the first admin token in `token`."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / "tokens.json"
        self._first = folder / "token"
        self._lock = FileLock(str(folder / "tokens.lock"))
        self._by_hash: dict[str, TokenRecord] = {}
        self._stamp: tuple[int, int] | None = None
        self._looked = 0.0

    def principal(self, authorization: str | None) -> Principal:
        """Whom an Authorization header names. Raises Unauthenticated; never says what was wrong."""
        scheme, _, token = (authorization or "").partition(" ")
        if scheme.lower() != "bearer" or not token.strip():
            raise Unauthenticated(NO_CREDENTIAL)
        if time.monotonic() - self._looked >= RELOAD_SECONDS:
            self._reload()
        record = self._by_hash.get(_hash(token.strip()))
        if record is None:
            raise Unauthenticated(NO_CREDENTIAL)
        return record.principal

    def create(
        self,
        tenant: str,
        role: str,
        agent: str | None = None,
        user: str | None = None,
        rights: tuple[str, ...] = (),
    ) -> tuple[str, TokenRecord]:
        """(token, record). The token is shown this once. Raises InvalidInput naming the field."""
        for field, value in (("tenant", tenant), ("agent", agent), ("user", user)):
            if value is not None and not (value.strip() and len(value) <= MAX_NAME):
                raise InvalidInput.one(field, "is empty or too long", f"send 1 to {MAX_NAME} characters")
        if role not in set(Role):
            raise InvalidInput.one("role", f"{role!r} is not a role", f"send one of {', '.join(Role)}")
        for right in rights:
            if right not in set(Right):
                raise InvalidInput.one("right", f"{right!r} is not a right", f"send one of {', '.join(Right)}")
        token = PREFIX + secrets.token_urlsafe(32)
        record = TokenRecord(
            id=f"tok_{secrets.token_hex(6)}",
            hash=_hash(token),
            tenant=tenant,
            role=role,
            agent=agent,
            user=user,
            rights=tuple(rights),
            created_at=datetime.now(UTC).isoformat(timespec="seconds"),
        )
        with self._lock:
            self._write([*self._read(), record])
        return token, record

    def revoke(self, id_: str) -> None:
        with self._lock:
            records = self._read()
            kept = [r for r in records if r.id != id_]
            if len(kept) == len(records):
                raise NotFound("no such token")
            self._write(kept)

    def list_tokens(self) -> list[TokenRecord]:
        return self._read()

    def first_admin(self) -> str:
        """The admin token of tenant `default` in the file `token`, made where there is none."""
        if not self._first.exists():
            token, _ = self.create("default", Role.ADMIN.value)
            write_private(self._first, token + "\n")
        return self._first.read_text().strip()

    def _read(self) -> list[TokenRecord]:
        if not self._path.exists():
            return []
        try:
            raw = json.loads(self._path.read_text())
            return [TokenRecord(**(r | {"rights": tuple(r["rights"])})) for r in raw]
        except (OSError, ValueError, TypeError, KeyError) as error:
            raise SetupError(f"the token file {self._path} cannot be read; restore it or remove it") from error

    def _write(self, records: list[TokenRecord]) -> None:
        rows = [r.public() | {"hash": r.hash} for r in records]
        write_private(self._path, json.dumps(rows, indent=1))

    def _reload(self) -> None:
        self._looked = time.monotonic()
        stat = self._path.stat() if self._path.exists() else None
        stamp = (stat.st_mtime_ns, stat.st_ino) if stat else None
        if stamp != self._stamp:
            self._by_hash = {record.hash: record for record in self._read()}
            self._stamp = stamp


def _hash(token: str) -> str:
    return hashlib.sha256(token.encode()).hexdigest()
