"""Stored and recorded, or neither: what a failing ledger, a failing index and a crash in between leave behind."""

import json
from typing import Any

import pytest

from rearview_pipelines.errors import Unavailable
from rearview_pipelines.ledger.events import Op
from rearview_pipelines.ledger.ledger import Ledger
from rearview_pipelines.memory import Signature, State
from rearview_pipelines.principal import Principal
from rearview_pipelines.recall.pipeline import RecallPipeline
from rearview_pipelines.receipts import Receipt, Status
from rearview_pipelines.requests import ForgetRequest, RecallRequest, WriteRequest, parse
from rearview_pipelines.service import MemoryService, Trust
from rearview_pipelines.testing import FakeClock, HashEmbedder, MemoryIndexInMemory, ObjectStoreInMemory
from rearview_pipelines.write.item import Tools
from rearview_pipelines.write.keys import KeyRing
from rearview_pipelines.write.signing import digest
from rearview_pipelines.write.writer import Writer


async def write(service: MemoryService, who: Principal, *texts: str, **fields: Any) -> list[Receipt]:
    return await service.write(who, parse(WriteRequest, {"memories": [{"text": t} | fields for t in texts]}))


class Cut(ObjectStoreInMemory):
    """Fails when a batch of the ledger is appended, and only then."""

    def __init__(self) -> None:
        super().__init__()
        self.cut = False

    async def put(self, key: str, data: bytes, *, new: bool = False, fleeting: bool = False) -> None:
        if self.cut and new:
            raise Unavailable("the disk is full")
        await super().put(key, data, new=new)


@pytest.fixture
def objects() -> Cut:
    return Cut()


async def test_a_write_that_cannot_be_recorded_is_taken_back(
    service: MemoryService, admin: Principal, index: MemoryIndexInMemory, objects: Cut, ledger: Ledger
) -> None:
    [kept] = await write(service, admin, "tea is green", key="tea")
    before = dict(index.rows)
    objects.cut = True
    for attempt in (
        lambda: write(service, admin, "coffee is black"),
        lambda: write(service, admin, "tea is red", key="tea"),
        lambda: service.patch(admin, str(kept.id), {"tags": ["x"]}),
        lambda: service.forget(admin, ForgetRequest(ids=(str(kept.id),))),
    ):
        with pytest.raises(Unavailable):
            await attempt()
        assert {k: v[0].model_dump() for k, v in index.rows.items()} == {
            k: v[0].model_dump() for k, v in before.items()
        }
    objects.cut = False
    [again] = await write(service, admin, "coffee is black")
    assert again.status is Status.STORED
    assert ledger.head.get("default", str(again.id)) is not None


async def test_what_a_crash_left_unrecorded_is_adopted(
    service: MemoryService,
    admin: Principal,
    index: MemoryIndexInMemory,
    embedder: HashEmbedder,
    ring: KeyRing,
    clock: FakeClock,
    objects: Cut,
) -> None:
    async def no_take_back(tenant: str, ids: list[str]) -> None:
        raise Unavailable("killed before it could")

    real = index.remove
    index.remove = no_take_back  # type: ignore[method-assign]
    objects.cut = True
    with pytest.raises(Unavailable):
        await write(service, admin, "tea is green")
    objects.cut, index.remove = False, real  # type: ignore[method-assign]
    ledger = Ledger(objects, ring, None, clock.now)
    writer = Writer(Tools(index, embedder, ring, clock, ledger))
    await writer.ping()
    [id_] = index.rows
    events = await ledger.events_of("default", id_)
    assert [e["op"] for e in events] == [Op.ADOPT.value]


