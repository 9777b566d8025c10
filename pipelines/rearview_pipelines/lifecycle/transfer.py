"""Export and import: memories as lines of JSON, under a signed manifest where they come from a store of ours.

The manifest comes first, and a seal on every line binds it to its place, the last one to the end: a store that has the
keys knows a line that was altered, moved or added, and an export that was cut. Whatever comes in
goes through the ordinary write path and is signed anew; it is trusted as imported.
"""

import hashlib
import hmac
import json
import secrets
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

import rfc8785

from rearview_pipelines.errors import Forbidden, InvalidInput
from rearview_pipelines.memory import Draft, Layer, Memory, Trust
from rearview_pipelines.principal import Principal
from rearview_pipelines.receipts import Receipt
from rearview_pipelines.requests import parse
from rearview_pipelines.stores.packing import tenant_hash
from rearview_pipelines.write.admit import admit
from rearview_pipelines.write.canonical import canonical
from rearview_pipelines.write.item import Item
from rearview_pipelines.write.keys import Keys, derive

FORMAT = 1
BATCH = 64
"""Memories written at a time."""
MOST_ERRORS = 20
"""Bad lines that are described; the others are counted."""
MAX_LINE = 2**20
"""Bytes of a line that can be a memory; a longer one is counted and passed over without being held."""
COUNTED = (
    "stored", "duplicate", "pending", "quarantined", "rejected", "skipped", "forgotten", "malformed", "bad_signature",
    "not_allowed",
)  # fmt: skip
_DRAFT = frozenset(Draft.model_fields)
_OURS = frozenset(Memory.model_fields) | {"seal", "score", "actionable", "age_days", "excerpt", "explain"}
_OWN = ("id", "trust", "state", "created_at", "updated_at", "lang")
"""Fields of a record besides the draft's that an export says."""


def exported(memory: Memory) -> dict[str, Any]:
    """A memory as its line, without the seal."""
    fields = memory.model_dump(mode="json", include={*_DRAFT, *_OWN})
    return {name: value for name, value in fields.items() if value not in (None, "", [], {})}


class Sealing:
    """Writes the lines of one export."""

    def __init__(self, tenant: str, keys: Keys, now: datetime) -> None:
        ring = keys.ring
        self._nonce = secrets.token_hex(8)
        self._key = derive(ring.masters[ring.active], tenant, "export")
        self._count = 0
        self._about = {
            "format": FORMAT,
            "tenant": tenant_hash(tenant),
            "exported_at": now.isoformat(),
            "kid": ring.active,
            "nonce": self._nonce,
        }

    def manifest(self, *, empty: bool) -> bytes:
        self._about["empty"] = empty
        return _line({"manifest": {**self._about, "mac": _mac(self._key, "manifest", self._about)}})

    def memory(self, memory: Memory, *, last: bool) -> bytes:
        self._count += 1
        fields = exported(memory)
        return _line({**fields, "seal": _mac(self._key, _place(self._nonce, self._count, last), fields)})


def _place(nonce: str, number: int, last: bool) -> str:
    """Where a line stands, which its seal covers: another place, or another end, is another seal."""
    return f"{nonce}:{number}{':last' if last else ''}"


def _line(value: dict[str, Any]) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"


def _mac(key: bytes, place: str, value: dict[str, Any]) -> str:
    return hmac.new(key, place.encode() + b"\x00" + canonical(value), hashlib.sha256).hexdigest()


@dataclass
class ImportReport:
    """What an import did. `manifest`: own (this store has its key), foreign, or none."""

    lines: int = 0
    counts: Counter[str] = field(default_factory=Counter)
    manifest: str = "none"
    complete: bool | None = None
    errors: list[dict[str, Any]] = field(default_factory=list)

    def bad(self, line: int, why: str, what: str, remedy: str) -> None:
        self.counts[why] += 1
        if len(self.errors) < MOST_ERRORS:
            self.errors.append({"line": line, "message": what, "remedy": remedy})

    @property
    def shown(self) -> dict[str, Any]:
        return {
            "lines": self.lines,
            **dict.fromkeys(COUNTED, 0),
            **self.counts,
            "manifest": self.manifest,
            "complete": self.complete,
            "errors": self.errors,
        }


Write = Callable[[list[Item]], Awaitable[Sequence[Receipt]]]


