"""Scrub everything that carries a user's words: the text of a memory, and its key, tags, metadata and the rest.

`Scrubber` is what the write path, egress and transcripts use. It never keeps or logs a value.
"""

import json
import re
import threading
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from rearview_pipelines.fields import (
    MAX_DATA_BYTES,
    MAX_KEY,
    MAX_METADATA_BYTES,
    MAX_NAME,
    MAX_NAMESPACE,
    MAX_TAG,
    MAX_TEXT_BYTES,
)
from rearview_pipelines.memory import Draft, Memory
from rearview_pipelines.privacy.actions import STAND_INS, is_ours, masked, replaced
from rearview_pipelines.privacy.policy import Action, OnSecret, Policy
from rearview_pipelines.privacy.secrets.find import find_secrets
from rearview_pipelines.privacy.secrets.named import is_field_secret
from rearview_pipelines.privacy.spans import Span
from rearview_pipelines.write.keys import Keys

if TYPE_CHECKING:
    from rearview_pipelines.privacy.engine import Finder

_NAMES = {"key": MAX_KEY, "namespace": MAX_NAMESPACE, "task": MAX_NAME, "task_type": MAX_NAME, "ref": MAX_NAME}
"""Short fields and the characters that they may have."""


SHORTEST = 6
"""Characters of the shortest value that anything looks for: a@b.co."""


@dataclass
class Found:
    """What scrubbing found: counts by entity, entities whose policy is to reject, kinds of secret."""

    redactions: Counter[str] = field(default_factory=Counter)
    rejected: set[str] = field(default_factory=set)
    secrets: Counter[str] = field(default_factory=Counter)


class Scrubber:
    """A policy at work. Blocking: about a millisecond a memory, twenty with names on."""

    def __init__(self, policy: Policy, keys: Keys) -> None:
        self.policy = policy
        self._keys = keys
        self._one_at_a_time = threading.Lock()
        self._loaded: Finder | None = None

    @property
    def _finder(self) -> "Finder":
        """Loaded by `warm`, or by the first text: Presidio takes two seconds, and who lists tools needs none of it."""
        if self._loaded is None:
            with self._one_at_a_time:
                if self._loaded is None:
                    from rearview_pipelines.privacy.engine import Finder

                    self._loaded = Finder(self.policy)
        return self._loaded

    def warm(self) -> None:
        """Load what finds personal data. Raises SetupError if what the policy needs is not installed."""
        self._finder.find("a1@b.co")

    def text(self, value: str, tenant: str, found: Found, limit: int = MAX_TEXT_BYTES) -> str:
        """A text without what the policy names. `limit`: bytes; where what stands in for the values would
        not fit, they are masked instead, which is never longer.
        """
        if len(value) < SHORTEST:
            return value
        return self._without(value, *self._spans(value, tenant), tenant, found, limit)

    def _spans(self, value: str, tenant: str) -> tuple[list[Span], list[Span]]:
        """(secrets, personal data) in a text; nothing in what an earlier scrubbing left."""
        ring = self._keys.ring
        ours = [m.span() for m in STAND_INS.finditer(value) if is_ours(m[0], tenant, ring)] if "<" in value else []
        secrets = _outside(find_secrets(value), ours)
        return secrets, _outside(self._finder.find(value), [*ours, *((s.start, s.end) for s in secrets)])

    def _without(
        self, value: str, secrets: Sequence[Span], spans: Sequence[Span], tenant: str, found: Found, limit: int
    ) -> str:
        for span in secrets:
            found.secrets[span.kind] += 1
        for span in spans:
            found.redactions[span.kind] += 1
            if self.policy.action(span.kind) is Action.REJECT:
                found.rejected.add(span.kind)
        if not secrets and not spans:
            return value
        done = _spliced(value, [*secrets, *spans], lambda s, part: self._stand_in(s, part, tenant, s in secrets))
        if len(done.encode()) <= max(limit, len(value.encode())):
            return done
        return _spliced(value, [*secrets, *spans], lambda _, part: masked(part))

    def _stand_in(self, span: Span, value: str, tenant: str, secret: bool) -> str:
        if secret:
            return f"<SECRET:{span.kind}>"
        return replaced(self.policy.action(span.kind), span.kind, value, tenant, self._keys.ring)

    def name(self, field: str, value: str, tenant: str, found: Found, limit: int = MAX_NAME) -> str:
        """A short field's value; of a namespace each name of the path by itself, then the whole."""
        if field == "namespace":
            value = "/".join(self.text(part, tenant, found, limit) for part in value.split("/"))
        return self.text(value, tenant, found, limit)

    def draft(self, draft: Draft, tenant: str) -> tuple[Draft, Found]:
        """A draft without what the policy names, and what was found in it."""
        found = Found()
        update = self._fields(draft, tenant, found)
        return (draft.model_copy(update=update) if update else draft), found

    def changes(self, memory: Memory) -> dict[str, Any]:
        """The fields of a record that must not leave as they are, as they may."""
        return self._fields(memory, memory.tenant, Found())

    def secrets(self, value: str | None) -> list[str]:
        """Kinds of secret in a name that is kept as it is given: a session's, an agent's, a user's."""
        return [span.kind for span in find_secrets(value)] if value and len(value) >= SHORTEST else []

    def refuses(self, found: Found) -> bool:
        return bool(found.secrets) and self.policy.secrets is OnSecret.REFUSE

    def _fields(self, item: Draft | Memory, tenant: str, found: Found) -> dict[str, Any]:
        """The fields that scrubbing changes."""
        update: dict[str, Any] = {}

        def put(name: str, old: Any, new: Any) -> None:
            if new != old:
                update[name] = new

        put("text", item.text, self._named(item.key, item.text, tenant, found, MAX_TEXT_BYTES))
        for name, limit in _NAMES.items():
            value = getattr(item, name)
            if value is not None:
                put(name, value, self.name(name, value, tenant, found, limit))
        put("tags", item.tags, tuple(dict.fromkeys(self.text(tag, tenant, found, MAX_TAG) for tag in item.tags)))
        put("metadata", item.metadata, self.json(item.metadata, tenant, found, MAX_METADATA_BYTES))
        if item.data is not None:
            put("data", item.data, self.json(item.data, tenant, found, MAX_DATA_BYTES))
        source = {
            name: self.text(value, tenant, found, MAX_NAME)
            for name in ("speaker", "tool")
            if (value := getattr(item.source, name)) is not None
        }
        put("source", item.source, item.source.model_copy(update=source))
        return update

    def json(self, value: Any, tenant: str, found: Found, limit: int) -> Any:
        """Plain JSON with every string in it scrubbed, names too; masked throughout where it would not fit."""
        done = _mapped(value, lambda name, text: self._named(name, text, tenant, found, MAX_TEXT_BYTES))
        if done == value or _size(done) <= limit:
            return done
        return _mapped(value, lambda name, text: self._named(name, text, tenant, Found(), 0))

    def _named(self, name: str | None, value: str, tenant: str, found: Found, limit: int) -> str:
        """A value beside its name, which may be what gives it away: {"password": "Summer2024!"}."""
        if not name or not value:
            return self.text(value, tenant, found, limit)
        prefix = f"{name}: "
        secrets, spans = (_behind(found, len(prefix)) for found in self._spans(prefix + value, tenant))
        if not secrets and is_field_secret(name, value):
            secrets, spans = [Span(0, len(value), "named_token")], []
        return self._without(value, secrets, spans, tenant, found, limit)


