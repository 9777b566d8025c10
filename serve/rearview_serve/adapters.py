"""Ports of the domain behind Ray Serve handles, and Ray's errors turned into ours."""

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any

from ray.exceptions import RayError, RayTaskError
from ray.serve.exceptions import RayServeException
from ray.serve.handle import DeploymentHandle

from rearview_pipelines.errors import RearviewError, Unavailable
from rearview_pipelines.lifecycle.jobs import Job
from rearview_pipelines.memory import Memory, Outcome
from rearview_pipelines.models.files import ModelCard
from rearview_pipelines.models.opening import Facts
from rearview_pipelines.ports import Changes, EmbeddedPart, Passage, Vector
from rearview_pipelines.principal import Principal
from rearview_pipelines.recall.boosts import Standing
from rearview_pipelines.receipts import Receipt
from rearview_pipelines.reflect.lessons import Reinforcement
from rearview_pipelines.requests import ObserveRequest
from rearview_pipelines.sessions.state import State
from rearview_pipelines.sessions.working import Session
from rearview_pipelines.stores.packing import Row
from rearview_pipelines.write.gone import Forgotten, Scope
from rearview_pipelines.write.handouts import Handout
from rearview_pipelines.write.item import Item
from rearview_pipelines.write.usage import Use


@asynccontextmanager
async def translated(part: str) -> AsyncIterator[None]:
    """Our own errors as they were raised; anything of Ray's as Unavailable."""
    try:
        yield
    except RayTaskError as error:
        cause = error.cause
        if isinstance(cause, RearviewError):
            raise cause from None
        raise Unavailable(f"{part} failed: {type(cause).__name__}") from error
    except (RayError, RayServeException) as error:
        raise Unavailable(f"{part} does not answer: {type(error).__name__}") from error


class HandleEmbedder:
    """`Embedder` in the Embed deployment; what it is, from its card."""

    def __init__(self, handle: DeploymentHandle, facts: Facts) -> None:
        self._handle = handle
        self.name = facts.name
        self.dimension = facts.dimension
        self.languages = facts.languages

    async def documents(self, passages: Sequence[Passage]) -> list[tuple[EmbeddedPart, ...]]:
        if not passages:
            return []
        async with translated("Embed"):
            return await self._handle.documents.remote(list(passages))  # type: ignore[no-any-return]

    async def query(self, text: str) -> Vector:
        async with translated("Embed"):
            return await self._handle.query.remote(text)  # type: ignore[no-any-return]


class HandleReranker:
    """`Reranker` in the Rerank deployment."""

    def __init__(self, handle: DeploymentHandle, card: ModelCard) -> None:
        self._handle = handle
        self.name = card.identity

    async def scores(self, query: str, texts: Sequence[str]) -> list[float]:
        async with translated("Rerank"):
            return await self._handle.scores.remote(query, list(texts))  # type: ignore[no-any-return]


class HandleLate:
    """`LateInteraction` in the Rerank deployment."""

    def __init__(self, handle: DeploymentHandle, card: ModelCard) -> None:
        self._handle = handle
        self.name = card.identity
        self.marks = card.marks
        self.languages = card.known_languages

    async def prepare(self, query: str) -> None:
        async with translated("Rerank"):
            await self._handle.prepare.remote(query)

    async def best(self, tenant: str, query: str, ids: Sequence[str]) -> Vector:
        async with translated("Rerank"):
            return await self._handle.best.remote(tenant, query, list(ids))  # type: ignore[no-any-return]


