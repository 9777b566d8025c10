"""The cold tier: what lies there is found, read, changed and forgotten as if it were hot; moves survive a crash."""

from contextlib import suppress
from dataclasses import replace

import pytest

from rearview_pipelines.errors import NotFound, Unavailable
from rearview_pipelines.ledger.ledger import Ledger
from rearview_pipelines.memory import State, Tier
from rearview_pipelines.principal import Principal
from rearview_pipelines.recall.pipeline import RecallPipeline
from rearview_pipelines.requests import ForgetRequest, ListRequest, RecallRequest, WriteRequest
from rearview_pipelines.service import MemoryService, Trust
from rearview_pipelines.stores.cold import ColdStore
from rearview_pipelines.stores.packing import tenant_hash
from rearview_pipelines.stores.tiers import TieredIndex
from rearview_pipelines.testing import FakeClock, HashEmbedder, MemoryIndexInMemory, ObjectStoreInMemory
from rearview_pipelines.write.item import Tools
from rearview_pipelines.write.keys import KeyRing
from rearview_pipelines.write.writer import Writer

TEXTS = (
    "The staging database moved to Frankfurt.",
    "Invoices are sent on the second Tuesday.",
    "用户对青霉素过敏。",
)


async def written(service: MemoryService, admin: Principal, *texts: str, **fields: object) -> list[str]:
    request = WriteRequest.model_validate({"memories": [{"text": text, **fields} for text in texts]})
    receipts = await service.write(admin, request)
    assert all(receipt.id for receipt in receipts), receipts
    return [receipt.id or "" for receipt in receipts]


def writer_of(service: MemoryService) -> Writer:
    writer = service._writer
    assert isinstance(writer, Writer)
    return writer


async def test_a_cold_memory_is_read_listed_and_recalled_and_thawed_by_it(
    service: MemoryService, index: MemoryIndexInMemory, admin: Principal
) -> None:
    ids = await written(service, admin, *TEXTS)
    assert sorted(await writer_of(service).archive("default", ids)) == sorted(ids)
    assert not index.rows
    memory = await service.get(admin, ids[0])
    assert (memory.text, memory.tier, memory.version) == (TEXTS[0], Tier.COLD, 2)
    memories, _ = await service.list_memories(admin, ListRequest())
    assert {m.id for m in memories} == set(ids)
    assert (await service.stats(admin))["memories"]["active"] == 3

    found = await service.recall(admin, RecallRequest(query="When are invoices sent?"))
    assert [m.text for m in found.memories] == [TEXTS[1]]
    assert found.memories[0].tier is Tier.COLD
    await service.settled()
    assert set(index.rows) == {ids[1]}
    assert (await service.get(admin, ids[1])).tier is Tier.HOT
    again = await service.recall(admin, RecallRequest(query="When are invoices sent?"))
    assert [(m.text, m.version) for m in again.memories] == [(TEXTS[1], 3)]
    zh = await service.recall(admin, RecallRequest(query="青霉素过敏"))
    assert zh.memories[0].text == TEXTS[2]


async def test_filters_and_scopes_hold_in_the_cold_tier(service: MemoryService, admin: Principal) -> None:
    [mine] = await written(service, admin, "The vault door code rotates monthly.", agent="a", tags=["ops"])
    [other] = await written(service, admin, "The vault door hinge squeaks.", agent="b", tags=["ops"])
    await writer_of(service).archive("default", [mine, other])
    reader = Principal("default", admin.role, agent="a", id="tok_a")
    found = await service.recall(reader, RecallRequest(query="vault door"))
    assert [m.id for m in found.memories] == [mine]
    none = await service.recall(admin, RecallRequest.model_validate({"query": "vault door", "filters": {"tags": "hr"}}))
    assert not none.memories
    stranger = Principal("elsewhere", admin.role, id="tok_b")
    assert not (await service.recall(stranger, RecallRequest(query="vault door"))).memories


async def test_exact_mode_looks_into_the_cold_tier(service: MemoryService, admin: Principal) -> None:
    ids = await written(service, admin, *TEXTS)
    await writer_of(service).archive("default", ids)
    found = await service.recall(admin, RecallRequest(query="second Tuesday", mode="exact"))
    assert [m.text for m in found.memories] == [TEXTS[1]]
    assert not (await service.recall(admin, RecallRequest(query="second Friday", mode="exact"))).memories


async def test_a_cold_memory_is_changed_superseded_and_written_again(
    service: MemoryService, index: MemoryIndexInMemory, admin: Principal
) -> None:
    [home] = await written(service, admin, "The user lives in Leeds.", key="user.city")
    [tea] = await written(service, admin, "The user drinks green tea.")
    await writer_of(service).archive("default", [home, tea])
    receipts = await service.write(
        admin, WriteRequest.model_validate({"memories": [{"text": "The user drinks green tea."}]})
    )
    assert (receipts[0].id, receipts[0].status) == (tea, "duplicate")
    receipt = await service.patch(admin, tea, {"tags": ["drinks"]})
    assert receipt.version == 3
    assert (await service.get(admin, tea)).tier is Tier.HOT
    [paris] = await written(service, admin, "The user lives in Paris.", key="user.city")
    old = await service.get(admin, home)
    assert (old.state, old.superseded_by, old.tier) == (State.SUPERSEDED, paris, Tier.HOT)
    assert (await service.verify(admin))["ok"]


