"""A tenant's quota: a receipt says that it is full, and nothing is acknowledged that is not kept."""

from typing import Any

import pytest

from rearview_pipelines.ledger.ledger import Ledger
from rearview_pipelines.memory import State
from rearview_pipelines.principal import Principal
from rearview_pipelines.receipts import Receipt, Status
from rearview_pipelines.requests import WriteRequest, parse
from rearview_pipelines.testing import FakeClock, HashEmbedder, MemoryIndexInMemory, ObjectStoreInMemory
from rearview_pipelines.write.admit import admit
from rearview_pipelines.write.gone import Scope
from rearview_pipelines.write.item import Tools
from rearview_pipelines.write.keys import KeyRing
from rearview_pipelines.write.writer import Writer


class Full:
    def __init__(self, index: MemoryIndexInMemory, ring: KeyRing, who: Principal, quota: int) -> None:
        self.clock, self.who, self.index = FakeClock(), who, index
        ledger = Ledger(ObjectStoreInMemory(), ring, None, self.clock.now)
        self.writer = Writer(Tools(index, HashEmbedder(), ring, self.clock, ledger, quota=quota))

    async def put(self, *texts: str, **fields: Any) -> list[Receipt]:
        drafts = parse(WriteRequest, {"memories": [{"text": t} | fields for t in texts]}).memories
        return await self.writer.write(self.who, admit(self.who, drafts))


@pytest.fixture
def full(index: MemoryIndexInMemory, ring: KeyRing, admin: Principal) -> Full:
    return Full(index, ring, admin, 2)


async def test_what_is_one_too_many_is_a_receipt(full: Full) -> None:
    receipts = await full.put("tea", "coffee", "milk")
    assert [(r.status, r.reasons) for r in receipts] == [
        (Status.STORED, ()),
        (Status.STORED, ()),
        (Status.REJECTED, ("quota",)),
    ]
    assert receipts[2].id is None
    assert len(full.index.rows) == 2


async def test_what_repeats_a_rejected_one_is_rejected_too(full: Full) -> None:
    await full.put("tea", "coffee")
    receipts = await full.put("milk", "milk", "Milk!")
    assert [(r.status, r.id) for r in receipts] == [(Status.REJECTED, None)] * 3


async def test_replacing_needs_no_place(full: Full) -> None:
    first, _ = await full.put("tea", "coffee")
    await full.writer.patch(full.who, str(first.id), {"text": "green tea"}, None)
    [more] = await full.put("tea")
    assert more.status is Status.REJECTED
    states = sorted(memory.state for memory, _ in full.index.rows.values())
    assert states == [State.ACTIVE, State.ACTIVE, State.SUPERSEDED]


async def test_the_same_key_takes_the_place_of_what_it_ends(full: Full) -> None:
    await full.put("Rome", key="city")
    await full.put("tea")
    [moved] = await full.put("Oslo", key="city")
    assert moved.status is Status.STORED
    last = await full.put("Bern", "Kiel", key="city")
    assert [r.status for r in last] == [Status.STORED, Status.STORED]
    assert sum(m.state is State.ACTIVE for m, _ in full.index.rows.values()) == 2


async def test_forgetting_frees_a_place_and_writing_anew_takes_one(full: Full) -> None:
    first, _ = await full.put("tea", "coffee")
    await full.writer.forget(full.who, Scope((str(first.id),)))
    [milk] = await full.put("milk")
    assert milk.status is Status.STORED
    [again] = await full.put("tea")
    assert again.status is Status.REJECTED


async def test_a_chain_of_one_key_does_not_slip_past(full: Full) -> None:
    await full.put("tea")
    for number in range(3):
        await full.put(f"The city {number} is Berlin", f"The town {number} was Paris", key=f"k{number}")
    kept = sum(m.state is State.ACTIVE for m, _ in full.index.rows.values())
    assert kept == 2