def _behind(spans: Sequence[Span], start: int) -> list[Span]:
    """What of the spans lies behind a prefix, counted from there."""
    return [Span(max(s.start - start, 0), s.end - start, s.kind, s.score) for s in spans if s.end > start]


def _outside(spans: Sequence[Span], taken: Sequence[tuple[int, int]]) -> list[Span]:
    return [s for s in spans if not any(s.start < end and start < s.end for start, end in taken)]


def _spliced(text: str, spans: Sequence[Span], stand_in: Callable[[Span, str], str]) -> str:
    out, at = [], 0
    for span in sorted(spans, key=lambda s: s.start):
        out += [text[at : span.start], stand_in(span, text[span.start : span.end])]
        at = span.end
    return "".join(out) + text[at:]


_NUMBERED = re.compile(
    r"(?:^|[\W_]|(?<=[a-z]))(?:phone|mobile|cell|tel|fax|card|ssn|iban|account|passport|qq|wechat|password|passwd|pwd|passcode)"
    r"(?:$|[\W_\d]|number|no)|手机|电话|卡号|证号|身份证|密码|账号|护照",
    re.IGNORECASE,
)
"""Names of fields whose numbers are looked at."""


def _mapped(value: Any, change: Callable[[str | None, str], str], name: str | None = None) -> Any:
    """JSON with each string changed, by the name that it stands under; the names too."""
    if isinstance(value, str):
        return change(name, value)
    if isinstance(value, int) and not isinstance(value, bool) and name is not None and _NUMBERED.search(name):
        said = str(value)  # a card's number is one without quotes too; a size or a time is none
        done = change(name, said)
        return value if done == said else done
    if isinstance(value, Mapping):
        mapped: dict[str, Any] = {}
        for key, item in value.items():
            about = value.get("name", value.get("key")) if key == "value" else key  # {"name": "password", "value": …}
            mapped[_free(change(None, key), mapped)] = _mapped(item, change, about if isinstance(about, str) else key)
        return mapped
    if isinstance(value, list | tuple):
        return [_mapped(item, change, name) for item in value]
    return value


def _free(name: str, taken: Mapping[str, Any]) -> str:
    """A name that is not taken: two that scrub to the same stand-in are two."""
    number, free = 1, name
    while free in taken:
        number += 1
        free = f"{name} {number}"
    return free


def _size(value: Any) -> int:
    return len(json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode())
