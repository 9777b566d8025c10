"""The scope that a writer's memory lives in: what it is compared with, and nothing of anybody else's."""

from rearview_pipelines.memory import Memory, SourceKind, State, Visibility
from rearview_pipelines.ports import Condition, Where
from rearview_pipelines.write.item import Item

FACTS = tuple(kind.value for kind in SourceKind if kind is not SourceKind.TURN)
"""Relations act on facts; a turn is a record of what was said."""


def scope_of_item(item: Item) -> Where:
    """Facts that stand, of the same agent (or shared), user and namespace."""
    shared = item.draft.visibility is Visibility.SHARED
    whose = Condition("visibility", "eq", "shared") if shared else Condition("agent", "eq", item.agent)
    return Where(
        (
            whose,
            Condition("visibility", "eq", item.draft.visibility.value),
            Condition("user_name", "eq", item.user),
            Condition("state", "in", (State.ACTIVE.value, State.PENDING.value)),
            Condition("source_kind", "in", FACTS),
        )
    )


def in_scope(memory: Memory, item: Item) -> bool:
    """The same rule for one memory in hand, and the same namespace."""
    same_agent = memory.agent == item.agent or item.draft.visibility is Visibility.SHARED
    return (
        memory.tenant == item.tenant
        and memory.visibility is item.draft.visibility
        and same_agent
        and memory.user == item.user
        and memory.namespace == item.draft.namespace
        and memory.source.kind is not SourceKind.TURN
    )


def same_author(memory: Memory, item: Item) -> bool:
    """Two authors' versions of one shared key stay side by side."""
    return memory.agent == item.agent
