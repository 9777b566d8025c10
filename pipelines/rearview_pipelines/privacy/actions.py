"""What becomes of a span: replaced, masked, hashed, encrypted; and how an encrypted value is read again.

Ours and not Presidio's operators, because a hash has to be keyed and stable for a tenant, and a value that is
written twice has to be one memory: encryption is deterministic (AES-SIV, RFC 5297). Both are under keys derived
from the identity key, which never rotates, so that a rotation or revocation of signing keys loses no value.
"""

import base64
import hashlib
import hmac
import re

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESSIV

from rearview_pipelines.privacy.policy import Action
from rearview_pipelines.write.keys import KeyRing, derive

_SCHEME = "siv1"
"""Names the cipher and its key in a token."""
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
    """A text with its encrypted values read again; what is no token of this tenant's stays as it is."""
    return _TOKEN.sub(lambda match: _opened(match, tenant, ring) or match[0], text)


def is_ours(stand_in: str, tenant: str, ring: KeyRing) -> bool:
    """Whether a stand-in is one that was made here: a caller's own words may be dressed up as a token."""
    match = _TOKEN.fullmatch(stand_in)
    return match is None or _opened(match, tenant, ring) is not None


def _opened(match: re.Match[str], tenant: str, ring: KeyRing) -> str | None:
    entity, scheme, sealed = match.groups()
    if scheme != _SCHEME:
        return None
    try:
        raw = base64.urlsafe_b64decode(sealed + "=" * (-len(sealed) % 4))
        return _cipher(tenant, ring).decrypt(raw, [entity.encode()]).decode()
    except (InvalidTag, ValueError):
        return None


def _hash(entity: str, value: str, tenant: str, ring: KeyRing) -> str:
    # Under the identity key, which never rotates: the same value keeps its hash.
    key = derive(ring.identity, tenant, "pii-hash")
    plain = "".join(value.split()).casefold()
    digest = hmac.new(key, f"{entity}\x00{plain}".encode(), hashlib.sha256).digest()
    return base64.b32encode(digest).decode().lower()[:_HASH_CHARACTERS]


def _encrypt(entity: str, value: str, tenant: str, ring: KeyRing) -> str:
    sealed = _cipher(tenant, ring).encrypt(value.encode(), [entity.encode()])
    return f"<{entity}:enc:{_SCHEME}:{base64.urlsafe_b64encode(sealed).decode().rstrip('=')}>"


def _cipher(tenant: str, ring: KeyRing) -> AESSIV:
    return AESSIV(derive(ring.identity, tenant, "pii-encrypt"))
