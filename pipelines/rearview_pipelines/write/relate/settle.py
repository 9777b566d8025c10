"""What a dispute leaves when one side is gone: the other stands. Facts that waited for it are free."""

from collections.abc import Sequence

from rearview_pipelines.ledger.events import Op
from rearview_pipelines.memory import Memory, State
from rearview_pipelines.write.item import Tools, Work
from rearview_pipelines.write.known import is_sound, stands, waits_for_outcome

CONTRADICTS = "contradicts"


async def settle_disputes(gone: Sequence[Memory], work: Work, tools: Tools) -> None:
    """Let stand what was pending only because it contradicted what is `gone` now: forgotten or superseded."""
    ended = {memory.id for memory in gone}
    for memory in gone:
        for other in await _others(memory, tools):
            held = work.now(other)
            if held.id in ended or held.state is not State.PENDING or waits_for_outcome(held):
                continue
            if not is_sound(other, tools) or await _is_disputed(held, ended, work, tools):
                continue
            update = {"state": State.ACTIVE, "version": held.version + 1, "updated_at": tools.clock.now()}
            work.change(Op.UPDATE, other, held.model_copy(update=update))


async def _others(memory: Memory, tools: Tools) -> list[Memory]:
    ids = [r.id for r in memory.related if r.relation == CONTRADICTS]
    found = await tools.index.get(memory.tenant, ids) if ids else {}
    return [found[id_] for id_ in ids if id_ in found]


async def _is_disputed(memory: Memory, ended: set[str], work: Work, tools: Tools) -> bool:
    now = tools.clock.now()
    others = [work.now(other) for other in await _others(memory, tools) if other.id not in ended]
    return any(other.state is State.ACTIVE and stands(other, now) for other in others)
