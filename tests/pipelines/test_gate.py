"""The gate: what is worth remembering of a conversation; F1 on the half that nobody tuned on."""

import json
from pathlib import Path

import pytest

from rearview_pipelines.memory import Kind
from rearview_pipelines.write.gate.judge import gate

TURNS = Path(__file__).parent.parent / "data" / "gate_turns.jsonl"


def test_f1_on_the_held_half() -> None:
    rows = [r for r in map(json.loads, TURNS.read_text().splitlines()) if r["split"] == "held"]
    kept = [gate(r["text"], r["role"], r.get("recalled", [])).keep for r in rows]
    wanted = [r["label"] == "keep" for r in rows]
    right = sum(k and w for k, w in zip(kept, wanted, strict=True))
    assert len(rows) == 100
    assert 2 * right / (sum(kept) + sum(wanted)) >= 0.9


@pytest.mark.parametrize(
    ("text", "role", "kind"),
    [
        ("I moved to Leeds last month, which GP practices are near?", "user", Kind.FACT),
        ("we go with Postgres, Mongo is out", "user", Kind.DECISION),
        ("Always answer me in bullet points, five at most", "user", Kind.PREFERENCE),
        ("exit code 1: ModuleNotFoundError: No module named 'x'", "tool", Kind.ERROR),
        ("我对青霉素过敏", "user", Kind.FACT),
    ],
)
def test_what_is_kept_and_as_what(text: str, role: str, kind: Kind) -> None:
    judged = gate(text, role)
    assert (judged.keep, judged.kind) == (True, kind)


@pytest.mark.parametrize(
    ("text", "role", "reason"),
    [
        ("Hey there 👋", "user", "greeting"),
        ("谢谢啦～", "user", "thanks"),
        ("👍", "user", "filler"),
        ("", "user", "filler"),
        ("how do i undo the last commit?", "user", "question"),
        ("Is there anything else I can help you with?", "assistant", "question"),
    ],
)
def test_what_is_not(text: str, role: str, reason: str) -> None:
    assert (gate(text, role).keep, gate(text, role).reason) == (False, reason)


def test_an_echo_is_what_was_just_handed_out_and_nothing_new() -> None:
    recalled = ["Production runs on Kubernetes 1.29 in two regions."]
    assert (
        gate("As you mentioned, production runs on Kubernetes 1.29 in two regions.", "assistant", recalled).reason
        == "echo"
    )
    assert gate("Production moved to Kubernetes 1.31 last week, in three regions.", "user", recalled).keep
