"""After a recall: what was handed out, and what callers thought of it."""

from pathlib import Path

import pytest

from rearview_pipelines.errors import Forbidden, InvalidInput, NotFound
from rearview_pipelines.principal import Principal, Right, Role
from rearview_pipelines.requests import FeedbackRequest, ForgetRequest, RecallRequest, WriteRequest, parse
from rearview_pipelines.service import MemoryService
from rearview_pipelines.stores.folder import FolderStore
from rearview_pipelines.testing import FakeClock, ObjectStoreInMemory
from rearview_pipelines.write.usage import Usage


async def recalled(service: MemoryService, who: Principal, *texts: str) -> tuple[str, list[str]]:
    await service.write(who, parse(WriteRequest, {"memories": [{"text": t, "ref": t[:5]} for t in texts]}))
    answer = await service.recall(who, parse(RecallRequest, {"query": "tea"}))
    return answer.recall_id, [m.id for m in answer.memories]


async def test_a_recall_can_be_asked_for(service: MemoryService, admin: Principal) -> None:
    recall_id, ids = await recalled(service, admin, "green tea", "black tea")
    trace = await service.recalled(admin, recall_id)
    assert [m["id"] for m in trace["memories"]] == ids
    assert trace["memories"][0]["source"]["kind"] == "explicit"
    assert "text" not in trace["memories"][0]
    await service.forget(admin, ForgetRequest(ids=(ids[0],)))
    after = await service.recalled(admin, recall_id)
    assert after["memories"][0] == {"id": ids[0], "state": "forgotten"}


async def test_only_who_asked_and_admins_may_see_it(service: MemoryService, admin: Principal) -> None:
    a, b = (Principal("default", Role.WRITER, agent=name, id=f"tok_{name}") for name in ("a", "b"))
    recall_id, _ = await recalled(service, a, "tea of a")
    assert (await service.recalled(admin, recall_id))["agent"] == "a"
    for who, asked in ((b, recall_id), (Principal("other", Role.ADMIN), recall_id), (a, "r_unknown")):
        with pytest.raises(NotFound):
            await service.recalled(who, asked)


async def test_feedback_is_counted_and_moves_the_order(service: MemoryService, admin: Principal) -> None:
    recall_id, ids = await recalled(service, admin, "tea one", "tea two")
    for _ in range(5):
        use = await service.feedback(admin, FeedbackRequest(id=ids[1], recall_id=recall_id, used=True, helpful=True))
    assert use == {"id": ids[1], "used": 1, "helpful": 1, "unhelpful": 0}  # who says it again does not count twice
    again = await service.recall(admin, parse(RecallRequest, {"query": "tea", "explain": True}))
    liked = next(m for m in again.memories if m.id == ids[1])
    assert liked.explain is not None and liked.explain["boosts"]["helpful"] > 0
    assert again.memories[0].id == ids[1]


async def test_feedback_on_what_was_not_handed_out(service: MemoryService, admin: Principal) -> None:
    recall_id, ids = await recalled(service, admin, "tea one")
    [other] = await service.write(admin, parse(WriteRequest, {"memories": [{"text": "a red car"}]}))
    with pytest.raises(InvalidInput) as caught:
        await service.feedback(admin, FeedbackRequest(id=str(other.id), recall_id=recall_id, used=True))
    assert caught.value.errors[0].field == "id"
    hostile = "x'] or part >= 0 or id in ['"
    for id_, who in (("m_nobody", admin), (hostile, admin), (ids[0], Principal("u", Role.ADMIN))):
        with pytest.raises(NotFound):
            await service.feedback(who, FeedbackRequest(id=id_, used=True))
    with pytest.raises(InvalidInput):
        parse(FeedbackRequest, {"id": ids[0]})


async def test_usage_outlives_the_process_and_goes_with_the_memory(tmp_path: Path) -> None:
    store, clock = FolderStore(tmp_path), FakeClock()
    usage = Usage(store)
    await usage.recalled("t", ["a", "b"], clock.now())
    await usage.feedback("t", "a", "me", used=None, helpful=True)
    await usage.flush()
    again = Usage(store)
    known = await again.of("t")
    assert (known["a"].hits, known["a"].used, known["a"].helpful, known["b"].hits) == (1, 1, 1, 1)
    await again.forget("t", ["a"])
    assert "a" not in await Usage(store).of("t")
    assert b'"a"' not in b"".join(p.read_bytes() for p in tmp_path.rglob("*.json"))


async def test_usage_that_cannot_be_written_or_read_stops_nothing() -> None:
    store = ObjectStoreInMemory()
    usage = Usage(store)
    await usage.feedback("t", "a", "me", used=True, helpful=None)
    store.failing = True
    await usage.flush()
    store.failing = False
    await usage.flush()
    [key] = store.objects
    store.objects[key] = b"[broken"
    assert await Usage(store).of("t") == {}


async def test_a_reader_judges_only_what_it_was_handed(service: MemoryService, admin: Principal) -> None:
    await recalled(service, admin, "green tea")
    reader = Principal("default", Role.READER, id="tok_reader")
    answer = await service.recall(reader, parse(RecallRequest, {"query": "tea"}))
    [id_] = [m.id for m in answer.memories]
    with pytest.raises(Forbidden):
        await service.feedback(reader, FeedbackRequest(id=id_, helpful=False))
    said = FeedbackRequest(id=id_, recall_id=answer.recall_id, helpful=False)
    assert (await service.feedback(reader, said))["unhelpful"] == 1
    changed = FeedbackRequest(id=id_, recall_id=answer.recall_id, helpful=True)
    assert await service.feedback(reader, changed) == {"id": id_, "used": 1, "helpful": 1, "unhelpful": 0}


async def test_a_trace_shows_no_more_than_its_reader_may_see(service: MemoryService) -> None:
    a = Principal("t", Role.WRITER, agent="a", rights=frozenset({Right.SHARE}), id="tok_a")
    b = Principal("t", Role.WRITER, agent="b", id="tok_b")
    memory = {"text": "shared tea", "visibility": "shared", "source": {"speaker": "Ann"}}
    await service.write(a, parse(WriteRequest, {"memories": [memory]}))
    answer = await service.recall(b, parse(RecallRequest, {"query": "tea"}))
    [id_] = [m.id for m in answer.memories]
    assert (await service.recalled(b, answer.recall_id))["memories"][0]["source"]["speaker"] == "Ann"
    hidden = await service.patch(a, id_, {"visibility": "private"})
    after = await service.recalled(b, answer.recall_id)
    assert after["memories"][0]["state"] == "superseded"
    assert str(hidden.id) not in str(after)
    other_admin = Principal("t", Role.ADMIN, agent="c", id="tok_c")
    with pytest.raises(NotFound):
        await service.recalled(other_admin, answer.recall_id)
