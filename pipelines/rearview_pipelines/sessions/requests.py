"""What replaces a session's state: apart from the other requests, because the state stands on those."""

from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, model_validator

from rearview_pipelines.fields import SAFE_INTEGER, Name
from rearview_pipelines.sessions.state import State

_OURS = frozenset({"session", "task", "started_at", "updated_at", "expires_at", "ended", "seeds", "seed_ids"})


class PutRequest(BaseModel):
    """A whole state for the one of `version`; its fields stand in `state`, or beside the version."""

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)

    version: Annotated[int, Field(strict=True, ge=0, le=SAFE_INTEGER)]
    state: State
    agent: Name | None = Field(None, description="Only where the credential leaves it open.")
    user: Name | None = Field(None, description="Only where the credential leaves it open.")

    @model_validator(mode="before")
    @classmethod
    def _gathered(cls, value: Any) -> Any:
        if isinstance(value, dict):  # what reading it answered may be sent back
            value = {k: v for k, v in value.items() if k not in _OURS}
        if isinstance(value, dict) and "state" not in value:
            inner = {k: v for k, v in value.items() if k in State.model_fields}
            return {k: v for k, v in value.items() if k not in inner} | {"state": inner}
        return value
