"""To another embedding model, in place: a second collection, written beside, filled from verified text, compared, and
put in the place of the first. The service answers all the while, and never compares vectors of two models.

What is noted in the object store says where a kill found it: the next start goes on from there.
"""

import json
import logging
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Protocol

from rearview_pipelines.errors import Conflict, InvalidInput, Unavailable
from rearview_pipelines.ledger.ledger import LedgerReader
from rearview_pipelines.lifecycle.jobs import Job, Progress
from rearview_pipelines.memory import State
from rearview_pipelines.ports import Embedder, MemoryIndex, ObjectStore
from rearview_pipelines.stores.milvus import MilvusIndex

log = logging.getLogger(__name__)
STATE, MODEL = "migration/state.json", "migration/model.json"
BATCH = 32
"""Memories embedded at a time."""
SAMPLE, NEAREST = 50, 10
"""Queries that are asked of both models, and what each of them finds, to be compared."""
LEAST_AGREEMENT = 0.2
"""Share of the same among what both find, below which nothing is switched: another model differs, a broken one more."""
ROUNDS = 5


@dataclass(frozen=True)
class Migration:
    """Where a migration stands. `phase`: backfill, or kept: it is done and may be taken back, `old` is kept in step."""

    model: str
    to: str
    before: str
    collection: str
    phase: str
    old: str = ""


@dataclass(frozen=True)
class InForce:
    """The model that a store has moved to from `before`: its identity, and what it was named by."""

    identity: str
    model: str
    before: str


class Migrations:
    """The note in the object store. Raises Unavailable."""

    def __init__(self, objects: ObjectStore) -> None:
        self._objects = objects

    async def get(self) -> Migration | None:
        raw = await self._objects.get(STATE)
        return Migration(**json.loads(raw)) if raw else None

    async def put(self, migration: Migration | None) -> None:
        if migration is None:
            await self._objects.delete(STATE)
        else:
            await self._objects.put(STATE, json.dumps(asdict(migration)).encode())

    async def in_force(self) -> InForce | None:
        """The model that the store has moved to; None if it has not moved."""
        raw = await self._objects.get(MODEL)
        return InForce(**json.loads(raw)) if raw else None

    async def moved(self, model: InForce | None) -> None:
        """Note it, so that a process that is configured with the model of before takes the right one."""
        if model is None:
            await self._objects.delete(MODEL)
        else:
            await self._objects.put(MODEL, json.dumps(asdict(model)).encode())


class Mover(Protocol):
    """The writer, as far as it writes for two models."""

    async def begin_beside(self, embedder: Embedder, name: str | None) -> str: ...

    async def end_beside(self) -> None: ...

    async def render(self, tenant: str, ids: Sequence[str]) -> int: ...

    async def take_place(self, name: str, kept: Embedder | None) -> str: ...


class ModelSource(Protocol):
    """Embedding models as this process can have them."""

    async def open_model(self, name: str) -> Embedder:
        """The one that a name or a folder stands for. Raises InvalidInput, SetupError."""
        ...

    async def by_identity(self, identity: str) -> Embedder:
        """The one that a collection was made with. Raises Unavailable."""
        ...


