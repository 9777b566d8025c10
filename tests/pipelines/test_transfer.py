"""Export and import: a round trip, another store's lines, altered ones, forgotten ones, and streams without an end."""

import json
import resource
from collections.abc import AsyncIterator, Sequence

import pytest

from rearview_pipelines.errors import Forbidden, NotFound
from rearview_pipelines.ledger.ledger import Ledger
from rearview_pipelines.lifecycle.transfer import MAX_LINE, lines_of
from rearview_pipelines.memory import Trust
from rearview_pipelines.principal import Principal, Role
from rearview_pipelines.recall.pipeline import RecallPipeline
from rearview_pipelines.requests import Filters, ForgetRequest, ListRequest, WriteRequest
from rearview_pipelines.service import MemoryService
from rearview_pipelines.service import Trust as TrustParts
from rearview_pipelines.testing import FakeClock, HashEmbedder, MemoryIndexInMemory, ObjectStoreInMemory
from rearview_pipelines.write.item import Tools
from rearview_pipelines.write.keys import KeyRing, load_or_create
from rearview_pipelines.write.writer import Writer

MEMORIES = (
    {"text": "The vault opens at nine.", "tags": ["ops"], "key": "vault.opens", "metadata": {"floor": 2}},
    {"text": "用户对青霉素过敏。", "kind": "fact", "data": {"since": [2019]}},
    {"text": "The release slipped.", "layer": "episodic", "occurred_at": "2026-11-03T08:00:00+01:00", "session": "s"},
    {"text": "Bob's own note.", "user": "bob"},
)


def another(ring: KeyRing, clock: FakeClock) -> MemoryService:
    index, embedder, objects = MemoryIndexInMemory(), HashEmbedder(), ObjectStoreInMemory()
    ledger = Ledger(objects, ring, None, clock.now)
    writer = Writer(Tools(index, embedder, ring, clock, ledger))
    recaller = RecallPipeline(index, embedder, None, ring, clock, ledger)
    return MemoryService(writer, recaller, index, embedder, None, 0.0, TrustParts(ring, ledger), clock)


async def exported(service: MemoryService, who: Principal, **filters: object) -> list[bytes]:
    return [line async for line in service.export(who, Filters.model_validate(filters))]


async def imported(service: MemoryService, who: Principal, lines: Sequence[bytes]) -> dict[str, object]:
    async def chunks() -> AsyncIterator[bytes]:
        whole = b"".join(lines)
        for start in range(0, len(whole), 1000):
            yield whole[start : start + 1000]

    return await service.import_lines(who, lines_of(chunks()))


async def texts(service: MemoryService, who: Principal) -> set[str]:
    memories, _ = await service.list_memories(who, ListRequest(limit=500))
    return {memory.text for memory in memories}


@pytest.fixture
async def full(service: MemoryService, admin: Principal) -> MemoryService:
    await service.write(admin, WriteRequest.model_validate({"memories": MEMORIES}))
    return service


async def test_a_round_trip_into_another_store(
    full: MemoryService, ring: KeyRing, clock: FakeClock, admin: Principal
) -> None:
    lines = await exported(full, admin)
    assert len(lines) == 5
    other = another(ring, clock)
    report = await imported(other, admin, lines)
    assert (report["stored"], report["manifest"], report["complete"]) == (4, "own", True)
    assert await texts(other, admin) == {str(m["text"]) for m in MEMORIES}
    memories, _ = await other.list_memories(admin, ListRequest())
    assert {m.trust for m in memories} == {Trust.IMPORTED}
    [vault] = [m for m in memories if m.key]
    assert (vault.tags, vault.metadata) == (("ops",), {"floor": 2})
    assert (await other.verify(admin))["ok"]
    again = await imported(other, admin, lines)
    assert again["duplicate"] == 4


async def test_an_export_holds_what_its_caller_sees(full: MemoryService) -> None:
    ada = Principal("default", Role.READER, user="ada", id="tok_ada")
    assert all(b"Bob" not in line for line in await exported(full, ada))
    assert len(await exported(full, ada, tags=["ops"])) == 2
    with pytest.raises(Forbidden):
        await imported(full, ada, [b'{"text": "x"}\n'])


