"""Writing, editing, forgetting: over fakes, so that failures can be caused."""

import asyncio
from datetime import timedelta
from typing import Any

import numpy as np
import pytest

from rearview_pipelines.errors import Conflict, Forbidden, InvalidInput, NotFound, Unavailable
from rearview_pipelines.memory import Memory, State
from rearview_pipelines.ports import Part
from rearview_pipelines.principal import Principal, Right, Role
from rearview_pipelines.receipts import Receipt, Status
from rearview_pipelines.requests import Filters, ForgetRequest, ListRequest, RecallRequest, WriteRequest, parse
from rearview_pipelines.service import MemoryService
from rearview_pipelines.testing import DIMENSION, FakeClock, HashEmbedder, MemoryIndexInMemory
from rearview_pipelines.write.keys import KeyRing
from rearview_pipelines.write.signing import digest_of_parts, verify


async def write(
    service: MemoryService, who: Principal, *texts: str, key: str | None = None, **fields: Any
) -> list[Receipt]:
    request = parse(WriteRequest, {"memories": [{"text": t} | fields for t in texts]})
    return await service.write(who, request, key)


async def test_a_write_is_stored_signed_and_receipted(
    service: MemoryService, admin: Principal, index: MemoryIndexInMemory, ring: KeyRing
) -> None:
    [receipt] = await write(service, admin, "The user likes tea", ref="r1")
    memory, parts = index.rows[str(receipt.id)]
    assert receipt.status is Status.STORED
    assert receipt.after
    assert memory.ref == "r1"
    assert memory.lang == "en"
    assert memory.embedding_model == "fake-hash"
    assert verify(memory, ring)
    assert memory.derived == digest_of_parts(parts)


async def test_receipts_come_in_order_and_repeats_are_duplicates(service: MemoryService, admin: Principal) -> None:
    receipts = await write(service, admin, "a1", "b2", "a1")
    assert [r.status for r in receipts] == [Status.STORED, Status.STORED, Status.DUPLICATE]
    assert receipts[0].id == receipts[2].id != receipts[1].id
    [again] = await write(service, admin, "a1")
    assert (again.status, again.reasons, again.version) == (Status.DUPLICATE, ("duplicate",), 1)


async def test_fifty_writers_of_one_text_make_one_memory(
    service: MemoryService, admin: Principal, index: MemoryIndexInMemory
) -> None:
    answers = await asyncio.gather(*(write(service, admin, "the same") for _ in range(50)))
    statuses = [r.status for [r] in answers]
    assert statuses.count(Status.STORED) == 1
    assert statuses.count(Status.DUPLICATE) == 49
    assert len({r.id for [r] in answers}) == 1 == len(index.rows)


async def test_concurrent_writes_share_commits(
    service: MemoryService, admin: Principal, index: MemoryIndexInMemory
) -> None:
    await asyncio.gather(*(write(service, admin, f"text {n}") for n in range(40)))
    assert len(index.rows) == 40
    assert index.upserts < 40


async def test_nothing_is_acknowledged_that_is_not_stored(
    service: MemoryService, admin: Principal, index: MemoryIndexInMemory, embedder: HashEmbedder
) -> None:
    for part in (index, embedder):
        part.failing = True
        with pytest.raises(Unavailable):
            await write(service, admin, "lost?")
        part.failing = False
    assert index.rows == {}
    [receipt] = await write(service, admin, "lost?")
    assert receipt.status is Status.STORED


async def test_an_action_without_outcome_waits(service: MemoryService, admin: Principal) -> None:
    [receipt] = await write(service, admin, "restart the server", kind="action")
    assert receipt.status is Status.PENDING
    await service.patch(admin, str(receipt.id), {"outcome": "success"})
    assert (await service.get(admin, str(receipt.id))).state is State.ACTIVE


async def test_readers_write_nothing_and_sharing_needs_the_right(
    service: MemoryService, index: MemoryIndexInMemory
) -> None:
    with pytest.raises(Forbidden):
        await write(service, Principal("t", Role.READER), "x")
    writer = Principal("t", Role.WRITER, agent="a")
    with pytest.raises(Forbidden, match="share"):
        await write(service, writer, "x", visibility="shared")
    assert index.rows == {}
    sharer = Principal("t", Role.WRITER, agent="a", rights=frozenset({Right.SHARE}))
    [receipt] = await write(service, sharer, "x", visibility="shared")
    assert receipt.status is Status.STORED


