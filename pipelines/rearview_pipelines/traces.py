"""After a recall: what was handed out and where it came from, and what the caller thought of it."""

import asyncio
import logging
import time
from collections.abc import Mapping
from typing import Any, Protocol

from rearview_pipelines.errors import InvalidInput, NotFound, RearviewError
from rearview_pipelines.memory import Memory, State
from rearview_pipelines.ports import MemoryIndex
from rearview_pipelines.principal import Principal, Role
from rearview_pipelines.recall.boosts import Standing
from rearview_pipelines.requests import FeedbackRequest
from rearview_pipelines.write.handouts import Handout
from rearview_pipelines.write.identity import is_memory_id
from rearview_pipelines.write.usage import Use

log = logging.getLogger(__name__)
STANDING_SECONDS = 30.0
"""For which what callers thought of memories is taken as it was last heard."""


class UsePort(Protocol):
    """The writer, as far as it keeps what was handed out and how it was used."""

    async def handout(self, tenant: str, recall_id: str) -> Handout | None: ...

    async def feedback(self, tenant: str, id_: str, who: str, *, used: bool | None, helpful: bool | None) -> Use: ...

    async def standing(self, tenant: str) -> Mapping[str, Standing]: ...


class Traces:
    def __init__(self, writer: UsePort, index: MemoryIndex) -> None:
        self._writer = writer
        self._index = index
        self._standing: dict[str, tuple[float, Mapping[str, Standing]]] = {}
        self._asking: dict[str, asyncio.Task[None]] = {}

    def standing(self, tenant: str) -> Mapping[str, Standing]:
        """What is known of a tenant's memories without waiting; asked for anew in the background when it is old."""
        heard, known = self._standing.get(tenant, (-STANDING_SECONDS, {}))
        if time.monotonic() - heard >= STANDING_SECONDS and tenant not in self._asking:
            self._asking[tenant] = asyncio.ensure_future(self._ask(tenant))
        return known

    async def _ask(self, tenant: str) -> None:
        try:
            self._standing[tenant] = (time.monotonic(), await self._writer.standing(tenant))
        except RearviewError as error:
            log.debug("what callers thought of memories is not known: %s", type(error).__name__)
        finally:
            self._asking.pop(tenant, None)

    async def handed_out(self, principal: Principal, recall_id: str) -> tuple[Handout, dict[str, Memory]]:
        """A recall of the principal's own, or for an admin anybody's, and what is left of it. Raises NotFound."""
        handout = await self._writer.handout(principal.tenant, recall_id)
        if handout is None or not (handout.principal == principal.id or _oversees(principal, handout)):
            raise NotFound("no such recall")
        return handout, await self._index.get(principal.tenant, list(handout.ids))

    async def feedback(self, principal: Principal, request: FeedbackRequest) -> Use:
        """Note what the caller thought of a memory. A reader only of what it was handed.

        Raises NotFound for what it cannot see, InvalidInput, Forbidden.
        """
        if request.recall_id is not None:
            handout, _ = await self.handed_out(principal, request.recall_id)
            if request.id not in handout.ids:
                raise InvalidInput.one("id", "was not handed out by that recall", "send an id of its answer")
        else:
            principal.require_writer()
        if not is_memory_id(request.id):
            raise NotFound()
        memory = (await self._index.get(principal.tenant, [request.id])).get(request.id)
        if memory is None or memory.state is State.FORGOTTEN or not principal.sees(memory):
            raise NotFound()
        use = await self._writer.feedback(
            principal.tenant, request.id, principal.id, used=request.used, helpful=request.helpful
        )
        heard, known = self._standing.get(principal.tenant, (0.0, {}))
        self._standing[principal.tenant] = (heard, {**known, request.id: use.standing})
        return use


def _oversees(principal: Principal, handout: Handout) -> bool:
    """Whether an admin's credential covers the agent and user that a recall was for."""
    agent = principal.agent is None or principal.agent == handout.agent
    user = principal.user is None or principal.user == handout.user
    return principal.role is Role.ADMIN and agent and user


def shown_recall(handout: Handout, memories: Mapping[str, Memory]) -> dict[str, Any]:
    """A recall as callers see it: no text, only what was handed out and where each came from."""
    return {
        "recall_id": handout.recall_id,
        "at": handout.at,
        "agent": handout.agent or None,
        "user": handout.user or None,
        "session": handout.session or None,
        "memories": [_shown(id_, memories.get(id_)) for id_ in handout.ids],
    }


def _shown(id_: str, memory: Memory | None) -> dict[str, Any]:
    if memory is None or memory.state is State.FORGOTTEN:
        return {"id": id_, "state": State.FORGOTTEN.value}
    return {
        "id": id_,
        "state": memory.state.value,
        "version": memory.version,
        "ref": memory.ref,
        "trust": memory.trust.value,
        "source": memory.source.model_dump(mode="json"),
        "session": memory.session,
        "created_at": memory.created_at.isoformat(),
    }
