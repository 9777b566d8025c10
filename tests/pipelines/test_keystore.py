"""Keys while services run: rotation, revocation, and what each does to what is stored."""

from pathlib import Path

import pytest

from rearview_pipelines.errors import Conflict, NotFound, SetupError
from rearview_pipelines.ledger.ledger import Ledger
from rearview_pipelines.principal import Principal
from rearview_pipelines.recall.pipeline import RecallPipeline
from rearview_pipelines.requests import RecallRequest, WriteRequest, parse
from rearview_pipelines.service import MemoryService, Trust
from rearview_pipelines.testing import FakeClock, HashEmbedder, MemoryIndexInMemory, ObjectStoreInMemory
from rearview_pipelines.write import keystore
from rearview_pipelines.write.item import Tools
from rearview_pipelines.write.keystore import KeyStore
from rearview_pipelines.write.writer import Writer


@pytest.fixture
def keys(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> KeyStore:
    monkeypatch.setattr(keystore, "LOOK_SECONDS", 0.0)
    return KeyStore(tmp_path)


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
    keys: KeyStore,
    admin: Principal,
    clock: FakeClock,
    index: MemoryIndexInMemory,
    embedder: HashEmbedder,
    objects: ObjectStoreInMemory,
) -> None:
    ledger = Ledger(objects, keys, None, clock.now)
    writer = Writer(Tools(index, embedder, keys, clock, ledger))
    recaller = RecallPipeline(index, embedder, None, keys, clock, ledger)
    service = MemoryService(writer, recaller, index, embedder, None, 0.0, Trust(keys, ledger), clock)
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