@pytest.mark.parametrize("fields", [{"user": "v"}, {"agent": "b"}])
async def test_a_credential_writes_for_itself_only(
    service: MemoryService, index: MemoryIndexInMemory, fields: dict[str, str]
) -> None:
    with pytest.raises(Forbidden):
        await write(service, Principal("t", Role.WRITER, agent="a", user="u"), "x", **fields)
    assert index.rows == {}


async def test_an_edit_of_tags_keeps_the_id_and_raises_the_version(
    service: MemoryService, admin: Principal, ring: KeyRing, clock: FakeClock
) -> None:
    [receipt] = await write(service, admin, "tea", tags=["a"])
    born = (await service.get(admin, str(receipt.id))).created_at
    clock.forward(hours=1)
    edited = await service.patch(admin, str(receipt.id), {"tags": ["b"], "importance": 0.9})
    memory = await service.get(admin, str(receipt.id))
    assert (edited.id, edited.version) == (receipt.id, 2)
    assert (memory.tags, memory.importance, memory.created_at) == (("b",), 0.9, born)
    assert memory.updated_at > born
    assert verify(memory, ring)


async def test_a_new_text_supersedes(service: MemoryService, admin: Principal, ring: KeyRing) -> None:
    [old] = await write(service, admin, "lives in Berlin")
    edited = await service.patch(admin, str(old.id), {"text": "lives in Hamburg"})
    assert edited.id != old.id
    assert edited.supersedes == (old.id,)
    assert "supersedes" in edited.reasons
    before = await service.get(admin, str(old.id))
    assert (before.state, before.superseded_by, before.text) == (State.SUPERSEDED, edited.id, "lives in Berlin")
    assert verify(before, ring)
    with pytest.raises(Conflict, match=str(edited.id)):
        await service.patch(admin, str(old.id), {"tags": ["x"]})


async def test_an_edit_of_an_old_version_is_refused(service: MemoryService, admin: Principal) -> None:
    [receipt] = await write(service, admin, "tea")
    await service.patch(admin, str(receipt.id), {"tags": ["a"]}, 1)
    with pytest.raises(Conflict, match="version 2"):
        await service.patch(admin, str(receipt.id), {"tags": ["b"]}, 1)


@pytest.mark.parametrize("changes", [{}, {"text": " "}, {"text": None}, {"nope": 1}, {"importance": 7}])
async def test_a_bad_edit_changes_nothing(service: MemoryService, admin: Principal, changes: dict[str, Any]) -> None:
    [receipt] = await write(service, admin, "tea")
    with pytest.raises(InvalidInput):
        await service.patch(admin, str(receipt.id), changes)
    assert (await service.get(admin, str(receipt.id))).version == 1


async def test_null_takes_a_field_back_to_its_default(service: MemoryService, admin: Principal) -> None:
    [receipt] = await write(service, admin, "tea", importance=0.9, task="t")
    await service.patch(admin, str(receipt.id), {"importance": None, "task": None})
    memory = await service.get(admin, str(receipt.id))
    assert (memory.importance, memory.task) == (0.5, None)


async def test_forgetting_leaves_an_empty_signed_tombstone(
    service: MemoryService, admin: Principal, index: MemoryIndexInMemory, ring: KeyRing
) -> None:
    [receipt] = await write(
        service, admin, "my number is 5", tags=["private"], metadata={"a": "b"}, ref="r", data={"x": 1}
    )
    assert (await service.forget(admin, ForgetRequest(ids=(str(receipt.id),)))).ids == (receipt.id,)
    tombstone, parts = index.rows[str(receipt.id)]
    assert isinstance(tombstone, Memory)
    assert tombstone.state is State.FORGOTTEN
    assert (tombstone.text, tombstone.tags, tombstone.metadata, tombstone.ref, tombstone.data) == (
        "",
        (),
        {},
        None,
        None,
    )
    assert parts == ()
    assert verify(tombstone, ring)
    for verb in (service.get(admin, str(receipt.id)), service.patch(admin, str(receipt.id), {"tags": ["x"]})):
        with pytest.raises(NotFound):
            await verb


