"""What a write answers: one receipt an item, with a verdict and its reasons."""

from enum import StrEnum

from pydantic import BaseModel, ConfigDict, Field

from rearview_pipelines.memory import Related


class Status(StrEnum):
    STORED = "stored"
    DUPLICATE = "duplicate"
    PENDING = "pending"
    QUARANTINED = "quarantined"
    REJECTED = "rejected"
    SKIPPED = "skipped"


class Receipt(BaseModel):
    """`id` is null if nothing is kept. The first word of a reason is one of the contract's codes."""

    model_config = ConfigDict(frozen=True, hide_input_in_errors=True)

    id: str | None
    status: Status
    reasons: tuple[str, ...] = ()
    redactions: dict[str, int] = Field(default_factory=dict)
    version: int = 1
    supersedes: tuple[str, ...] = ()
    related: tuple[Related, ...] = ()
    after: str | None = Field(None, description="Pass the newest to recall to read your own writes.")


class WriteAnswer(BaseModel):
    model_config = ConfigDict(frozen=True, hide_input_in_errors=True)

    receipts: tuple[Receipt, ...]
