"""A cross-encoder over the head of the order: an option, at 23 ms a pair and little gain over late interaction."""

import asyncio
import logging
import time
from dataclasses import replace

from rearview_pipelines.ports import MemoryIndex, Reranker
from rearview_pipelines.recall import present
from rearview_pipelines.recall.present import Seen
from rearview_pipelines.requests import RecallRequest

log = logging.getLogger(__name__)
LONG_CHARACTERS = 1000
"""A longer text may have several parts; the model reads the one that matched."""
SHARE = 0.4
"""Of the deadline that it may take."""
MOST_SECONDS = 1.0
FIRST_DEPTH, DEPTH = 8, 40
"""Pairs compared before their cost is known, and at most."""
WEIGHT = 1.0
"""Its scores, spread over 0 to this, are added to the fused z-scores."""


class CrossStage:
    """`reranker` of None: the stage does nothing. The cost of a pair is measured as it runs."""

    def __init__(self, index: MemoryIndex, reranker: Reranker | None) -> None:
        self._index = index
        self._reranker = reranker
        self._pair_seconds: float | None = None

    async def reranked(
        self, tenant: str, request: RecallRequest, hits: list[Seen], degraded: list[str], notes: dict[str, object]
    ) -> list[Seen]:
        """The same hits, the first so many in a new order if the model answers in time."""
        if self._reranker is None:
            notes["reranker"] = "off: no cross-encoder is configured"
            return hits
        seconds = min(SHARE * request.deadline_ms / 1000, MOST_SECONDS)
        depth = FIRST_DEPTH if self._pair_seconds is None else int(seconds / self._pair_seconds)
        depth = min(depth, DEPTH, len(hits))
        if depth < 2:
            notes["reranker"] = "skipped: fewer than two pairs fit into the deadline"
            return hits
        head = hits[:depth]
        began = time.monotonic()
        try:
            async with asyncio.timeout(seconds):
                spans = await self._index.spans(tenant, present.too_long(head, LONG_CHARACTERS))
                scores = await self._reranker.scores(request.query, [present.part_text(s, spans) for s in head])
        except Exception as error:  # the model's own errors too: the order stays as it is
            log.warning("reranker skipped: %s", type(error).__name__)
            degraded.append("reranker")
            notes["reranker"] = f"skipped: {type(error).__name__}"
            self._note(2 * max(time.monotonic() - began, seconds) / depth)  # so that the next try takes half as many
            return hits
        self._note((time.monotonic() - began) / depth)
        notes["reranker"] = f"{self._reranker.name} ordered the first {depth}"
        low = min(scores)
        span = (max(scores) - low) or 1.0
        found = [
            replace(seen, order=seen.order + WEIGHT * (score - low) / span, boosts={**seen.boosts, "reranker": score})
            for seen, score in zip(head, scores, strict=True)
        ]
        return [*sorted(found, key=lambda s: -s.order), *hits[depth:]]

    def _note(self, seconds: float) -> None:
        before = self._pair_seconds
        self._pair_seconds = seconds if before is None else 0.7 * before + 0.3 * seconds
