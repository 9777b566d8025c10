"""Relations between two statements: nine in ten right, and no fact ended that only shares a name."""

import json
from pathlib import Path

import pytest

from rearview_pipelines.write.relate.decide import Relation, relation

DATA = Path(__file__).parent.parent / "data"


def rows(name: str, split: str | None = None) -> list[dict]:
    found = [json.loads(line) for line in (DATA / name).read_text().splitlines()]
    return [r for r in found if split is None or r["split"] == split]


def judged(row: dict) -> str:
    new, old = row["new"], row["old"]
    return relation(new["text"], old["text"], new.get("key"), old.get("key")).value


def test_the_held_half_is_right_and_ends_nothing_by_mistake() -> None:
    held = rows("relation_pairs.jsonl", "held")
    assert sum(judged(r) == r["label"] for r in held) / len(held) >= 0.9
    assert [r for r in held if r["label"] == "none" and judged(r) == "supersedes"] == []


def test_the_tuned_sets_stay_as_good_as_they_are() -> None:
    tuned = rows("relation_pairs.jsonl", "tune") + rows("relation_more.jsonl")
    assert sum(judged(r) == r["label"] for r in tuned) / len(tuned) >= 0.88


@pytest.mark.parametrize(
    ("new", "old", "expected"),
    [
        ("Ana moved from Berlin to Leeds.", "Ana lives in Berlin.", "supersedes"),
        ("Ana moved from Berlin to Leeds.", "Ana's sister lives in Berlin.", "none"),
        ("The team no longer uses Jira.", "The team uses Jira.", "supersedes"),
        ("The team no longer uses Jira.", "Ana uses Jira for planning.", "none"),
        ("前端改用 Vite，不再用 webpack。", "前端用 webpack。", "supersedes"),
        ("The deploy runs on Tuesday.", "The deploy runs on Friday.", "contradiction"),
        ("会议室在五楼。", "会议室在三楼。", "contradiction"),
        ("the deploy runs on friday", "The deploy runs on Friday.", "duplicate"),
        ("Ana likes coffee.", "Ana likes tea.", "none"),
        ("batch fact 2", "batch fact 1", "none"),
        ("'", "%", "none"),
        ("Ana reports to Tom.", "Tom reports to Ana.", "none"),
    ],
)
def test_pairs(new: str, old: str, expected: str) -> None:
    assert relation(new, old) is Relation(expected)


def test_the_same_key_supersedes_and_another_key_is_another_thing() -> None:
    assert relation("aisle", "window", "seat", "seat") is Relation.SUPERSEDES
    assert relation("The port is 2", "The port is 1", "a.port", "b.port") is Relation.NONE
