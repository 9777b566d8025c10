"""A principal's scope and a caller's filters, as conditions on indexed fields. Pure."""

from datetime import datetime

from rearview_pipelines.errors import Forbidden
from rearview_pipelines.fields import millis
from rearview_pipelines.memory import State
from rearview_pipelines.ports import Condition, Where
from rearview_pipelines.principal import Principal, Role
from rearview_pipelines.requests import Filters
from rearview_pipelines.stores.rows import metadata_pair

_EQUAL = {
    "layer": "layer", "kind": "kind", "key": "memory_key", "task": "task", "task_type": "task_type",
    "outcome": "outcome", "session": "session", "user": "user_name", "agent": "agent", "ref": "ref",
}  # fmt: skip
RECALLABLE = (State.ACTIVE, State.PENDING, State.SUPERSEDED)
"""States that a recall may ever answer; which of them it does depends on the request."""


def scope_of(principal: Principal) -> Where:
    """What a credential covers: its agent's own and everyone's shared, its user's and nobody's."""
    where = Where()
    if principal.agent is not None:
        own = Condition("agent", "eq", principal.agent)
        where = Where(where.all_of, (*where.any_of, (own, Condition("visibility", "eq", "shared"))))
    if principal.user is not None:
        where = where.also(Condition("user_name", "in", ("", principal.user)))
    return where


def check(principal: Principal, filters: Filters) -> None:
    """Raises Forbidden for a filter that reaches beyond the credential."""
    for named in filters.user or ():
        principal.settle_user(named)
    for named in filters.agent or ():
        principal.settle_agent(named)
    if filters.state is not None and principal.role is not Role.ADMIN:
        raise Forbidden("filters.state: only an admin may ask for other states than active")


def where_of(principal: Principal, filters: Filters) -> Where:
    """Scope and filters together, states and validity aside. Raises Forbidden."""
    check(principal, filters)
    where = scope_of(principal)
    for name, column in _EQUAL.items():
        values = getattr(filters, name)
        if values is not None:
            where = where.also(Condition(column, "in", tuple(str(v) for v in values)))
    if filters.namespace is not None:
        where = where.also(Condition("namespaces", "has_any", filters.namespace))
    if filters.metadata:
        pairs = tuple(metadata_pair(k, v) for k, v in filters.metadata.items())
        where = where.also(Condition("metadata", "has_all", pairs))
    if filters.tags is not None:
        where = where.also(Condition("tags", "has_all", filters.tags))
    if filters.any_tags is not None:
        where = where.also(Condition("tags", "has_any", filters.any_tags))
    for name in ("importance", "confidence"):
        least = getattr(filters, f"min_{name}")
        if least is not None:
            where = where.also(Condition(name, "ge", float(least)))
    if filters.since is not None:
        where = where.also(Condition("occurred", "ge", millis(filters.since)))
    if filters.until is not None:
        where = where.also(Condition("occurred", "lt", millis(filters.until) + 1))
    return where


def in_states(where: Where, states: tuple[State, ...]) -> Where:
    return where.also(Condition("state", "in", tuple(state.value for state in states)))


def valid_at(where: Where, moment: datetime, *, begun: bool) -> Where:
    """Not ended by `moment`; with `begun`, begun by then too, as a question about the past needs."""
    at = millis(moment)
    where = where.also(Condition("ends", "gt", at))
    return where.also(Condition("begins", "lt", at + 1)) if begun else where