async def test_what_was_forgotten_can_be_written_again(service: MemoryService, admin: Principal) -> None:
    [first] = await write(service, admin, "tea")
    await service.forget(admin, ForgetRequest(ids=(str(first.id),)))
    [second] = await write(service, admin, "tea")
    assert (second.id, second.status, second.version) == (first.id, Status.STORED, 3)


async def test_forgetting_an_unknown_id_touches_nothing(service: MemoryService, admin: Principal) -> None:
    [receipt] = await write(service, admin, "tea")
    with pytest.raises(NotFound):
        await service.forget(admin, ForgetRequest(ids=(str(receipt.id), "m_" + "a" * 32)))
    assert (await service.get(admin, str(receipt.id))).text == "tea"


async def test_the_last_turns_of_a_session_are_forgotten(service: MemoryService, admin: Principal) -> None:
    turns = [
        {
            "text": f"turn {n}",
            "session": "s",
            "source": {"kind": "turn", "turn": n},
            "occurred_at": f"2026-11-30T09:0{n}:00Z",
        }
        for n in range(4)
    ]
    receipts = await service.write(admin, parse(WriteRequest, {"memories": turns}))
    request = ForgetRequest(session="s", last_turns=2)
    dry = await service.forget(admin, request.model_copy(update={"dry_run": True}))
    assert set(dry.ids) == {receipts[2].id, receipts[3].id}
    assert (await service.get(admin, str(receipts[3].id))).text == "turn 3"
    await service.forget(admin, request)
    assert (await service.get(admin, str(receipts[1].id))).text == "turn 1"
    with pytest.raises(NotFound):
        await service.get(admin, str(receipts[3].id))


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"ids": ("m",), "session": "s"},
        {"ids": ("m",), "last_turns": 1},
        {"user": "u", "session": "s"},
        {"filters": Filters()},
        {"filters": Filters(tags=("t",)), "ids": ("m",)},
    ],
)
async def test_forgetting_needs_exactly_one_scope(
    service: MemoryService, admin: Principal, fields: dict[str, Any]
) -> None:
    with pytest.raises(InvalidInput):
        await service.forget(admin, ForgetRequest(**fields))


async def test_a_repeated_request_gets_the_first_answer(service: MemoryService, admin: Principal) -> None:
    first = await write(service, admin, "tea", key="k")
    assert await write(service, admin, "tea", key="k") == first
    with pytest.raises(InvalidInput, match="another request"):
        await write(service, admin, "coffee", key="k")
    [other] = await write(service, Principal("default", Role.ADMIN, id="someone"), "tea", key="k")
    assert other.status is Status.DUPLICATE


async def test_a_failed_request_may_be_repeated_with_its_key(
    service: MemoryService, admin: Principal, index: MemoryIndexInMemory
) -> None:
    index.failing = True
    with pytest.raises(Unavailable):
        await write(service, admin, "tea", key="k")
    index.failing = False
    [receipt] = await write(service, admin, "tea", key="k")
    assert receipt.status is Status.STORED


async def test_a_tampered_row_cannot_be_laundered_by_an_edit(
    service: MemoryService, admin: Principal, index: MemoryIndexInMemory
) -> None:
    [receipt] = await write(service, admin, "pay to account 1")
    memory, parts = index.rows[str(receipt.id)]
    index.rows[str(receipt.id)] = (memory.model_copy(update={"text": "pay to account 2"}), parts)
    with pytest.raises(Conflict, match="not as it was signed"):
        await service.patch(admin, str(receipt.id), {"tags": ["x"]})
    with pytest.raises(NotFound):
        await service.get(admin, str(receipt.id))
    assert (await service.list_memories(admin, parse(ListRequest, {})))[0] == []
    assert (await service.forget(admin, ForgetRequest(ids=(str(receipt.id),)))).ids == (receipt.id,)


