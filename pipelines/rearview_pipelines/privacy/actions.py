"""What becomes of a span: replaced, masked, hashed, encrypted; and how an encrypted value is read again.

Ours and not Presidio's operators, because a hash has to be keyed and stable for a tenant, and a token
has to name its key, so that it can still be read after a rotation and not at all after a revocation.
"""

import base64
import hashlib
import hmac
import re
import secrets

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from rearview_pipelines.privacy.policy import Action
from rearview_pipelines.write.keys import KeyRing, derive

_NONCE = 12
"""Bytes; what AES-GCM asks for."""
_HASH_CHARACTERS = 20
"""Of base32: 100 bits."""
_TOKEN = re.compile(r"<([A-Z][A-Z0-9_]{1,39}):enc:([A-Za-z0-9]{1,32}):([A-Za-z0-9_-]{20,})>")

STAND_INS = re.compile(
    r"<[A-Z][A-Z0-9_]{1,39}:(?:enc:[A-Za-z0-9]{1,32}:[A-Za-z0-9_-]{20,}|[a-z2-7]{20})>|<SECRET:[a-z_]{2,40}>"
)
"""What an earlier scrubbing left: nothing in it is anybody's data, whatever its characters look like."""


def replaced(action: Action, entity: str, value: str, tenant: str, ring: KeyRing) -> str:
    """What stands in place of a value."""
    if action is Action.MASK:
        return masked(value)
    if action is Action.HASH:
        return f"<{entity}:{_hash(entity, value, tenant, ring)}>"
    if action is Action.ENCRYPT:
        return _encrypt(entity, value, tenant, ring)
    return f"<{entity}>"


def masked(value: str) -> str:
    """An asterisk for each character that says something; never longer than the value, in bytes neither."""
    return "".join("*" if not c.isspace() else c for c in value)


def revealed(text: str, tenant: str, ring: KeyRing) -> str:
    """A text with its encrypted values read again; one whose key is gone or revoked stays as it is."""

    def read(match: re.Match[str]) -> str:
        entity, kid, sealed = match.groups()
        master = ring.usable(kid)
        if master is None:
            return match[0]
        raw = base64.urlsafe_b64decode(sealed + "=" * (-len(sealed) % 4))
        try:
            return _cipher(master, tenant).decrypt(raw[:_NONCE], raw[_NONCE:], entity.encode()).decode()
        except InvalidTag:
            return match[0]

    return _TOKEN.sub(read, text)


def _hash(entity: str, value: str, tenant: str, ring: KeyRing) -> str:
    # Under the identity key, which never rotates: the same value keeps its hash.
    key = derive(ring.identity, tenant, "pii-hash")
    plain = "".join(value.split()).casefold()
    digest = hmac.new(key, f"{entity}\x00{plain}".encode(), hashlib.sha256).digest()
    return base64.b32encode(digest).decode().lower()[:_HASH_CHARACTERS]


def _encrypt(entity: str, value: str, tenant: str, ring: KeyRing) -> str:
    nonce = secrets.token_bytes(_NONCE)
    sealed = nonce + _cipher(ring.masters[ring.active], tenant).encrypt(nonce, value.encode(), entity.encode())
    return f"<{entity}:enc:{ring.active}:{base64.urlsafe_b64encode(sealed).decode().rstrip('=')}>"


def _cipher(master: bytes, tenant: str) -> AESGCM:
    return AESGCM(derive(master, tenant, "pii-encrypt"))
