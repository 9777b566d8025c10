"""Sign a record and check the signature: HMAC-SHA256 over its canonical JSON (RFC 8785).

The signature covers every field, and through `derived` the vectors and terms made from the text,
so that neither the words nor what makes them findable can be changed unseen.
"""

import hashlib
import hmac
from collections.abc import Sequence

from rearview_pipelines.memory import Memory, Signature
from rearview_pipelines.ports import Part
from rearview_pipelines.write.canonical import canonical
from rearview_pipelines.write.keys import KeyRing, Keys, derive

_PURPOSE = "sign"


def digest_of_parts(parts: Sequence[Part]) -> str:
    """SHA-256 of what is derived from a text, in hex: per part its span, terms, float32 vector and token vectors."""
    digest = hashlib.sha256()
    for part in parts:
        terms = part.terms.encode()
        digest.update(f"{part.number}:{part.start}:{part.end}:{len(terms)}:".encode())
        digest.update(terms)
        digest.update(part.vector.astype("<f4").tobytes())
        if part.tokens is not None and len(part.tokens):
            digest.update(f"{part.late}:{len(part.tokens)}:".encode())
            digest.update(part.tokens.tobytes())
    return digest.hexdigest()


def payload(memory: Memory) -> bytes:
    """The bytes that are signed."""
    return canonical(memory.model_dump(mode="json", exclude={"signature"}))


def digest(memory: Memory) -> str:
    """SHA-256 of the signed bytes, in hex: what the ledger says of a version. Key rotation leaves it as it is."""
    return hashlib.sha256(payload(memory)).hexdigest()


def sign(memory: Memory, ring: KeyRing) -> Memory:
    """The same record with the active key's signature."""
    return signed(memory, ring)[0]


def signed(memory: Memory, ring: KeyRing) -> tuple[Memory, str]:
    """(the record with the active key's signature, its digest): both from one canonical form, which is slow to make."""
    bytes_ = payload(memory)
    mac = _mac(ring.masters[ring.active], memory.tenant, bytes_)
    made = memory.model_copy(update={"signature": Signature(kid=ring.active, mac=mac)})
    return made, hashlib.sha256(bytes_).hexdigest()


def verify(memory: Memory, keys: Keys) -> bool:
    """Whether the record is as one of the ring's keys signed it. Never raises."""
    return verified_digest(memory, keys) is not None


def verified_digest(memory: Memory, keys: Keys) -> str | None:
    """The digest of a record whose signature holds, else None: both from one canonical form."""
    if memory.signature is None:
        return None
    return _checked(memory, keys.knowing(memory.signature.kid).usable(memory.signature.kid))


def vouched_digest(memory: Memory, keys: Keys) -> str | None:
    """The same for a record that something else vouches for too: a revoked key's signature will do."""
    if memory.signature is None:
        return None
    return _checked(memory, keys.knowing(memory.signature.kid).masters.get(memory.signature.kid))


def _checked(memory: Memory, master: bytes | None) -> str | None:
    if master is None or memory.signature is None:
        return None
    bytes_ = payload(memory)
    if not hmac.compare_digest(_mac(master, memory.tenant, bytes_), memory.signature.mac):
        return None
    return hashlib.sha256(bytes_).hexdigest()


def _mac(master: bytes, tenant: str, bytes_: bytes) -> str:
    return hmac.new(derive(master, tenant, _PURPOSE), bytes_, hashlib.sha256).hexdigest()
