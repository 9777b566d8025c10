"""The keys of a store: one that identities come from and never rotates, and a ring that signs."""

import base64
import json
import os
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import StrEnum
from functools import lru_cache
from pathlib import Path
from typing import Protocol

from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from rearview_pipelines.errors import SetupError

KEY_BYTES = 32


class KeyState(StrEnum):
    ACTIVE = "active"
    """Signs, and verifies what it signed."""
    VERIFY_ONLY = "verify-only"
    REVOKED = "revoked"
    """Trusted no more: what only it vouches for is left out."""


@dataclass(frozen=True)
class KeyRing:
    """`identity` makes ids and never rotates; `masters` sign and verify by key id; `active` names who signs."""

    identity: bytes
    masters: Mapping[str, bytes]
    active: str
    revoked: frozenset[str] = frozenset()
    created: Mapping[str, str] = field(default_factory=dict)

    def __repr__(self) -> str:
        return f"KeyRing(active={self.active!r}, kids={sorted(self.masters)!r})"

    @property
    def ring(self) -> "KeyRing":
        """A ring is `Keys` too: ones that never change."""
        return self

    def knowing(self, _: str) -> "KeyRing":
        """This ring; there is nothing newer to look for."""
        return self

    def usable(self, kid: str) -> bytes | None:
        """The master key of an id, unless it is unknown or revoked."""
        return None if kid in self.revoked else self.masters.get(kid)

    def state(self, kid: str) -> KeyState:
        if kid in self.revoked:
            return KeyState.REVOKED
        return KeyState.ACTIVE if kid == self.active else KeyState.VERIFY_ONLY


class Keys(Protocol):
    """The ring as it is now; it changes when keys are rotated."""

    @property
    def ring(self) -> KeyRing: ...

    def knowing(self, kid: str) -> KeyRing:
        """The ring, read anew if it does not know the key: another process may just have made it."""
        ...


@lru_cache(maxsize=4096)
def derive(master: bytes, tenant: str, purpose: str) -> bytes:
    """A 32-byte key for one tenant and purpose: HKDF-SHA256 (RFC 5869) of the master key."""
    info = b"rearview/v1/" + purpose.encode() + b"\x00" + tenant.encode()
    return HKDF(algorithm=SHA256(), length=KEY_BYTES, salt=None, info=info).derive(master)


def new_master() -> tuple[str, bytes]:
    """(key id, 32 random bytes)."""
    return f"k{secrets.token_hex(4)}", secrets.token_bytes(KEY_BYTES)


def load_or_create(folder: Path) -> KeyRing:
    """Read the ring of a data folder, making one (mode 600) where there is none.

    Raises SetupError if the file is there and unreadable: making new keys would orphan every
    memory that the old ones signed.
    """
    path = folder / "keys.json"
    if not path.exists():
        kid, master = new_master()
        created = {kid: datetime.now(UTC).isoformat(timespec="seconds")}
        write_ring(path, KeyRing(secrets.token_bytes(KEY_BYTES), {kid: master}, kid, created=created))
    return read_ring(path)


def read_ring(path: Path) -> KeyRing:
    """Raises SetupError saying what is wrong with the file and what to do."""
    remedy = "restore it from a backup, or choose another folder with REARVIEW_DATA"
    try:
        raw = json.loads(path.read_text())
        masters = {kid: base64.b64decode(value) for kid, value in raw["masters"].items()}
        ring = KeyRing(
            base64.b64decode(raw["identity"]),
            masters,
            raw["active"],
            frozenset(raw.get("revoked", ())),
            dict(raw.get("created", {})),
        )
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise SetupError(f"the key ring {path} cannot be read; {remedy}") from error
    if ring.usable(ring.active) is None:
        raise SetupError(f"the key ring {path} holds no active key; {remedy}")
    if any(len(key) < KEY_BYTES for key in (ring.identity, *masters.values())):
        raise SetupError(f"the key ring {path} holds a key shorter than {KEY_BYTES} bytes; {remedy}")
    return ring


def write_ring(path: Path, ring: KeyRing) -> None:
    raw = {
        "identity": base64.b64encode(ring.identity).decode(),
        "active": ring.active,
        "masters": {kid: base64.b64encode(value).decode() for kid, value in ring.masters.items()},
        "revoked": sorted(ring.revoked),
        "created": dict(ring.created),
    }
    write_private(path, json.dumps(raw, indent=1))


def write_private(path: Path, content: str, *, sync: bool = True) -> None:
    """Write a file that only its owner reads, whole or not at all; with `sync`, on disk before it is named."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(descriptor, "w") as file:
            file.write(content)
            if sync:
                file.flush()
                os.fsync(file.fileno())
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
