"""What was derived from memories that are forgotten: it stays only if what is left bears it out, every word of it."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from rearview_pipelines.memory import Memory, SourceKind, State
from rearview_pipelines.ports import Condition, Where
from rearview_pipelines.reflect.grounding import is_grounded
from rearview_pipelines.reflect.lessons import is_lesson
from rearview_pipelines.write.item import Tools

PAGE = 1000
WHOLE = 1.0
"""Every content word has to be in what is left: one that is not may have come from what was forgotten."""


@dataclass
class Rejudged:
    """`gone`: to be forgotten too. `kept`: (before, after) of what rests on less now."""

    gone: list[Memory] = field(default_factory=list)
    kept: list[tuple[Memory, Memory]] = field(default_factory=list)

    @property
    def ids(self) -> list[str]:
        return [m.id for m in self.gone] + [before.id for before, _ in self.kept]

    @property
    def kinds(self) -> list[str]:
        """Kinds of task whose lessons may be found anew."""
        lessons = [m for m in (*self.gone, *(before for before, _ in self.kept)) if is_lesson(m)]
        return sorted({m.task_type for m in lessons if m.task_type})


async def rejudged(tenant: str, gone: Sequence[Memory], tools: Tools) -> Rejudged:
    """Look through all that was derived, until nothing more follows."""
    derived = await _derived(tenant, tools)
    lost = {memory.id for memory in gone}
    done = Rejudged()
    while True:
        touched = [m for m in derived if m.id not in lost and lost & set(m.source.derived_from)]
        doomed = [m for m in touched if not await _stands(m, lost, tools)]
        if not doomed:
            done.kept = [(m, _weaker(m, lost, tools)) for m in touched]
            return done
        done.gone += doomed
        lost |= {m.id for m in doomed}


async def _derived(tenant: str, tools: Tools) -> list[Memory]:
    states = tuple(state.value for state in State if state is not State.FORGOTTEN)
    where = Where((Condition("source_kind", "eq", SourceKind.REFLECTION.value), Condition("state", "in", states)))
    found: list[Memory] = []
    before: tuple[int, str] | None = None
    while keys := await tools.index.page(tenant, where, before, PAGE):
        found += (await tools.index.get(tenant, [id_ for _, id_ in keys])).values()
        before = keys[-1]
    return found


async def _stands(memory: Memory, lost: set[str], tools: Tools) -> bool:
    left = [id_ for id_ in memory.source.derived_from if id_ not in lost]
    if len(left) < (2 if is_lesson(memory) else 1):
        return False
    sources = (await tools.index.get(memory.tenant, left)).values()
    texts = [m.text for m in sources if m.state is not State.FORGOTTEN]
    said = [memory.text, *(v for v in (memory.data or {}).values() if isinstance(v, str) and not is_lesson(memory))]
    return all(is_grounded(text, [*texts, memory.task_type or ""], WHOLE) for text in said)


def _weaker(memory: Memory, lost: set[str], tools: Tools) -> Memory:
    held = memory.source.derived_from
    left = tuple(id_ for id_ in held if id_ not in lost)
    return memory.model_copy(
        update={
            "source": memory.source.model_copy(update={"derived_from": left}),
            "confidence": round(memory.confidence * len(left) / len(held), 3),
            "version": memory.version + 1,
            "updated_at": tools.clock.now(),
        }
    )
