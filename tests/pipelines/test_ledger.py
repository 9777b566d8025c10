"""The ledger: appended whole, chained, followed; a change anywhere in it is noticed."""

import json

import pytest

from rearview_pipelines.errors import BrokenLedger, Unavailable
from rearview_pipelines.ledger.events import BrokenChain, Event, Op
from rearview_pipelines.ledger.head import Finding
from rearview_pipelines.ledger.ledger import Ledger, LedgerReader, Witness
from rearview_pipelines.memory import State
from rearview_pipelines.testing import FakeClock, ObjectStoreInMemory
from rearview_pipelines.write.keys import KeyRing


def event(id_: str = "m_a", version: int = 1, state: State = State.ACTIVE) -> Event:
    return Event(Op.WRITE, "t", id_, version, state, f"digest of {id_} {version}")


@pytest.fixture
async def filled(ledger: Ledger) -> Ledger:
    for number in range(4):
        await ledger.append([event(f"m_{number}"), event("m_x", number + 1)])
    return ledger


async def test_followers_have_the_same_head(filled: Ledger, objects: ObjectStoreInMemory, ring: KeyRing) -> None:
    reader = LedgerReader(objects, ring)
    await reader.follow()
    assert (reader.head.seq, reader.head.hash) == (filled.head.seq, filled.head.hash) == (4, filled.head.hash)
    held = reader.head.get("t", "m_x")
    assert held is not None
    assert held.version == 4
    assert [b.seq async for b in reader.walk()] == [1, 2, 3, 4]
    assert [e["version"] for e in await reader.events_of("t", "m_x")] == [1, 2, 3, 4]


async def test_there_is_no_text_in_it(filled: Ledger, objects: ObjectStoreInMemory) -> None:
    [first, *_] = [json.loads(raw) for raw in objects.objects.values()]
    assert set(first) == {"format", "writer", "seq", "previous", "at", "events", "kid", "mac"}


@pytest.mark.parametrize("how", ["edit", "drop", "swap", "cut"])
async def test_every_change_of_the_chain_is_noticed(
    filled: Ledger, objects: ObjectStoreInMemory, ring: KeyRing, clock: FakeClock, tmp_path_factory, how: str
) -> None:
    names = sorted(n for n in objects.objects if n.endswith(".json"))
    witness = Witness(tmp_path_factory.mktemp("w") / "witness.json")
    witness.write(filled.head.seq, filled.head.hash)
    if how == "edit":
        objects.objects[names[1]] = objects.objects[names[1]].replace(b"m_1", b"m_9")
    elif how == "drop":
        del objects.objects[names[1]]
    elif how == "swap":
        objects.objects[names[1]], objects.objects[names[2]] = objects.objects[names[2]], objects.objects[names[1]]
    else:
        del objects.objects[names[3]]
    with pytest.raises(BrokenLedger):
        await Ledger(objects, ring, witness, clock.now).open()
    if how != "cut":
        with pytest.raises(BrokenChain):
            _ = [b async for b in LedgerReader(objects, ring).walk()]


async def test_two_writers_cannot_both_win(
    filled: Ledger, objects: ObjectStoreInMemory, ring: KeyRing, clock: FakeClock
) -> None:
    other = Ledger(objects, ring, None, clock.now)
    await other.append([event("m_other")])
    with pytest.raises(Unavailable, match="another writer"):
        await filled.append([event("m_mine")])


async def test_an_append_that_failed_recorded_nothing(ledger: Ledger, objects: ObjectStoreInMemory) -> None:
    await ledger.append([event()])
    objects.failing = True
    with pytest.raises(Unavailable):
        await ledger.append([event("m_b")])
    objects.failing = False
    assert ledger.head.get("t", "m_b") is None
    await ledger.append([event("m_b")])
    assert ledger.head.seq == 2


async def test_a_rotated_key_signs_on_and_a_revoked_one_still_vouches_for_history(
    objects: ObjectStoreInMemory, clock: FakeClock
) -> None:
    masters = {"k1": b"a" * 32, "k2": b"b" * 32}
    await Ledger(objects, KeyRing(b"i" * 32, masters, "k1"), None, clock.now).append([event()])
    await Ledger(objects, KeyRing(b"i" * 32, masters, "k2"), None, clock.now).append([event("m_b")])
    reader = LedgerReader(objects, KeyRing(b"i" * 32, masters, "k2", frozenset({"k1"})))
    assert [b.kid async for b in reader.walk()] == ["k1", "k2"]
    with pytest.raises(BrokenChain):
        _ = [b async for b in LedgerReader(objects, KeyRing(b"i" * 32, {"k2": b"b" * 32}, "k2")).walk()]


async def test_the_head_knows_replays(filled: Ledger) -> None:
    from rearview_pipelines.memory import Memory

    def row(version: int) -> Memory:
        now = FakeClock().now()
        return Memory(id="m_x", tenant="t", text="", layer="semantic", version=version, created_at=now, updated_at=now)

    assert filled.head.judge(row(3), "digest of m_x 3") is Finding.REPLAYED
    assert filled.head.judge(row(4), "digest of m_x 4") is None
    assert filled.head.judge(row(4), "another digest") is Finding.REPLAYED
    assert filled.head.judge(row(5), "in flight") is None


async def test_a_reader_trusts_no_chain_that_was_cut_or_cannot_be_read(
    filled: Ledger, objects: ObjectStoreInMemory, ring: KeyRing, clock: FakeClock, tmp_path_factory
) -> None:
    witness = Witness(tmp_path_factory.mktemp("w") / "witness.json")
    witness.write(filled.head.seq, filled.head.hash)
    sound = LedgerReader(objects, ring, witness)
    await sound.followed()
    assert sound.head.seq == 4
    del objects.objects[max(n for n in objects.objects if n.endswith(".json"))]
    await sound.followed()  # it has seen the whole: nothing can be taken from it
    with pytest.raises(BrokenLedger, match="cut"):
        await LedgerReader(objects, ring, witness).followed()

    class Down(ObjectStoreInMemory):
        async def get(self, key: str) -> bytes | None:
            raise Unavailable("no answer")

    with pytest.raises(Unavailable):
        await LedgerReader(Down(), ring, witness).followed()


async def test_provenance_of_a_broken_chain_is_an_error_of_ours(
    filled: Ledger, objects: ObjectStoreInMemory, ring: KeyRing
) -> None:
    name = sorted(n for n in objects.objects if n.endswith(".json"))[1]
    objects.objects[name] = b"{}"
    with pytest.raises(BrokenLedger):
        await LedgerReader(objects, ring).events_of("t", "m_x")


async def test_a_batch_that_is_appended_while_all_are_walked_breaks_nothing(
    filled: Ledger, objects: ObjectStoreInMemory, ring: KeyRing
) -> None:
    reader = LedgerReader(objects, ring)
    seen = []
    async for batch in reader.walk():
        seen.append(batch.seq)
        if batch.seq == 2:
            await filled.append([event("m_late")])
    assert seen == [1, 2, 3, 4, 5]


async def test_an_intent_that_cannot_be_read_stops_nobody(
    filled: Ledger, objects: ObjectStoreInMemory, ring: KeyRing, clock: FakeClock
) -> None:
    for raw in (b"", b"[]", b'{"events": 1}', b"\xff"):
        objects.objects["ledger/writer-0.pending"] = raw
        again = Ledger(objects, ring, None, clock.now)
        await again.open()
        assert await again.undone() == []
