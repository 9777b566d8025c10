"""Keys while services run: rotation, revocation, and what each does to what is stored."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from rearview_pipelines.errors import Conflict, NotFound, SetupError, Unavailable
from rearview_pipelines.ledger.ledger import Ledger
from rearview_pipelines.principal import Principal, Role
from rearview_pipelines.recall.pipeline import RecallPipeline
from rearview_pipelines.requests import (
    ForgetRequest,
    ObserveRequest,
    RecallRequest,
    TranscriptRequest,
    WriteRequest,
    parse,
)
from rearview_pipelines.service import MemoryService, Trust
from rearview_pipelines.sessions.transcript import Transcripts
from rearview_pipelines.testing import FakeClock, HashEmbedder, MemoryIndexInMemory, ObjectStoreInMemory
from rearview_pipelines.write import keystore
from rearview_pipelines.write.item import Tools
from rearview_pipelines.write.keystore import KeyStore
from rearview_pipelines.write.writer import Writer


@pytest.fixture
def keys(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> KeyStore:
    monkeypatch.setattr(keystore, "LOOK_SECONDS", 0.0)
    return KeyStore(tmp_path)


@pytest.fixture
def service(
    keys: KeyStore,
    clock: FakeClock,
    index: MemoryIndexInMemory,
    embedder: HashEmbedder,
    objects: ObjectStoreInMemory,
) -> MemoryService:
    """The domain over keys that change."""
    ledger, transcripts = Ledger(objects, keys, None, clock.now), Transcripts(objects, keys)
    writer = Writer(Tools(index, embedder, keys, clock, ledger), transcripts)
    recaller = RecallPipeline(index, embedder, None, keys, clock, ledger)
    trust = Trust(keys, ledger, transcripts=transcripts)
    return MemoryService(writer, recaller, index, embedder, None, 0.0, trust, clock)


def test_another_process_sees_a_rotation(keys: KeyStore, tmp_path: Path, clock: FakeClock) -> None:
    other = KeyStore(tmp_path)
    old = keys.ring.active
    new = keys.rotate(clock.now())
    assert other.ring.active == new != old
    assert {k["kid"]: k["state"] for k in other.described()} == {old: "verify-only", new: "active"}
    keys.revoke(old)
    assert other.ring.usable(old) is None
    assert "masters" not in str(other.described())


def test_what_cannot_be_revoked(keys: KeyStore) -> None:
    with pytest.raises(Conflict, match="active"):
        keys.revoke(keys.ring.active)
    with pytest.raises(NotFound):
        keys.revoke("k0000")


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ('{"identity": "AAAA", "active": "k1", "masters": {}}', "no active key"),
        ('{"identity": "AAAA", "active": "k1", "masters": {"k1": "AAAA"}}', "shorter"),
        ("{}", "cannot be read"),
        ("", "cannot be read"),
    ],
)
def test_an_empty_or_broken_ring_is_a_clear_error(tmp_path: Path, content: str, says: str) -> None:
    (tmp_path / "keys.json").write_text(content)
    with pytest.raises(SetupError, match=says):
        KeyStore(tmp_path)


async def test_rotation_signs_anew_and_revocation_keeps_what_the_ledger_vouches_for(
    keys: KeyStore, service: MemoryService, admin: Principal, index: MemoryIndexInMemory
) -> None:
    request = parse(WriteRequest, {"memories": [{"text": f"tea number {n}"} for n in range(5)]})
    ids = [str(r.id) for r in await service.write(admin, request)]
    old = keys.ring.active
    forged = index.rows[ids[4]][0].model_copy(update={"text": "forged with the stolen key"})
    rotated = await service.rotate_key(admin)
    await service.settled()
    assert {index.rows[i][0].signature.kid for i in ids} == {rotated["kid"]}  # type: ignore[union-attr]
    index.rows[ids[4]] = (forged, index.rows[ids[4]][1])
    await service.revoke_key(admin, old)
    hits = (await service.recall(admin, parse(RecallRequest, {"query": "tea"}))).memories
    assert {h.id for h in hits} == set(ids[:4])
    assert (await service.verify(admin))["findings"] == [{"id": ids[4], "kind": "unsigned"}]


async def test_transcripts_outlive_the_key_that_sealed_them(
    keys: KeyStore, service: MemoryService, admin: Principal, objects: ObjectStoreInMemory
) -> None:
    said = {"session": "s1", "turns": [{"text": "I moved to Leeds last month."}]}
    [receipt] = await service.observe(admin, parse(ObserveRequest, said))
    old = keys.ring.active
    await service.rotate_key(admin)
    await service.settled()
    await service.revoke_key(admin, old)
    page = await service.transcript(admin, parse(TranscriptRequest, {"session": "s1"}))
    assert [t["text"] for t in page.turns] == ["I moved to Leeds last month."]
    again = Transcripts(objects, keys)
    assert await again.next_turn("default", "s1") == 1
    await service.forget(admin, ForgetRequest(ids=(str(receipt.id),)))
    assert not any(b"Leeds" in raw for raw in objects.objects.values())


async def test_one_that_cannot_be_read_is_never_written_over(
    keys: KeyStore, admin: Principal, objects: ObjectStoreInMemory
) -> None:
    transcripts = Transcripts(objects, keys)
    body = {"session": "s1", "agent": "", "user": "", "first": 0, "at": "2026-01-01T00:00:00+00:00", "turns": []}
    await transcripts.append(admin, body)
    [name] = objects.objects
    objects.objects[name] = b"{}"
    again = Transcripts(objects, keys)
    first = await again.next_turn("default", "s1")
    await again.append(admin, body | {"first": first})
    assert objects.objects[name] == b"{}"
    with pytest.raises(Unavailable):
        await Transcripts(objects, keys).append(admin, body)
    reader = Principal("default", Role.WRITER, "one", None, frozenset(), "t1")
    await again.forget(reader, "s1")
    assert name in objects.objects
    assert (await again.forget(admin, "s1")).count == 0
    assert objects.objects == {}


def test_a_revocation_is_heard_of_by_those_who_only_verify(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(keystore, "LOOK_SECONDS", 0.0)
    writer, reader = KeyStore(tmp_path), KeyStore(tmp_path)
    old = writer.ring.active
    assert reader.knowing(old).usable(old) is not None
    writer.rotate(datetime.now(UTC))
    writer.revoke(old)
    assert reader.knowing(old).usable(old) is None