@pytest.mark.parametrize("signature", ["none", "made up"])
async def test_a_forged_row_is_never_adopted_nor_signed_anew(
    admin: Principal,
    index: MemoryIndexInMemory,
    embedder: HashEmbedder,
    ring: KeyRing,
    clock: FakeClock,
    objects: Cut,
    service: MemoryService,
    ledger: Ledger,
    signature: str,
) -> None:
    """Whoever can write to the index and the object store, and has no key."""
    [kept] = await write(service, admin, "tea is green")
    honest, parts = index.rows[str(kept.id)]
    made_up = Signature(kid=ring.active, mac="0" * 64) if signature == "made up" else None
    forged = honest.model_copy(update={"text": "tea is poison", "version": 2, "signature": made_up})
    index.rows[forged.id] = (forged, parts)
    rows = [["update", forged.tenant, forged.id, 2, "active", digest(forged)]]
    objects.objects["ledger/writer-0.pending"] = json.dumps({"events": rows, "kid": ring.active, "mac": "0"}).encode()
    again = Ledger(objects, ring, None, clock.now)
    writer = Writer(Tools(index, embedder, ring, clock, again))
    await writer.ping()
    assert again.head.seq == 1
    newer = KeyRing(ring.identity, {**ring.masters, "k9": b"n" * 32}, "k9")
    rotated = Writer(Tools(index, embedder, newer, clock, Ledger(objects, newer, None, clock.now)))
    assert await rotated.resign("default", [forged.id], "k9") == 0
    assert (await service.recall(admin, parse(RecallRequest, {"query": "tea"}))).memories == ()
    assert (await service.verify(admin))["ok"] is False


class Late(ObjectStoreInMemory):
    """Writes, and then says that it failed: the answer was lost on its way."""

    def __init__(self, what: str) -> None:
        super().__init__()
        self.what, self.late, self.deaf = what, False, False

    async def put(self, key: str, data: bytes, *, new: bool = False, fleeting: bool = False) -> None:
        await super().put(key, data, new=new, fleeting=fleeting)
        if self.late and new and self.what == "put":
            raise Unavailable("timed out")
        if self.late and new and self.what == "silence":
            self.deaf = True
            raise Unavailable("timed out")

    async def get(self, key: str) -> bytes | None:
        if self.deaf:
            raise Unavailable("no answer")
        return await super().get(key)

    async def delete(self, key: str) -> None:
        if self.late and self.what == "delete":
            raise Unavailable("timed out")
        await super().delete(key)


@pytest.mark.parametrize("what", ["put", "delete", "silence"])
async def test_what_was_recorded_after_all_stands(
    index: MemoryIndexInMemory, embedder: HashEmbedder, ring: KeyRing, clock: FakeClock, admin: Principal, what: str
) -> None:
    objects = Late(what)
    ledger = Ledger(objects, ring, None, clock.now)
    writer = Writer(Tools(index, embedder, ring, clock, ledger))
    recaller = RecallPipeline(index, embedder, None, ring, clock, ledger)
    service = MemoryService(writer, recaller, index, embedder, None, 0.0, Trust(ring, ledger), clock)
    [first] = await write(service, admin, "tea is green")
    objects.late = True
    if what == "silence":
        with pytest.raises(Unavailable):
            await service.patch(admin, str(first.id), {"tags": ["hot"]})
    else:
        assert (await service.patch(admin, str(first.id), {"tags": ["hot"]})).version == 2
    objects.late = objects.deaf = False
    [second] = await write(service, admin, "milk is white")
    assert {m.id for m in (await service.recall(admin, parse(RecallRequest, {"query": "tea milk"}))).memories} == {
        first.id,
        second.id,
    }
    assert (await service.get(admin, str(first.id))).tags == ("hot",)
    assert (await service.verify(admin))["findings"] == []


async def test_a_fact_whose_successor_never_arrived_stands_again(
    service: MemoryService,
    admin: Principal,
    index: MemoryIndexInMemory,
    objects: Cut,
) -> None:
    """The new row is gone, the old one still says that it was superseded: the take-back was cut short."""
    [old] = await write(service, admin, "Ann lives in Oslo.", key="home")
    real = index.upsert

    async def only_once(rows: Any) -> None:
        await real(rows)
        index.upsert = failing  # type: ignore[method-assign]

    async def failing(_: Any) -> None:
        raise Unavailable("killed")

    index.upsert, objects.cut = only_once, True  # type: ignore[method-assign]
    with pytest.raises(Unavailable):
        await write(service, admin, "Ann lives in Rome.", key="home")
    index.upsert, objects.cut = real, False  # type: ignore[method-assign]
    [new] = [id_ for id_ in index.rows if id_ != old.id]
    del index.rows[new]
    await write(service, admin, "something else")
    assert index.rows[str(old.id)][0].state is State.ACTIVE
    assert (await service.verify(admin))["findings"] == []
