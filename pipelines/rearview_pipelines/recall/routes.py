"""Ask the index by every route that the mode and the language allow, side by side, in time."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from rearview_pipelines.errors import RearviewError
from rearview_pipelines.ports import Embedder, Match, MemoryIndex, Vector, Where
from rearview_pipelines.requests import RecallRequest
from rearview_pipelines.text.analyse import terms_of
from rearview_pipelines.text.language import language_of

log = logging.getLogger(__name__)

MAX_QUERY_TERMS = 64
"""Distinct terms asked for; a query pasted from a document says no more after that."""


@dataclass
class Found:
    routes: dict[str, list[Match]] = field(default_factory=dict)
    degraded: list[str] = field(default_factory=list)
    vector: Vector | None = None


async def ask(
    request: RecallRequest,
    where: Where,
    limit: int,
    seconds: float,
    *,
    tenant: str,
    index: MemoryIndex,
    embedder: Embedder,
) -> Found:
    """Matches by route. A route that fails or is late is named in `degraded`, never raised."""
    found = Found()
    fresh = request.after is not None
    following = asyncio.ensure_future(index.follow(tenant))  # while the query is embedded
    calls: dict[str, Callable[[], Awaitable[list[Match]]]] = {}

    async def dense() -> list[Match]:
        found.vector = await embedder.query(request.query)
        await following
        return await index.dense(tenant, where, found.vector, limit, fresh=fresh)

    async def keyword() -> list[Match]:
        terms = list(dict.fromkeys(terms_of(request.query)))[:MAX_QUERY_TERMS]
        await following
        return await index.keyword(tenant, where, terms, limit, fresh=fresh)

    if request.mode in ("hybrid", "semantic"):
        if request.mode == "semantic" or knows(embedder, request.query):
            calls["dense"] = dense
        else:
            found.degraded.append("language")
    if request.mode in ("hybrid", "keyword", "exact"):
        calls["keyword"] = keyword
    tasks = {name: asyncio.ensure_future(call()) for name, call in calls.items()}
    done, late = await asyncio.wait(tasks.values(), timeout=max(seconds, 0.0))
    for task in late:
        task.cancel()
    following.cancel()
    for name, task in tasks.items():
        word = {"dense": "embedder", "keyword": "keyword"}[name]
        if task not in done:
            found.degraded += [word, "deadline"]
        elif error := task.exception():
            log.warning("route %s failed: %s", name, type(error).__name__)
            if not isinstance(error, RearviewError):
                log.debug("its cause", exc_info=error)
            found.degraded.append(word)
        else:
            found.routes[name] = task.result()
    if not found.routes and tasks:
        found.degraded.append("index")
    return found


def knows(embedder: Embedder, text: str) -> bool:
    """Whether the embedder was trained on the language of a text; one that cannot tell, does."""
    language = language_of(text)
    return embedder.languages is None or language == "und" or language in embedder.languages
