"""What callers may send: each bad value is refused with its field and a remedy."""

from typing import Any

import pytest

from rearview_pipelines.errors import InvalidInput
from rearview_pipelines.memory import Layer
from rearview_pipelines.requests import Filters, RecallRequest, WriteRequest, parse

GOOD = {"text": "The user prefers tea."}


def refused(model: type, value: Any) -> dict[str, tuple[str, str]]:
    with pytest.raises(InvalidInput) as caught:
        parse(model, value)
    return {e.field: (e.message, e.remedy) for e in caught.value.errors}


@pytest.mark.parametrize(
    ("change", "field", "word"),
    [
        ({"text": ""}, "text", "empty"),
        ({"text": " \n\t　"}, "text", "white space"),
        ({"text": "x" * 16_385}, "text", "16385"),
        ({"text": "字" * 5_462}, "text", "16386"),
        ({"text": "a\x00b"}, "text", "NUL"),
        ({"text": "a\ud800b"}, "text", "surrogate"),
        ({"text": 5}, "text", "string"),
        ({"ref": "a\x00"}, "ref", "NUL"),
        ({"ref": "x" * 129}, "ref", "128"),
        ({"tags": ["x"] * 1 + ["y" * 65]}, "tags[1]", "64"),
        ({"tags": [str(n) for n in range(33)]}, "tags", "32"),
        ({"tags": "travel"}, "tags", "tuple"),
        ({"metadata": {"a": {"b": 1}}}, "metadata", "flat"),
        ({"metadata": {"a": "x" * 2_100}}, "metadata", "2048"),
        ({"metadata": {"n": 2**60}}, "metadata", "2^53"),
        ({"metadata": {"n": float("inf")}}, "metadata", "finite"),
        ({"data": {"a": "x" * 17_000}}, "data", "16384"),
        ({"data": {"a": "\ud800"}}, "data", "surrogate"),
        ({"namespace": "a//b"}, "namespace", "empty segment"),
        ({"namespace": "/".join("a" * 17)}, "namespace", "16"),
        ({"layer": "eternal"}, "layer", "working"),
        ({"kind": "rumour"}, "kind", "fact"),
        ({"importance": 1.5}, "importance", "1"),
        ({"importance": "0.5"}, "importance", "number"),
        ({"confidence": float("nan")}, "confidence", ""),
        ({"pinned": "yes"}, "pinned", "boolean"),
        ({"occurred_at": "yesterday"}, "occurred_at", "RFC 3339"),
        ({"occurred_at": "2026-13-01T00:00:00Z"}, "occurred_at", "RFC 3339"),
        ({"occurred_at": 1_700_000_000}, "occurred_at", "RFC 3339"),
        ({"occurred_at": "0001-01-01T00:00:00+14:00"}, "occurred_at", "years"),
        ({"source": {"kind": "gossip"}}, "source.kind", "turn"),
        ({"source": {"turn": -1}}, "source.turn", "0"),
        ({"txet": "typo"}, "txet", "not permitted"),
        ({"tenant": "other"}, "tenant", "not permitted"),
    ],
)
def test_a_bad_field_is_named_with_a_remedy(change: dict[str, Any], field: str, word: str) -> None:
    problems = refused(WriteRequest, {"memories": [GOOD, GOOD | change]})
    message, remedy = problems[f"memories[1].{field}"]
    assert word in message
    assert remedy


def test_every_problem_is_listed_at_once() -> None:
    problems = refused(WriteRequest, {"memories": [{"text": ""}, {"kind": "x"}], "timezone": "Mars/Base"})
    assert set(problems) == {"memories[0].text", "memories[1].text", "memories[1].kind", "timezone"}


@pytest.mark.parametrize("count", [0, 257])
def test_a_batch_holds_1_to_256(count: int) -> None:
    assert "memories" in refused(WriteRequest, {"memories": [GOOD] * count})


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"query": " "}, "query"),
        ({"top_k": 0}, "top_k"),
        ({"top_k": 1000}, "top_k"),
        ({"top_k": "5"}, "top_k"),
        ({"top_k": True}, "top_k"),
        ({"mode": "psychic"}, "mode"),
        ({"filters": {"colour": "red"}}, "filters.colour"),
        ({"filters": {"tags": []}}, "filters.tags"),
        ({"min_score": 2}, "min_score"),
        ({"token_budget": 0}, "token_budget"),
        ({"deadline_ms": 0}, "deadline_ms"),
        ({"limit": 5}, "limit"),
    ],
)
def test_a_bad_recall_is_named(change: dict[str, Any], field: str) -> None:
    assert field in refused(RecallRequest, {"query": "tea"} | change)


def test_an_unknown_filter_says_which_there_are() -> None:
    _, remedy = refused(RecallRequest, {"query": "tea", "filters": {"colour": 1}})["filters.colour"]
    assert "task_type" in remedy


def test_the_largest_text_is_taken() -> None:
    request = parse(WriteRequest, {"memories": [{"text": "x" * 16_384}]})
    assert len(request.memories[0].text) == 16_384


@pytest.mark.parametrize(
    ("name", "layer"), [("session", Layer.WORKING), ("fact", Layer.SEMANTIC), ("skill", Layer.PROCEDURAL)]
)
def test_layers_have_the_names_of_other_systems(name: str, layer: Layer) -> None:
    assert parse(WriteRequest, {"memories": [GOOD | {"layer": name}]}).memories[0].settled_layer is layer
    assert parse(Filters, {"layer": [name]}).layer == (layer,)


def test_a_turn_is_episodic_and_a_fact_semantic_by_default() -> None:
    request = parse(WriteRequest, {"memories": [GOOD, GOOD | {"source": {"kind": "turn"}}]})
    assert [m.settled_layer for m in request.memories] == [Layer.SEMANTIC, Layer.EPISODIC]


def test_a_time_without_offset_is_utc_and_an_offset_is_kept() -> None:
    times = ["2026-11-30T09:00:00", "2026-11-30T09:00:00+08:00"]
    request = parse(WriteRequest, {"memories": [GOOD | {"occurred_at": t} for t in times]})
    shown = [m.model_dump(mode="json")["occurred_at"] for m in request.memories]
    assert shown == ["2026-11-30T09:00:00Z", "2026-11-30T09:00:00+08:00"]
