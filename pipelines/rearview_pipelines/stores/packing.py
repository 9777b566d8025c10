"""Memories as bytes outside the index: a line of JSON each, compressed, sealed with the tenant's key. Pure.

A sealed object is one line of JSON that says what it is, and a zstd frame (RFC 8878). The seal is an
HMAC-SHA256 over both, so that neither can be cut, altered or put in another's place.
"""

import base64
import hashlib
import hmac
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import zstandard

from rearview_pipelines.memory import Memory
from rearview_pipelines.ports import Part
from rearview_pipelines.stores.rows import packed_tokens, unpacked
from rearview_pipelines.write.canonical import canonical
from rearview_pipelines.write.keys import KeyRing, Keys, derive

FORMAT = 1
LEVEL = 3
"""Of zstd: vectors hardly compress, text does at any level."""
MOST = 2**30
"""Bytes that one object may unpack to."""
Row = tuple[Memory, Sequence[Part]]


class NotAsSealed(ValueError):
    """An object that is not what was sealed. `why`: in words that name no content."""

    def __init__(self, why: str) -> None:
        self.why = why
        super().__init__(why)


def tenant_hash(tenant: str) -> str:
    """A tenant's name as a segment of a key."""
    return hashlib.sha256(tenant.encode()).hexdigest()[:32]


def sealed(purpose: str, tenant: str, about: Mapping[str, Any], body: bytes, ring: KeyRing) -> bytes:
    """`about`: what a reader learns without unpacking; plain JSON."""
    frame = zstandard.ZstdCompressor(level=LEVEL, write_checksum=True).compress(body)
    head = {**about, "format": FORMAT, "kind": purpose, "tenant": tenant_hash(tenant), "kid": ring.active}
    mac = _mac(ring.masters[ring.active], purpose, tenant, head, frame)
    return json.dumps({**head, "mac": mac}, separators=(",", ":")).encode() + b"\n" + frame


def about(raw: bytes) -> dict[str, Any]:
    """What an object says of itself, unchecked. Raises NotAsSealed if it says nothing."""
    try:
        head = json.loads(raw.partition(b"\n")[0])
        if not isinstance(head, dict):
            raise NotAsSealed("it does not begin as it should")
        return head
    except ValueError as error:
        raise NotAsSealed("it does not begin as it should") from error


def unsealed(purpose: str, tenant: str, raw: bytes, keys: Keys) -> tuple[dict[str, Any], bytes]:
    """(what it says of itself, what is in it). Raises NotAsSealed."""
    head = about(raw)
    mac, kid = str(head.pop("mac", "")), str(head.get("kid", ""))
    if head.get("format") != FORMAT:
        raise NotAsSealed("it is of another version of Rearview")
    if (head.get("kind"), head.get("tenant")) != (purpose, tenant_hash(tenant)):
        raise NotAsSealed("it belongs elsewhere")
    master = keys.knowing(kid).usable(kid)
    if master is None:
        raise NotAsSealed("it was made under a key that this store has not, or trusts no more")
    frame = raw.partition(b"\n")[2]
    if not hmac.compare_digest(mac, _mac(master, purpose, tenant, head, frame)):
        raise NotAsSealed("it was cut or altered")
    return head, zstandard.ZstdDecompressor().decompress(frame, max_output_size=MOST)


def _mac(master: bytes, purpose: str, tenant: str, head: Mapping[str, Any], frame: bytes) -> str:
    signed = canonical(dict(head)) + b"\n" + hashlib.sha256(frame).digest()
    return hmac.new(derive(master, tenant, f"seal-{purpose}"), signed, hashlib.sha256).hexdigest()


def packed(rows: Iterable[Row]) -> bytes:
    """Memories with what is derived from them, a line each."""
    return b"".join(line(memory, parts) for memory, parts in rows)


def line(memory: Memory, parts: Sequence[Part]) -> bytes:
    held = [
        [
            p.number,
            p.start,
            p.end,
            p.terms,
            base64.b64encode(p.vector.astype("<f4").tobytes()).decode(),
            packed_tokens(p),
        ]
        for p in parts
    ]
    row = {"memory": memory.model_dump(mode="json"), "parts": held}
    return json.dumps(row, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"


def unpacked_rows(body: bytes) -> Iterator[Row]:
    """Raises NotAsSealed for a line that is no memory."""
    for raw in body.splitlines():
        yield row_of(raw)


def row_of(raw: bytes) -> Row:
    try:
        row = json.loads(raw)
        return Memory.model_validate(row["memory"]), tuple(_part(held) for held in row["parts"])
    except (ValueError, KeyError, TypeError) as error:
        raise NotAsSealed("it holds what is no memory") from error


def _part(held: Sequence[Any]) -> Part:
    number, start, end, terms, vector, tokens = held
    made, late = unpacked(tokens)
    return Part(
        number, start, end, terms, np.frombuffer(base64.b64decode(vector), "<f4").astype(np.float32), made, late
    )
