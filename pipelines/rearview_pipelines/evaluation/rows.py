"""What an evaluation reads: queries with what is relevant, tasks, results of tasks. Checked."""

from typing import Annotated, Any, Literal, get_args

from pydantic import BaseModel, ConfigDict, Field

from rearview_pipelines.fields import Name, Text
from rearview_pipelines.requests import Filters

Scenario = Literal["simple", "complex", "multi-hop", "negation"]
SCENARIOS: tuple[str, ...] = get_args(Scenario)


class _Row(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore", hide_input_in_errors=True)


class QueryRow(_Row):
    """`relevant`: the `ref` of every memory that answers the query."""

    query: Text
    relevant: Annotated[tuple[Name, ...], Field(min_length=1)]
    scenario: Scenario = "simple"
    filters: Filters = Filters()


class TaskRow(_Row):
    """A task that can be done only with what `needs` says: literal pieces of memories."""

    task: Name
    query: Text
    needs: Annotated[tuple[str, ...], Field(min_length=1)]


class ResultRow(_Row):
    """How a task went, with memory or without. `turns`: it took so many. `rating`: 1 to 5, if somebody rated it."""

    task: Name
    memory: Annotated[bool, Field(strict=True)]
    completed: Annotated[bool, Field(strict=True)]
    turns: Annotated[int, Field(ge=0)] | None = None
    rating: Annotated[float, Field(ge=1, le=5)] | None = None

    def measures(self) -> dict[str, Any]:
        return {"completion": float(self.completed), "turns": self.turns, "rating": self.rating}
