"""A signature holds for a record as written, and for nothing else."""

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import numpy as np
import pytest

from rearview_pipelines.errors import SetupError
from rearview_pipelines.memory import Memory
from rearview_pipelines.ports import Part
from rearview_pipelines.write.keys import KeyRing, derive, load_or_create
from rearview_pipelines.write.signing import digest_of_parts, sign, verify

NOW = datetime(2026, 11, 30, 9, tzinfo=UTC)


@pytest.fixture
def signed(ring: KeyRing) -> Memory:
    memory = Memory(id="m_a", tenant="t", text="tea", layer="semantic", created_at=NOW, updated_at=NOW)
    return sign(memory, ring)


def test_an_untouched_record_holds(signed: Memory, ring: KeyRing) -> None:
    again = Memory.model_validate_json(signed.model_dump_json())
    assert verify(again, ring)


@pytest.mark.parametrize(
    "change",
    [{"text": "coffee"}, {"tenant": "u"}, {"importance": 0.9}, {"version": 2}, {"derived": "00"}, {"tags": ("x",)}],
)
def test_any_change_breaks_it(signed: Memory, ring: KeyRing, change: dict[str, Any]) -> None:
    assert not verify(signed.model_copy(update=change), ring)


def test_an_unsigned_record_and_an_unknown_key_do_not_hold(signed: Memory, ring: KeyRing) -> None:
    assert not verify(signed.model_copy(update={"signature": None}), ring)
    assert not verify(signed, KeyRing(ring.identity, {}, ""))


def test_tenants_have_different_keys(ring: KeyRing) -> None:
    master = ring.masters[ring.active]
    assert derive(master, "a", "sign") != derive(master, "b", "sign")
    assert derive(master, "a", "sign") != derive(master, "a", "other")


def test_the_digest_covers_span_terms_and_vector() -> None:
    part = Part(0, 0, 3, "tea", np.ones(2, np.float32))
    others = [
        Part(0, 0, 2, "tea", np.ones(2, np.float32)),
        Part(0, 0, 3, "te", np.ones(2, np.float32)),
        Part(0, 0, 3, "tea", np.zeros(2, np.float32)),
    ]
    digests = {digest_of_parts([p]) for p in [part, *others]}
    assert len(digests) == 4


def test_the_ring_survives_a_restart_and_is_private(tmp_path: Any) -> None:
    first = load_or_create(tmp_path)
    assert load_or_create(tmp_path) == first
    assert (tmp_path / "keys.json").stat().st_mode & 0o777 == 0o600
    assert first.masters[first.active].hex() not in repr(first)


def test_a_broken_ring_is_never_replaced(tmp_path: Any) -> None:
    (tmp_path / "keys.json").write_text("{}")
    with pytest.raises(SetupError, match="REARVIEW_DATA"):
        load_or_create(tmp_path)
    assert (tmp_path / "keys.json").read_text() == "{}"


def test_token_vectors_are_covered_by_the_digest() -> None:
    vector = np.zeros(4, np.float32)
    bare = Part(0, 0, 1, "tea", vector)
    digests = {
        digest_of_parts([bare]),
        digest_of_parts([replace(bare, tokens=np.ones((1, 2), np.int8), late="a")]),
        digest_of_parts([replace(bare, tokens=np.zeros((1, 2), np.int8), late="a")]),
        digest_of_parts([replace(bare, tokens=np.ones((1, 2), np.int8), late="b")]),
    }
    assert len(digests) == 4
    assert digest_of_parts([replace(bare, tokens=np.zeros((0, 2), np.int8), late="a")]) == digest_of_parts([bare])
