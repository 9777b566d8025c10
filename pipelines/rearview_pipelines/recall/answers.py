"""What a recall answers."""

from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from rearview_pipelines.memory import Memory


class Excerpt(BaseModel):
    """`text` shows only characters start to end of the memory, the part that matched; `of` in all."""

    model_config = ConfigDict(frozen=True, hide_input_in_errors=True)

    start: int
    end: int
    of: int


class Hit(Memory):
    """A memory that was found. `score`: absolute evidence, 0 to 1; the order is its own thing."""

    score: float
    actionable: bool
    age_days: float
    excerpt: Excerpt | None = None
    explain: dict[str, Any] | None = None


class Hidden(BaseModel):
    """How many candidates were left out, and why."""

    model_config = ConfigDict(frozen=True, hide_input_in_errors=True)

    floor: int = 0
    state: int = 0
    budget: int = 0


class RecallAnswer(BaseModel):
    """Best first. `degraded`: embedder, reranker, keyword, index, deadline, language."""

    model_config = ConfigDict(frozen=True, hide_input_in_errors=True)

    recall_id: str
    memories: tuple[Hit, ...] = ()
    degraded: tuple[str, ...] = ()
    hidden: Hidden = Hidden()
    took_ms: float = 0.0
    explain: dict[str, Any] | None = Field(None, description="Only if asked for.")


class ContextAnswer(BaseModel):
    model_config = ConfigDict(frozen=True, hide_input_in_errors=True)

    recall_id: str
    text: str
    tokens: int
    memories: tuple[str, ...]
    degraded: tuple[str, ...] = ()
