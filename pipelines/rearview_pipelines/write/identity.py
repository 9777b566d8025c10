"""The id of a memory: keyed and content-addressed, so a retry or fifty writers make one memory.

Keyed, so that nobody can guess a forgotten text from its id. For an episode the moment and the
session belong to the identity: the same failure twice is two episodes.
"""

import base64
import hashlib
import hmac
import json
import unicodedata
from datetime import UTC

from rearview_pipelines.memory import Draft, Layer, Visibility

ID_PREFIX = "m_"
_ID_BYTES = 20


def normalise(text: str) -> str:
    """Text as identity sees it: NFKC, one space for any white space, case kept."""
    return " ".join(unicodedata.normalize("NFKC", text).split())


def memory_id(identity_key: bytes, *, tenant: str, agent: str, user: str, draft: Draft, generation: int = 0) -> str:
    """HMAC-SHA256 of what makes a memory itself, cut to 160 bits, in lower-case base32.

    `generation`: how often the same thing was superseded before and is now held true again; each is
    a memory of its own, so that history keeps them apart.
    """
    shared = draft.visibility is Visibility.SHARED
    layer = draft.settled_layer
    parts = [
        tenant,
        "shared" if shared else "agent",
        "" if shared else agent,
        user,
        draft.namespace or "",
        draft.key or "",
        layer.value,
        normalise(draft.text),
    ]
    if layer is Layer.EPISODIC:
        moment = draft.occurred_at.astimezone(UTC).isoformat() if draft.occurred_at else ""
        turn = "" if draft.source.turn is None else str(draft.source.turn)
        parts += [moment, draft.session or "", draft.source.speaker or "", turn, draft.ref or ""]
    if generation:
        parts.append(f"generation {generation}")
    message = json.dumps(parts, ensure_ascii=False).encode()
    digest = hmac.new(identity_key, message, hashlib.sha256).digest()[:_ID_BYTES]
    return ID_PREFIX + base64.b32encode(digest).decode().lower()


def is_memory_id(value: str) -> bool:
    """Whether a string has the form of an id; others are unknown without asking the store."""
    body = value.removeprefix(ID_PREFIX)
    return len(body) == 32 and body != value and all(c in "abcdefghijklmnopqrstuvwxyz234567" for c in body)
