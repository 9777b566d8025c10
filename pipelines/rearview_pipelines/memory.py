"""A memory: what a caller may write of it (`Draft`), and the record that is kept (`Memory`)."""

from enum import StrEnum
from typing import Annotated, Any, Self

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator
from pydantic_core import PydanticCustomError

from rearview_pipelines.fields import (
    SAFE_INTEGER,
    Data,
    Instant,
    Key,
    Metadata,
    Name,
    Namespace,
    Ratio,
    Tags,
    Text,
)


class Layer(StrEnum):
    """How long a memory is meant to live: a session's state, an event, a fact, a way of working."""

    WORKING = "working"
    EPISODIC = "episodic"
    SEMANTIC = "semantic"
    PROCEDURAL = "procedural"


class Kind(StrEnum):
    FACT = "fact"
    PREFERENCE = "preference"
    DECISION = "decision"
    ACTION = "action"
    ERROR = "error"
    RULE = "rule"
    NOTE = "note"


class Outcome(StrEnum):
    SUCCESS = "success"
    FAILURE = "failure"
    PARTIAL = "partial"


class Visibility(StrEnum):
    """Who sees it: its agent alone, or every agent of the tenant."""

    PRIVATE = "private"
    SHARED = "shared"


class SourceKind(StrEnum):
    EXPLICIT = "explicit"
    TURN = "turn"
    DOCUMENT = "document"
    TOOL = "tool"
    REFLECTION = "reflection"
    IMPORT = "import"


class State(StrEnum):
    ACTIVE = "active"
    PENDING = "pending"
    SUPERSEDED = "superseded"
    QUARANTINED = "quarantined"
    FORGOTTEN = "forgotten"
    """An empty, signed tombstone: that something was here, never what."""


class Tier(StrEnum):
    HOT = "hot"
    COLD = "cold"


class Trust(StrEnum):
    STATED = "stated"
    OBSERVED = "observed"
    CONFIRMED = "confirmed"
    VERIFIED = "verified"
    IMPORTED = "imported"


_ALIASES = {"session": "working", "fact": "semantic", "skill": "procedural"}
LayerField = Annotated[Layer, BeforeValidator(lambda v: _ALIASES.get(v, v) if isinstance(v, str) else v)]
"""A layer, or one of the names other systems use for it: session, fact, skill."""


MemoryId = Annotated[str, Field(strict=True, pattern=r"^[A-Za-z0-9_:.-]{1,64}$")]


class Source(BaseModel):
    """Where a memory came from."""

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)

    kind: SourceKind = SourceKind.EXPLICIT
    speaker: Name | None = None
    turn: Annotated[int, Field(strict=True, ge=0, le=SAFE_INTEGER)] | None = None
    tool: Name | None = None
    derived_from: Annotated[tuple[MemoryId, ...], Field(max_length=64)] = ()


class Draft(BaseModel):
    """What a caller may write. Unknown fields are refused, so that a typo is never lost in silence."""

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)

    text: Text
    layer: LayerField | None = Field(None, description="Default semantic; episodic for turns.")
    kind: Kind = Kind.NOTE
    key: Key | None = None
    tags: Tags = ()
    metadata: Metadata = Field(default_factory=dict, description="A flat object, at most 2 KiB; filterable.")
    data: Data | None = Field(None, description="Any JSON object, at most 16 KiB, given back as it came.")
    namespace: Namespace | None = None
    task: Name | None = None
    task_type: Name | None = None
    outcome: Outcome | None = None
    importance: Ratio = 0.5
    confidence: Ratio = 0.7
    visibility: Visibility = Visibility.PRIVATE
    agent: Name | None = Field(None, description="Only where the credential leaves it open.")
    user: Name | None = Field(None, description="Only where the credential leaves it open.")
    session: Name | None = None
    ref: Name | None = Field(None, description="The caller's own name for it, echoed with every hit.")
    source: Source = Source()
    occurred_at: Instant | None = None
    valid_from: Instant | None = None
    valid_to: Instant | None = None
    expires_at: Instant | None = None
    pinned: Annotated[bool, Field(strict=True)] = False

    @model_validator(mode="after")
    def _holds_for_a_while(self) -> Self:
        if self.valid_from is not None and self.valid_to is not None and self.valid_to < self.valid_from:
            raise PydanticCustomError("valid_to", "{reason}", {"reason": "valid_to is before valid_from"})
        return self

    @property
    def settled_layer(self) -> Layer:
        """The layer, with the default that depends on where the memory came from."""
        if self.layer is not None:
            return self.layer
        return Layer.EPISODIC if self.source.kind is SourceKind.TURN else Layer.SEMANTIC


class Signature(BaseModel):
    """Proof of a record: the key's id and an HMAC-SHA256 in hex."""

    model_config = ConfigDict(frozen=True, hide_input_in_errors=True)

    kid: str
    mac: str


class Related(BaseModel):
    """Another memory, and what it is to this one: contradicts, supersedes, superseded_by."""

    model_config = ConfigDict(frozen=True, hide_input_in_errors=True)

    id: str
    relation: str


class Memory(BaseModel):
    """A record as kept: frozen, signed, complete. See the contract for each field."""

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)

    id: str
    version: int = 1
    tenant: str
    agent: str = ""
    user: str = ""
    text: str
    layer: Layer
    kind: Kind = Kind.NOTE
    key: str | None = None
    tags: tuple[str, ...] = ()
    metadata: dict[str, Any] = Field(default_factory=dict)
    data: dict[str, Any] | None = None
    namespace: str | None = None
    task: str | None = None
    task_type: str | None = None
    outcome: Outcome | None = None
    importance: float = 0.5
    confidence: float = 0.7
    visibility: Visibility = Visibility.PRIVATE
    session: str | None = None
    ref: str | None = None
    source: Source = Source()
    occurred_at: Instant | None = None
    valid_from: Instant | None = None
    valid_to: Instant | None = None
    expires_at: Instant | None = None
    pinned: bool = False
    trust: Trust = Trust.STATED
    state: State = State.ACTIVE
    tier: Tier = Tier.HOT
    lang: str = "und"
    embedding_model: str = ""
    created_at: Instant
    updated_at: Instant
    superseded_at: Instant | None = None
    superseded_by: str | None = None
    related: tuple[Related, ...] = ()
    suspected: tuple[str, ...] = Field((), description="Why it was quarantined: poison:exfiltration and the like.")
    support: tuple[str, ...] = Field((), description="Marks of the sources that stated it, keyed: who, which session.")
    derived: str = Field("", description="Digest of the vectors and indexed terms made from the text.")
    signature: Signature | None = None