async def test_a_cold_memory_is_forgotten(
    service: MemoryService, objects: ObjectStoreInMemory, admin: Principal
) -> None:
    ids = await written(service, admin, *TEXTS)
    await writer_of(service).archive("default", ids)
    await service.forget(admin, ForgetRequest(ids=(ids[0],)))
    with pytest.raises(NotFound):
        await service.get(admin, ids[0])
    assert not (await service.recall(admin, RecallRequest(query="staging database Frankfurt"))).memories
    cold = writer_of(service)._tools.cold
    assert cold is not None
    assert await cold.holding("default", ids[:1]) == 1
    done = await cold.rewrite("default", ids=ids[:1])
    assert done.dropped == 1
    assert await cold.holding("default", ids[:1]) == 0
    assert (await service.get(admin, ids[1])).text == TEXTS[1]
    assert (await service.verify(admin))["ok"]


async def test_pinned_pending_and_quarantined_memories_stay(service: MemoryService, admin: Principal) -> None:
    [pinned] = await written(service, admin, "The user is allergic to nuts.", pinned=True)
    [pending] = await written(service, admin, "Restart the gateway.", kind="action")
    assert await writer_of(service).archive("default", [pinned, pending]) == []


async def test_an_altered_segment_is_named_and_not_served(
    service: MemoryService, objects: ObjectStoreInMemory, admin: Principal
) -> None:
    ids = await written(service, admin, *TEXTS)
    await writer_of(service).archive("default", ids)
    [segment] = [key for key in objects.objects if key.endswith(".seg")]
    raw = objects.objects[segment]
    objects.objects[segment] = raw[:-20] + bytes(20)
    with pytest.raises(NotFound):
        await service.get(admin, ids[0])
    assert not (await service.recall(admin, RecallRequest(query=TEXTS[0]))).memories
    report = await service.verify(admin)
    assert {f["id"]: f["kind"] for f in report["findings"]} == dict.fromkeys(ids, "missing")


async def test_a_segment_of_another_tenant_is_not_taken_for_ones_own(
    service: MemoryService, objects: ObjectStoreInMemory, admin: Principal
) -> None:
    other = Principal("other", admin.role, id="tok_o")
    [theirs] = await written(service, other, "The other team's roadmap slips to spring.")
    await writer_of(service).archive("other", [theirs])
    mine = await written(service, admin, TEXTS[0])
    await writer_of(service).archive("default", mine)
    for key, raw in list(objects.objects.items()):
        if key.startswith(f"cold/{tenant_hash('other')}"):
            objects.objects[key.replace(tenant_hash("other"), tenant_hash("default"))] = raw
    found = await service.recall(admin, RecallRequest(query="roadmap slips spring"))
    assert not [m for m in found.memories if "roadmap" in m.text]


class Stops(ObjectStoreInMemory):
    """A store that fails from the n-th change on, as if the process had died there."""

    def __init__(self) -> None:
        super().__init__()
        self.left: int | None = None

    def _spend(self) -> None:
        if self.left is not None:
            if self.left <= 0:
                raise Unavailable("the process died here")
            self.left -= 1

    async def put(self, key: str, data: bytes, *, new: bool = False, fleeting: bool = False) -> None:
        self._spend()
        await super().put(key, data, new=new, fleeting=fleeting)

    async def delete(self, key: str) -> None:
        self._spend()
        await super().delete(key)


@pytest.mark.parametrize("steps", range(8))
async def test_wherever_archiving_stops_nothing_is_lost_or_doubled(
    ring: KeyRing, clock: FakeClock, admin: Principal, steps: int
) -> None:
    index, objects, embedder = MemoryIndexInMemory(), Stops(), HashEmbedder()

    def opened() -> tuple[MemoryService, Ledger]:
        ledger = Ledger(objects, ring, None, clock.now)
        cold = ColdStore(objects, ring, lambda: ledger.head)
        tiers = TieredIndex(index, cold)
        writer = Writer(Tools(tiers, embedder, ring, clock, ledger, cold=cold))
        recaller = RecallPipeline(tiers, embedder, None, ring, clock, ledger, cold=cold)
        return MemoryService(writer, recaller, tiers, embedder, None, 0.0, Trust(ring, ledger), clock), ledger

    service, _ = opened()
    ids = await written(service, admin, *TEXTS)
    objects.left = steps
    with suppress(Unavailable):
        await writer_of(service).archive("default", ids)
    objects.left = None
    service, ledger = opened()
    await writer_of(service).ping()
    for id_, text in zip(ids, TEXTS, strict=True):
        assert (await service.get(admin, id_)).text == text
        assert [m.text for m in (await service.recall(admin, RecallRequest(query=text, top_k=1))).memories] == [text]
        await service.settled()
    memories, _ = await service.list_memories(admin, ListRequest())
    assert sorted(m.id for m in memories) == sorted(ids)
    report = await service.verify(admin)
    assert report["ok"], report
    assert not await objects.keys("archiving/")
    assert ledger.head.count("default") == 3


async def test_keys_are_rotated_and_revoked_in_the_cold_tier(
    service: MemoryService, objects: ObjectStoreInMemory, ring: KeyRing, admin: Principal
) -> None:
    ids = await written(service, admin, *TEXTS)
    await writer_of(service).archive("default", ids)
    tools = writer_of(service)._tools
    newer = replace(ring, masters={**ring.masters, "k2": bytes(range(32))}, active="k2")
    head = tools.ledger.head
    assert await ColdStore(objects, newer, lambda: head).resign("default") == 3
    revoked = replace(newer, revoked=frozenset({ring.active}))
    assert len(await ColdStore(objects, revoked, lambda: head).get("default", ids)) == 3
