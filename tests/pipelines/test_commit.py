"""Stored and recorded, or neither: what a failing ledger, a failing index and a crash in between leave behind."""

from typing import Any

import pytest

from rearview_pipelines.errors import Unavailable
from rearview_pipelines.ledger.events import Op
from rearview_pipelines.ledger.ledger import Ledger
from rearview_pipelines.principal import Principal
from rearview_pipelines.receipts import Receipt, Status
from rearview_pipelines.requests import ForgetRequest, RecallRequest, WriteRequest, parse
from rearview_pipelines.service import MemoryService
from rearview_pipelines.testing import FakeClock, HashEmbedder, MemoryIndexInMemory, ObjectStoreInMemory
from rearview_pipelines.write.item import Tools
from rearview_pipelines.write.keys import KeyRing
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


async def test_a_forged_row_is_never_adopted(
    admin: Principal,
    index: MemoryIndexInMemory,
    embedder: HashEmbedder,
    ring: KeyRing,
    clock: FakeClock,
    objects: Cut,
    service: MemoryService,
) -> None:
    async def lost(rows: object) -> None:
        raise Unavailable("killed")

    real = index.upsert
    index.upsert = lost  # type: ignore[method-assign]
    with pytest.raises(Unavailable):
        await write(service, admin, "tea is green")
    index.upsert = real  # type: ignore[method-assign]
    ledger = Ledger(objects, ring, None, clock.now)
    await Writer(Tools(index, embedder, ring, clock, ledger)).ping()
    assert ledger.head.seq == 0
    assert (await service.recall(admin, parse(RecallRequest, {"query": "tea"}))).memories == ()


async def test_a_quota_is_a_receipt_and_replacing_needs_none(
    index: MemoryIndexInMemory, embedder: HashEmbedder, ring: KeyRing, clock: FakeClock, objects: Cut, admin: Principal
) -> None:
    from rearview_pipelines.write.admit import admit

    writer = Writer(Tools(index, embedder, ring, clock, Ledger(objects, ring, None, clock.now), quota=2))

    async def put(*texts: str) -> list[Receipt]:
        drafts = parse(WriteRequest, {"memories": [{"text": t} for t in texts]}).memories
        return await writer.write(admin, admit(admin, drafts))

    receipts = await put("tea", "coffee", "milk")
    assert [(r.status, r.reasons) for r in receipts] == [
        (Status.STORED, ()),
        (Status.STORED, ()),
        (Status.REJECTED, ("quota",)),
    ]
    assert receipts[2].id is None
    await writer.patch(admin, str(receipts[0].id), {"text": "green tea"}, None)
    [still] = await put("tea")
    assert still.status is not Status.STORED