@dataclass(frozen=True)
class Migrate:
    """The handler of migrate jobs."""

    mover: Mover
    index: MemoryIndex
    milvus: MilvusIndex
    reader: LedgerReader
    migrations: Migrations
    models: ModelSource

    async def __call__(self, job: Job, progress: Progress) -> None:
        if job.parameters.get("rollback"):
            await self._roll_back(progress)
        elif job.parameters.get("finish"):
            await self._finish(progress)
        else:
            await self._migrate(job, progress)

    async def _migrate(self, job: Job, progress: Progress) -> None:
        model = str(job.parameters.get("model") or "")
        if not model:
            raise InvalidInput.one("model", "is missing", "name the model to move to")
        target = await self.models.open_model(model)
        now = await self.migrations.get()
        if now is not None and now.phase == "kept" and now.to == target.name:
            await progress.at(0, 0, model=target.name, switched=True)
            return  # it was killed after it was done
        if now is not None and now.phase == "backfill" and target.name == self.milvus.model:
            await self.migrations.put(None)  # it was killed after the alias had moved
            await progress.at(0, 0, model=target.name, switched=True)
            return
        if target.name == self.milvus.model:
            raise Conflict(f"the store is of the model {target.name} already")
        if now is not None and now.phase == "kept":
            await self._finish(progress)
            now = None
        if now is not None and now.to != target.name:
            raise Conflict(f"the store is moving to {now.to}: let that end, or roll it back first")
        if now is None:
            before = self.milvus.model
            name = await self.mover.begin_beside(target, None)
            now = Migration(model, target.name, before, name, "backfill")
            await self.migrations.put(now)
        await self._fill(progress)
        agreement = await self._agreement(target)
        least = float(job.parameters.get("agreement", LEAST_AGREEMENT))
        await progress.at(progress.job.done, agreement=round(agreement, 3), model=target.name)
        if agreement < least:
            await self.mover.end_beside()
            await self.migrations.put(None)
            raise Conflict(
                f"the models agree on {agreement:.2f} of what they find, {least:g} was asked for: nothing was switched"
            )
        # Noted before the alias moves: a start takes whichever of the two the alias names then.
        await self.migrations.moved(InForce(target.name, model, now.before))
        old = await self._switched(now, progress)
        await self.migrations.put(Migration(model, now.to, now.before, now.collection, "kept", old))
        await progress.at(progress.job.done, switched=True)

    async def _fill(self, progress: Progress) -> None:
        """Render what the collection beside has not, or has of an older version; twice at most is something missed."""
        await self.reader.followed()
        for _ in range(ROUNDS):
            left: list[tuple[str, list[str]]] = []
            total = 0
            for tenant in self.reader.head.tenants():
                ids = await self.index.ids(tenant)
                there = await self.milvus.copied(tenant)
                versions = {id_: self.reader.head.get(tenant, id_) for id_ in ids}
                missing = [i for i in ids if (held := versions[i]) is not None and there.get(i) != held.version]
                missing = [i for i in missing if (held := versions[i]) is not None and not held.cold]
                total += len(ids)
                left.append((tenant, missing))
            waiting = sum(len(missing) for _, missing in left)
            await progress.at(total - waiting, total)
            if not waiting:
                return
            rendered = 0
            for tenant, missing in left:
                for start in range(0, len(missing), BATCH):
                    rendered += await self.mover.render(tenant, missing[start : start + BATCH])
                    await progress.at(total - waiting + rendered, total)
            if not rendered:
                break  # what is left is not as it was signed: it is not carried over, and `verify` names it
        log.warning("some memories are not as they were signed and recorded: they are not carried over")

    async def _agreement(self, target: Embedder) -> float:
        """Share of the ten nearest that both models find, over texts of the store as queries."""
        shares = []
        before = await self.models.by_identity(self.milvus.model)
        for tenant in self.reader.head.tenants():
            ids = await self.index.ids(tenant)
            chosen = ids[:: max(1, len(ids) // SAMPLE)][:SAMPLE]
            for memory in (await self.index.get(tenant, chosen)).values():
                if memory.state is not State.ACTIVE:
                    continue
                text = memory.text[:200]
                here = await self.milvus.nearest(tenant, await before.query(text), NEAREST, beside=False)
                there = await self.milvus.nearest(tenant, await target.query(text), NEAREST, beside=True)
                if here and there:
                    shares.append(len(set(here) & set(there)) / max(1, min(len(here), len(there))))
        return sum(shares) / len(shares) if shares else 1.0

    async def _switched(self, now: Migration, progress: Progress) -> str:
        for _ in range(ROUNDS):
            try:
                return await self.mover.take_place(now.collection, await self.models.by_identity(now.before))
            except Unavailable:
                if not self.milvus.mirrors:  # it missed a delete: there is no telling what is in it
                    await self.mover.end_beside()
                    await self.migrations.put(None)
                    raise
                await self._fill(progress)
        raise Unavailable("writes outrun the migration: it is tried again")

    async def _roll_back(self, progress: Progress) -> None:
        """Before the switch: drop what was begun. After it: take the old collection back, which was kept in step."""
        now = await self.migrations.get()
        if now is None:
            raise Conflict("there is no migration to take back")
        if now.phase == "backfill":
            await self.mover.end_beside()
        else:
            for _ in range(ROUNDS):
                try:
                    await self._fill(progress)  # what was missed before the last restart, too
                    await self.mover.take_place(now.old, None)
                    break
                except Unavailable as error:
                    log.warning("the way back is not free yet: %s", error.detail)
            else:
                raise Unavailable("writes outrun the way back: it is tried again")
            await self.migrations.moved(None)
            await self.mover.end_beside()
        await self.migrations.put(None)
        await progress.at(0, 0, rolled_back=True, model=self.milvus.model)

    async def let_go(self, progress: Progress) -> None:
        """Finish a migration that is kept: forgetting outranks the way back. Raises Unavailable while one fills."""
        now = await self.migrations.get()
        if now is not None and now.phase == "kept":
            await self._finish(progress)

    async def _finish(self, progress: Progress) -> None:
        """Keep the old collection no longer."""
        now = await self.migrations.get()
        if now is None or now.phase != "kept":
            raise Conflict("there is no migration that waits to be finished")
        await self.mover.end_beside()
        await self.migrations.put(None)
        await progress.at(0, 0, finished=True, model=self.milvus.model)


async def taken_up(migrations: Migrations, mover: Mover, models: ModelSource, live: str) -> Migration | None:
    """At the start, before the first write: write for both models again, if a migration was under way or is kept.

    `live`: the collection that the alias names.
    """
    now = await migrations.get()
    if now is not None and now.phase == "kept" and live == now.old:  # killed on the way back, when it was done
        await migrations.moved(None)
        await migrations.put(None)
        return None
    if now is not None and not (now.phase == "backfill" and live == now.collection):
        backfills = now.phase == "backfill"
        model, name = (now.to, now.collection) if backfills else (now.before, now.old)
        await mover.begin_beside(await models.by_identity(model), name)
    return now
