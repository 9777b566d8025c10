"""Bodies that are not JSON, and memories as clients see them."""

from datetime import UTC, datetime

import pytest

from rearview_pipelines.errors import InvalidInput, NotFound, Unavailable
from rearview_pipelines.memory import Memory, Signature
from rearview_serve import wire
from rearview_serve.errors import STATUS, status_of


@pytest.mark.parametrize(
    "body", [b"", b"{", b"nul", b'{"a": NaN}', b'{"a": Infinity}', b"\xff\xfe", b"[" * 100_000, b'{"a": 1}}']
)
def test_what_is_not_json_is_refused_naming_the_body(body: bytes) -> None:
    with pytest.raises(InvalidInput) as caught:
        wire.read_json(body)
    assert caught.value.errors[0].field == "body"


@pytest.mark.parametrize("value", [5, "x", [], [{"text": "a"}], None])
def test_a_write_is_an_object(value: object) -> None:
    with pytest.raises(InvalidInput):
        wire.read_write(value)


def test_one_memory_is_named_without_an_index() -> None:
    with pytest.raises(InvalidInput) as caught:
        wire.read_write({"text": "", "timezone": "UTC"})
    assert [e.field for e in caught.value.errors] == ["text"]
    assert "memories" not in caught.value.detail


def test_one_and_many_are_told_apart() -> None:
    one, many = wire.read_write({"text": "a"}), wire.read_write({"memories": [{"text": "a"}]})
    assert one == many


def test_a_memory_shows_its_key_id_but_no_proof_and_no_tenant() -> None:
    now = datetime(2026, 11, 30, tzinfo=UTC)
    signature = Signature(kid="k1", mac="secret-mac")
    memory = Memory(
        id="m",
        tenant="acme",
        text="t",
        layer="semantic",
        created_at=now,
        updated_at=now,
        derived="d",
        signature=signature,
    )
    shown = wire.shown(memory)
    assert shown["signature"] == {"kid": "k1"}
    assert not {"tenant", "derived"} & set(shown)
    assert "secret-mac" not in str(shown)


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ({"colour": ["x"]}, "colour"),
        ({"limit": ["many"]}, "limit"),
        ({"limit": ["0"]}, "limit"),
        ({"kind": ["zz"]}, "kind"),
        ({"metadata": ["{"]}, "metadata"),
    ],
)
def test_a_bad_list_query_is_named(query: dict[str, list[str]], field: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        wire.read_list(query)
    assert caught.value.errors[0].field == field


def test_every_error_has_a_status() -> None:
    from rearview_pipelines import errors

    kinds = [v for v in vars(errors).values() if isinstance(v, type) and issubclass(v, errors.RearviewError)]
    assert set(kinds) - {errors.RearviewError} == set(STATUS)
    assert status_of(NotFound()) == 404
    body = wire.problem(NotFound(), 404)
    assert body["type"] == "urn:rearview:not-found"
    assert body["retryable"] is False


def test_a_recall_takes_what_it_leaves_out_from_the_settings() -> None:
    defaults = {"top_k": 3, "token_budget": None, "deadline_ms": 100}
    request = wire.read_recall({"query": "tea", "top_k": 7}, defaults)
    assert (request.top_k, request.token_budget, request.deadline_ms) == (7, None, 100)
    with pytest.raises(InvalidInput):
        wire.read_recall([], defaults)


def test_the_client_raises_the_commonest_error_of_a_status() -> None:
    from rearview_serve.client import _BY_STATUS

    assert (_BY_STATUS[422], _BY_STATUS[503]) == (InvalidInput, Unavailable)
    assert set(_BY_STATUS) == set(STATUS.values())
