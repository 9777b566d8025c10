"""What every step of one recall has to know."""

from dataclasses import dataclass
from datetime import datetime

from rearview_pipelines.ports import Where
from rearview_pipelines.principal import Principal
from rearview_pipelines.recall.understand import Understood
from rearview_pipelines.requests import RecallRequest


@dataclass(frozen=True)
class Question:
    """Who asks what, as it was understood, and which rows may answer. `now`: one moment for all steps."""

    principal: Principal
    request: RecallRequest
    asked: Understood
    where: Where
    now: datetime

    @property
    def tenant(self) -> str:
        return self.principal.tenant

    @property
    def fresh(self) -> bool:
        """Whether every acknowledged write has to be seen."""
        return self.request.after is not None
