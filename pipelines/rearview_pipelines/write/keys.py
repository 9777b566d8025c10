"""The keys of a store: one that identities come from and never rotates, and a ring that signs."""

import base64
import json
import os
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from rearview_pipelines.errors import SetupError

KEY_BYTES = 32


@dataclass(frozen=True)
class KeyRing:
    """`identity` makes ids; `masters` sign and verify by key id; `active` names the one that signs."""

    identity: bytes
    masters: Mapping[str, bytes]
    active: str

    def __repr__(self) -> str:
        return f"KeyRing(active={self.active!r}, kids={sorted(self.masters)!r})"


@lru_cache(maxsize=4096)
def derive(master: bytes, tenant: str, purpose: str) -> bytes:
    """A 32-byte key for one tenant and purpose: HKDF-SHA256 (RFC 5869) of the master key."""
    info = b"rearview/v1/" + purpose.encode() + b"\x00" + tenant.encode()
    return HKDF(algorithm=SHA256(), length=KEY_BYTES, salt=None, info=info).derive(master)


def load_or_create(folder: Path) -> KeyRing:
    """Read the ring of a data folder, making one (mode 600) where there is none.

    Raises SetupError if the file is there and unreadable: making new keys would orphan every
    memory that the old ones signed.
    """
    path = folder / "keys.json"
    if not path.exists():
        kid = f"k{secrets.token_hex(4)}"
        ring = {
            "identity": base64.b64encode(secrets.token_bytes(KEY_BYTES)).decode(),
            "active": kid,
            "masters": {kid: base64.b64encode(secrets.token_bytes(KEY_BYTES)).decode()},
        }
        write_private(path, json.dumps(ring, indent=1))
    try:
        raw = json.loads(path.read_text())
        masters = {kid: base64.b64decode(value) for kid, value in raw["masters"].items()}
        ring_ = KeyRing(base64.b64decode(raw["identity"]), masters, raw["active"])
        _ = ring_.masters[ring_.active]
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise SetupError(
            f"the key ring {path} cannot be read; restore it from a backup, or choose another folder with REARVIEW_DATA"
        ) from error
    return ring_


def write_private(path: Path, content: str) -> None:
    """Write a file that only its owner reads, whole or not at all, on disk before it is named."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(descriptor, "w") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