class HandleWriter:
    """The one writer, in the Write deployment."""

    def __init__(self, handle: DeploymentHandle) -> None:
        self._handle = handle

    async def write(self, principal: Principal, items: list[Item], idempotency_key: str | None = None) -> list[Receipt]:
        async with translated("Write"):
            return await self._handle.write.remote(principal, items, idempotency_key)  # type: ignore[no-any-return]

    async def patch(self, principal: Principal, id_: str, changes: Mapping[str, Any], if_match: int | None) -> Receipt:
        async with translated("Write"):
            return await self._handle.patch.remote(principal, id_, dict(changes), if_match)  # type: ignore[no-any-return]

    async def changes(self, tenant: str, epoch: str, since: int) -> Changes:
        async with translated("Write"):
            return await self._handle.changes.remote(tenant, epoch, since)  # type: ignore[no-any-return]

    async def forget(self, principal: Principal, scope: Scope) -> Forgotten:
        async with translated("Write"):
            return await self._handle.forget.remote(principal, scope)  # type: ignore[no-any-return]

    async def start_job(self, tenant: str, kind: str, parameters: Mapping[str, Any]) -> Job:
        async with translated("Write"):
            return await self._handle.start_job.remote(tenant, kind, dict(parameters))  # type: ignore[no-any-return]

    async def archive(self, tenant: str, ids: Sequence[str]) -> list[str]:
        async with translated("Write"):
            return await self._handle.archive.remote(tenant, list(ids))  # type: ignore[no-any-return]

    async def expire(self, tenant: str, versions: Mapping[str, int]) -> list[str]:
        async with translated("Write"):
            return await self._handle.expire.remote(tenant, dict(versions))  # type: ignore[no-any-return]

    async def reinforce(self, tenant: str, again: Sequence[Reinforcement]) -> int:
        async with translated("Write"):
            return await self._handle.reinforce.remote(tenant, list(again))  # type: ignore[no-any-return]

    async def merge(self, tenant: str, keep: str, others: Sequence[str]) -> int:
        async with translated("Write"):
            return await self._handle.merge.remote(tenant, keep, list(others))  # type: ignore[no-any-return]

    async def tidy(self, tenant: str, least: float) -> int:
        async with translated("Write"):
            return await self._handle.tidy.remote(tenant, least)  # type: ignore[no-any-return]

    async def uses(self, tenant: str) -> Mapping[str, Use]:
        async with translated("Write"):
            return await self._handle.uses.remote(tenant)  # type: ignore[no-any-return]

    async def restore(self, tenant: str, rows: Sequence[Row]) -> dict[str, int]:
        async with translated("Write"):
            return await self._handle.restore.remote(tenant, list(rows))  # type: ignore[no-any-return]

    async def bury(self, tenant: str, ids: Sequence[str]) -> int:
        async with translated("Write"):
            return await self._handle.bury.remote(tenant, list(ids))  # type: ignore[no-any-return]

    async def observe(
        self, principal: Principal, request: ObserveRequest, idempotency_key: str | None = None
    ) -> list[Receipt]:
        async with translated("Write"):
            return await self._handle.observe.remote(principal, request, idempotency_key)  # type: ignore[no-any-return]

    async def start_session(
        self,
        principal: Principal,
        session: str,
        agent: str,
        user: str,
        goal: str | None,
        seeds: Sequence[str],
        preferences: Sequence[str],
    ) -> Session:
        call = self._handle.start_session
        async with translated("Write"):
            return await call.remote(principal, session, agent, user, goal, list(seeds), list(preferences))  # type: ignore[no-any-return]

    async def put_session(
        self, principal: Principal, session: str, agent: str, user: str, version: int, state: State
    ) -> Session:
        call = self._handle.put_session
        async with translated("Write"):
            return await call.remote(principal, session, agent, user, version, state)  # type: ignore[no-any-return]

    async def end_session(
        self, principal: Principal, session: str, agent: str, user: str, outcome: Outcome | None
    ) -> list[Receipt]:
        call = self._handle.end_session
        async with translated("Write"):
            return await call.remote(principal, session, agent, user, outcome)  # type: ignore[no-any-return]

    async def release(self, principal: Principal, id_: str) -> Memory:
        async with translated("Write"):
            return await self._handle.release.remote(principal, id_)  # type: ignore[no-any-return]

    async def resign(self, tenant: str, ids: Sequence[str], kid: str) -> int:
        async with translated("Write"):
            return await self._handle.resign.remote(tenant, list(ids), kid)  # type: ignore[no-any-return]

    async def handout(self, tenant: str, recall_id: str) -> Handout | None:
        async with translated("Write"):
            return await self._handle.handout.remote(tenant, recall_id)  # type: ignore[no-any-return]

    async def feedback(self, tenant: str, id_: str, who: str, *, used: bool | None, helpful: bool | None) -> Use:
        async with translated("Write"):
            return await self._handle.feedback.remote(tenant, id_, who, used, helpful)  # type: ignore[no-any-return]

    async def standing(self, tenant: str) -> Mapping[str, Standing]:
        async with translated("Write"):
            return await self._handle.standing.remote(tenant)  # type: ignore[no-any-return]

    async def handed(self, handout: Handout) -> None:
        async with translated("Write"):
            await self._handle.handed.remote(handout)