async def test_lines_that_were_altered_moved_added_or_cut(
    full: MemoryService, ring: KeyRing, clock: FakeClock, admin: Principal
) -> None:
    manifest, one, two, three, four = await exported(full, admin)
    altered = one.replace(b'"text":"', b'"text":"No: ')
    report = await imported(another(ring, clock), admin, [manifest, altered, two, three, four])
    assert (report["bad_signature"], report["stored"], report["complete"]) == (1, 3, True)
    moved = await imported(another(ring, clock), admin, [manifest, two, one, three, four])
    assert (moved["bad_signature"], moved["stored"]) == (2, 2)
    added = await imported(another(ring, clock), admin, [manifest, one, two, three, four, b'{"text": "hm"}\n'])
    assert (added["bad_signature"], added["complete"]) == (1, False)
    cut = await imported(another(ring, clock), admin, [manifest, one, two])
    assert (cut["stored"], cut["complete"]) == (2, False)


async def test_a_store_with_other_keys_takes_it_as_foreign(
    full: MemoryService, clock: FakeClock, admin: Principal, tmp_path_factory: pytest.TempPathFactory
) -> None:
    other = another(load_or_create(tmp_path_factory.mktemp("foreign")), clock)
    report = await imported(other, admin, await exported(full, admin))
    assert (report["stored"], report["manifest"], report["complete"]) == (4, "foreign", None)


async def test_what_was_forgotten_is_not_brought_back_but_may_be_written_anew(
    full: MemoryService, admin: Principal
) -> None:
    lines = await exported(full, admin)
    [vault] = [m for m in (await full.list_memories(admin, ListRequest()))[0] if m.key]
    await full.forget(admin, ForgetRequest(ids=(vault.id,)))
    report = await imported(full, admin, lines)
    assert (report["forgotten"], report["duplicate"]) == (1, 3)
    plain = [json.dumps({k: v for k, v in MEMORIES[0].items()}).encode() + b"\n"]
    assert (await imported(full, admin, plain))["forgotten"] == 1
    with pytest.raises(NotFound):
        await full.get(admin, vault.id)
    await full.write(admin, WriteRequest.model_validate({"memories": MEMORIES[:1]}))
    assert (await full.get(admin, vault.id)).text == MEMORIES[0]["text"]


async def test_bad_lines_are_counted_and_the_good_ones_stored(service: MemoryService, admin: Principal) -> None:
    lines = [
        b'{"text": "A good line."}\n',
        b"\n",
        b"not json\n",
        b"[1]\n",
        b'{"text": ""}\n',
        b'{"text": "x", "importence": 1}\n',
        b'{"text": "Good too.", "id": "m_foreign", "score": 0.4, "signature": {"kid": "k"}}\n',
        b'{"text": "' + b"y" * MAX_LINE + b'"}\n',
        '{"text": "破"}'.encode()[:-4] + b"\n",
        b'{"text": "The last line has no end."}',
    ]
    report = await imported(service, admin, lines)
    assert (report["lines"], report["stored"], report["malformed"]) == (10, 3, 6)
    errors = report["errors"]
    assert isinstance(errors, list)
    assert [e["line"] for e in errors] == [3, 4, 5, 6, 8, 9]
    assert "importence" in errors[3]["message"]


async def test_a_million_lines_of_which_few_are_good_are_held_a_batch_at_a_time(
    service: MemoryService, admin: Principal
) -> None:
    async def chunks() -> AsyncIterator[bytes]:
        for block in range(1000):
            good = json.dumps({"text": f"Good line {block} about widget {block}."}).encode()
            yield (good if block % 5 == 0 else b"{}") + b"\n" + b"nothing of use\n" * 999

    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    report = await service.import_lines(admin, lines_of(chunks()))
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    assert (report["lines"], report["stored"], report["malformed"]) == (1_000_000, 200, 999_800)
    assert len(report["errors"]) == 20
    assert grown < 200 * 1024, f"{grown} KiB"
