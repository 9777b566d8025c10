"""A second rendition of what is written, with vectors of the model that a store moves to, or has just moved from.

Its record differs in the model and in the digest of what is derived; the ledger vouches for both.
"""

import logging
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from rearview_pipelines.errors import RearviewError
from rearview_pipelines.ledger.events import Event, Op, event_of
from rearview_pipelines.memory import Memory, State
from rearview_pipelines.ports import Embedder, Part, Passage
from rearview_pipelines.stores.milvus import MilvusIndex
from rearview_pipelines.write.embed import context_of, draft_of
from rearview_pipelines.write.keys import KeyRing
from rearview_pipelines.write.signing import digest_of_parts, signed

log = logging.getLogger(__name__)
Row = tuple[Memory, Sequence[Part]]


@dataclass
class Second:
    """The collection beside and its model. `missed`: (tenant, id) of what could not be rendered: to be done again."""

    embedder: Embedder
    index: MilvusIndex
    missed: set[tuple[str, str]] = field(default_factory=set)

    async def rendered(self, rows: Sequence[Row], ring: KeyRing) -> tuple[list[Row], list[Event]]:
        """The same memories for the other model, and the events that vouch for them. Raises Unavailable."""
        texts = [(memory, parts) for memory, parts in rows if memory.state is not State.FORGOTTEN and parts]
        passages = [
            Passage(context_of(draft_of(memory)), memory.text[part.start : part.end])
            for memory, parts in texts
            for part in parts
        ]
        made = iter(await self.embedder.documents(passages))
        out: list[Row] = []
        events: list[Event] = []
        for memory, parts in rows:
            fresh: list[Part] = []
            if memory.state is not State.FORGOTTEN:
                fresh = [_with(part, [piece.vector for piece in next(made)]) for part in parts]
            after, digest = signed(
                memory.model_copy(update={"embedding_model": self.embedder.name, "derived": digest_of_parts(fresh)})
                if fresh
                else memory,
                ring,
            )
            out.append((after, fresh))
            if fresh:
                events.append(event_of(Op.RENDER, after, digest))
        return out, events

    async def also(self, rows: Sequence[Row], ring: KeyRing) -> tuple[list[Row], list[Event]]:
        """The same, for a write that must not fail because of it: what cannot be rendered is noted."""
        try:
            return await self.rendered(rows, ring)
        except RearviewError as error:
            log.warning("%d memories were not rendered for the other model: %s", len(rows), type(error).__name__)
            self.miss(rows)
            return [], []

    async def copy(self, rows: Sequence[Row]) -> None:
        """Write renditions beside; what fails is noted."""
        if not rows:
            return
        try:
            await self.index.copy(rows)
        except RearviewError as error:
            log.warning("%d renditions were not written: %s", len(rows), type(error).__name__)
            self.miss(rows)

    def miss(self, rows: Sequence[Row]) -> None:
        self.missed.update((memory.tenant, memory.id) for memory, _ in rows)


def _with(part: Part, vectors: Sequence[np.ndarray]) -> Part:
    """The part with the other model's vector: the mean direction, where that model cuts it once more."""
    mean = np.mean(np.stack(vectors), axis=0) if len(vectors) > 1 else vectors[0]
    norm = float(np.linalg.norm(mean))
    unit = (mean / norm if norm else mean).astype(np.float32)
    return Part(part.number, part.start, part.end, part.terms, unit, part.tokens, part.late)
