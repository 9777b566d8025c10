"""Ids: the same thing has one, different things have different ones, nobody can guess them."""

from typing import Any

import pytest

from rearview_pipelines.memory import Draft
from rearview_pipelines.write.identity import is_memory_id, memory_id

KEY = b"k" * 32


def identify(secret: bytes = KEY, agent: str = "a", user: str = "u", tenant: str = "t", **fields: Any) -> str:
    draft = Draft.model_validate({"text": "The user likes tea"} | fields)
    return memory_id(secret, tenant=tenant, agent=agent, user=user, draft=draft)


def test_white_space_and_width_do_not_matter() -> None:
    assert identify() == identify(text="The  user likes\ttea ") == identify(text="Ｔhe user likes tea")


def test_what_is_not_identity_does_not_matter() -> None:
    assert identify() == identify(tags=["x"], importance=0.9, kind="fact", ref="r", session="s")


@pytest.mark.parametrize(
    "change",
    [
        {"text": "the user likes tea"},
        {"namespace": "n"},
        {"key": "k"},
        {"layer": "procedural"},
        {"agent": "b"},
        {"user": "v"},
        {"tenant": "z"},
        {"secret": b"x" * 32},
    ],
)
def test_what_is_identity_does(change: dict[str, Any]) -> None:
    assert identify(**change) != identify()


def test_a_shared_memory_is_one_whoever_writes_it() -> None:
    assert identify(agent="a", visibility="shared") == identify(agent="b", visibility="shared")
    assert identify(visibility="shared") != identify()


def test_the_same_failure_twice_is_two_episodes() -> None:
    times = ["2026-11-30T09:00:00Z", "2026-11-30T10:00:00Z"]
    first, second = (identify(layer="episodic", occurred_at=t) for t in times)
    assert first != second
    assert identify(layer="semantic", occurred_at=times[0]) == identify(layer="semantic", occurred_at=times[1])


def test_the_same_instant_in_two_offsets_is_one() -> None:
    same = ["2026-11-30T09:00:00+08:00", "2026-11-30T01:00:00Z"]
    assert len({identify(layer="episodic", occurred_at=t) for t in same}) == 1


@pytest.mark.parametrize(
    ("value", "holds"), [(identify(), True), ("m_", False), ("x", False), ("m_" + "1" * 32, False), ('m_" or 1', False)]
)
def test_the_form_of_an_id(value: str, holds: bool) -> None:
    assert is_memory_id(value) is holds
