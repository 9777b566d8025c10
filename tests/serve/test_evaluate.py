"""`rearview eval` on our own set, which is the bar that recall must not fall below; and what it says of bad files."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import rearview

SET = Path(__file__).parents[2] / "docs" / "examples" / "eval"
QUERIES, MEMORIES, TASKS = (SET / f"{name}.jsonl" for name in ("queries", "memories", "tasks"))


def run(tmp_path: Path, *arguments: str) -> Any:
    done = rearview("eval", *arguments, "--json", data=tmp_path)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_recall_has_not_become_worse(tmp_path: Path) -> None:
    """Measured when it was written: recall@5 .687, nDCG@5 .582, MRR .554; words alone .560, .459, .436."""
    configurations = ("--config", "now={}", "--config", 'words={"mode": "keyword"}', "--compare", "words")
    answer = run(tmp_path, "--queries", str(QUERIES), "--memories", str(MEMORIES), "--k", "5", *configurations)
    now, words = answer["configurations"]
    assert now["queries"] == 50
    assert now["recall"] >= 0.65
    assert now["ndcg"] >= 0.55
    assert now["mrr"] >= 0.52
    assert set(now["scenarios"]) == {"simple", "complex", "multi-hop", "negation"}
    assert answer["index_recall"] >= 0.95
    assert answer["comparison"]["recall"]["difference"] == pytest.approx(words["recall"] - now["recall"])
    assert answer["comparison"]["recall"]["high"] < 0


def test_tasks_go_better_with_memory(tmp_path: Path) -> None:
    answer = run(tmp_path, "--compare", "none", "--tasks", str(TASKS), "--memories", str(MEMORIES))
    assert (answer["tasks"], answer["runs"]) == (12, 24)
    done = answer["measures"]["completion"]
    assert done["without"] == 0 < 0.5 <= done["with"]
    assert done["settled"]
    assert answer["measures"]["turns"]["difference"] < 0


def test_results_of_ones_own(tmp_path: Path) -> None:
    rows = [
        {"task": f"t{n}", "memory": memory, "completed": memory or n % 4 == 0, "rating": 4.5 if memory else 3}
        for n in range(20)
        for memory in (True, False)
    ]
    file = tmp_path / "results.jsonl"
    file.write_text("\n".join(map(json.dumps, rows)))
    measures = run(tmp_path, "--compare", "none", "--results", str(file))["measures"]
    assert set(measures) == {"completion", "rating"}
    assert measures["completion"]["difference"] == pytest.approx(0.75)
    assert measures["rating"]["difference"] == pytest.approx(1.5)


@pytest.mark.parametrize(
    ("queries", "arguments", "named"),
    [
        ('{"query": "tea", "relevant": []}', (), "line 1.relevant"),
        ('{"query": "tea"}', (), "line 1.relevant"),
        ("{", (), "line 1"),
        ("", (), "no row"),
        ('{"query": "tea", "relevant": ["nobody"]}', (), "nobody"),
        ('{"query": "tea", "relevant": ["a"]}', ("--config", 'x={"colour": 1}'), "colour"),
        ('{"query": "tea", "relevant": ["a"]}', ("--config", "x=1"), "NAME={...}"),
        ('{"query": "tea", "relevant": ["a"]}', ("--compare", "y"), "'y'"),
    ],
)
def test_what_is_wrong_is_named(tmp_path: Path, queries: str, arguments: tuple[str, ...], named: str) -> None:
    (tmp_path / "q").write_text(queries)
    (tmp_path / "m").write_text('{"text": "green tea", "ref": "a"}')
    files = ("--queries", str(tmp_path / "q"), "--memories", str(tmp_path / "m"))
    done = rearview("eval", *files, *arguments, data=tmp_path / "data")
    assert (done.returncode, done.stdout) == (2, "")
    assert named in done.stderr