async def test_tampered_parts_are_made_again_by_an_edit(
    service: MemoryService, admin: Principal, index: MemoryIndexInMemory
) -> None:
    [receipt] = await write(service, admin, "green tea")
    memory, [part] = index.rows[str(receipt.id)]
    index.rows[str(receipt.id)] = (memory, (Part(0, 0, 9, "bait", part.vector),))
    await service.patch(admin, str(receipt.id), {"tags": ["x"]})
    memory, [mended] = index.rows[str(receipt.id)]
    assert mended.terms == part.terms
    assert memory.derived == digest_of_parts([mended])


async def test_a_failed_edit_loses_nothing(
    service: MemoryService, admin: Principal, index: MemoryIndexInMemory, embedder: HashEmbedder
) -> None:
    [receipt] = await write(service, admin, "green  tea")
    before = index.rows[str(receipt.id)]
    embedder.failing = True
    with pytest.raises(Unavailable):
        await service.patch(admin, str(receipt.id), {"text": "green tea"})
    assert index.rows[str(receipt.id)] == before


async def test_a_forget_that_failed_half_way_is_finished_by_the_next(
    service: MemoryService, admin: Principal, index: MemoryIndexInMemory
) -> None:
    [receipt] = await write(service, admin, "green tea")
    await service.forget(admin, ForgetRequest(ids=(str(receipt.id),)))
    tombstone, _ = index.rows[str(receipt.id)]
    left = tuple(Part(n, 0, 1, "tea", np.zeros(DIMENSION, np.float32)) for n in range(2))
    index.rows[str(receipt.id)] = (tombstone, left)
    await service.forget(admin, ForgetRequest(ids=(str(receipt.id),)))
    assert len(index.rows[str(receipt.id)][1]) <= 1
    with pytest.raises(NotFound):
        await service.forget(admin, ForgetRequest(ids=(str(receipt.id),)))


async def test_going_back_to_an_earlier_text_keeps_the_history(
    service: MemoryService, admin: Principal, clock: FakeClock
) -> None:
    [first] = await write(service, admin, "lives in Berlin")
    clock.forward(days=1)
    second = await service.patch(admin, str(first.id), {"text": "lives in Hamburg"})
    clock.forward(days=1)
    third = await service.patch(admin, str(second.id), {"text": "lives in Berlin"})
    assert third.id not in (first.id, second.id)
    clock.forward(days=1)
    for day, text in ((0.5, "lives in Berlin"), (1.5, "lives in Hamburg"), (2.5, "lives in Berlin")):
        then = FakeClock().now() + timedelta(days=day)
        answer = await service.recall(admin, RecallRequest(query="lives in", as_of=then))
        assert [m.text for m in answer.memories] == [text]


async def test_what_ended_can_be_learned_again_and_a_pending_action_gets_its_outcome(
    service: MemoryService, admin: Principal, clock: FakeClock
) -> None:
    await write(service, admin, "tea is out", expires_at="2026-12-01T00:00:00Z")
    clock.forward(days=3)
    [again] = await write(service, admin, "tea is out")
    assert again.status is Status.STORED
    [waiting] = await write(service, admin, "restarted it", kind="action")
    [done] = await write(service, admin, "restarted it", kind="action", outcome="success")
    assert (waiting.status, done.status, done.id) == (Status.PENDING, Status.STORED, waiting.id)


async def test_a_dry_run_names_only_what_would_go(service: MemoryService, admin: Principal) -> None:
    with pytest.raises(NotFound):
        await service.forget(admin, ForgetRequest(ids=("m_" + "a" * 32,), dry_run=True))
    with pytest.raises(Forbidden):
        await service.forget(Principal("default", Role.READER), ForgetRequest(session="s", dry_run=True))


async def test_a_failure_nobody_waited_for_does_not_keep_its_key(
    service: MemoryService, admin: Principal, index: MemoryIndexInMemory
) -> None:
    index.failing = True
    task = asyncio.ensure_future(write(service, admin, "tea", key="k"))
    await asyncio.sleep(0)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    await asyncio.sleep(0.05)
    index.failing = False
    [receipt] = await write(service, admin, "tea", key="k")
    assert receipt.status is Status.STORED


async def test_a_text_that_grows_when_folded_is_stored(service: MemoryService, admin: Principal) -> None:
    [receipt] = await write(service, admin, "\ufdfa" * 5461)
    assert receipt.status is Status.STORED