class Importing:
    """Reads lines into memories, a batch at a time: however long the stream is, a batch is all that is held."""

    def __init__(self, principal: Principal, keys: Keys, write: Write) -> None:
        self._principal = principal
        self._keys = keys
        self._write = write
        self._items: list[Item] = []
        self._key: bytes | None = None
        self._nonce = ""
        self._sealed = 0
        self.report = ImportReport()

    async def take(self, lines: AsyncIterator[bytes | None]) -> ImportReport:
        """All lines; None stands for one that was too long. Raises Forbidden; Unavailable, which unstores nothing."""
        async for raw in lines:
            self.report.lines += 1
            if raw is None:
                self.report.bad(self.report.lines, "malformed", f"is over {MAX_LINE} bytes", "shorten it")
            elif raw.strip():
                self._one(raw)
            if len(self._items) >= BATCH:
                await self._flush()
        await self._flush()
        return self.report

    def _one(self, raw: bytes) -> None:
        at = self.report.lines
        try:
            value = json.loads(raw)
        except (ValueError, RecursionError):
            self.report.bad(at, "malformed", "is not JSON", "write one JSON object a line")
            return
        if not isinstance(value, dict):
            self.report.bad(at, "malformed", "is not an object", "write one JSON object a line")
        elif "manifest" in value and "text" not in value:
            self._manifest(value["manifest"])
        else:
            self._memory(at, value)

    def _manifest(self, about: Any) -> None:
        self.report.manifest = "foreign"
        if self.report.lines != 1 or not isinstance(about, dict):
            return
        mac, kid = str(about.pop("mac", "")), str(about.get("kid", ""))
        master = self._keys.knowing(kid).usable(kid)
        if master is None or about.get("format") != FORMAT:
            return
        key = derive(master, self._principal.tenant, "export")
        if hmac.compare_digest(mac, _mac(key, "manifest", about)):
            self._key, self._nonce = key, str(about.get("nonce", ""))
            self.report.complete = about.get("empty") is True
            self.report.manifest = "own"

    def _memory(self, at: int, value: dict[str, Any]) -> None:
        seal = value.pop("seal", None)
        if self._key is not None:
            self._sealed += 1
            last = self._is_sealed(value, str(seal), last=True)
            self.report.complete = last
            if not last and not self._is_sealed(value, str(seal), last=False):
                self.report.bad(at, "bad_signature", "is not as it was exported", "export it again")
                return
        try:
            draft = self._draft(value)
            [item] = admit(self._principal, [draft])
        except InvalidInput as error:
            first = error.errors[0] if error.errors else None
            what = f"{first.field}: {first.message}" if first else error.detail
            self.report.bad(at, "malformed", what, first.remedy if first else "correct it and import again")
            return
        except Forbidden as error:
            self.report.bad(at, "not_allowed", error.detail, "import it with a credential that may")
            return
        self._items.append(replace(item, trust=Trust.IMPORTED, revives=False))

    def _is_sealed(self, value: dict[str, Any], seal: str, *, last: bool) -> bool:
        assert self._key is not None
        try:
            return hmac.compare_digest(seal, _mac(self._key, _place(self._nonce, self._sealed, last), value))
        except (ValueError, rfc8785.CanonicalizationError):
            return False

    def _draft(self, value: dict[str, Any]) -> Draft:
        """What a caller may write of it; what is ours of a record is passed over, what is unknown is refused."""
        fields = {k: v for k, v in value.items() if k in _DRAFT or k not in _OURS}
        source = fields.get("source")
        if isinstance(source, dict):  # ids of another store mean nothing here
            fields["source"] = {k: v for k, v in source.items() if self._key is not None or k != "derived_from"}
        told = fields.get("occurred_at") is not None or fields.get("layer") == Layer.EPISODIC.value
        if self._key is None and not told and isinstance(value.get("created_at"), str):
            fields["occurred_at"] = value["created_at"]  # of another store: its birth there is when it happened
        return parse(Draft, fields)

    async def _flush(self) -> None:
        items, self._items = self._items, []
        if not items:
            return
        for receipt in await self._write(items):
            gone = "gate:forgotten" in receipt.reasons
            self.report.counts["forgotten" if gone else receipt.status.value] += 1


async def lines_of(chunks: AsyncIterator[bytes]) -> AsyncIterator[bytes | None]:
    """The lines of a stream; None for one that is longer than MAX_LINE, of which only the end is looked for."""
    held, over = bytearray(), False
    async for chunk in chunks:
        start = 0
        while (end := chunk.find(b"\n", start)) >= 0:
            if over or len(held) + end - start > MAX_LINE:
                yield None
            else:
                yield bytes(held) + chunk[start:end]
            held.clear()
            over, start = False, end + 1
        if not over:
            held += chunk[start:]
            if len(held) > MAX_LINE:
                held.clear()
                over = True
    if over:
        yield None
    elif held:
        yield bytes(held)
