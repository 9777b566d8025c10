"""The arrays of a hot scope against what a plain reading of the same memories says."""

import random
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import pytest

from rearview_pipelines.memory import Memory
from rearview_pipelines.ports import Condition, Part, Where
from rearview_pipelines.stores.rows import columns_of, matches
from rearview_pipelines.stores.scope import Scope
from rearview_pipelines.text.analyse import terms_of

NOW = datetime(2026, 11, 25, tzinfo=UTC)


def memory(id_: str, text: str = "tea", **fields: Any) -> Memory:
    base = {"id": id_, "tenant": "t", "text": text, "layer": "semantic", "created_at": NOW, "updated_at": NOW}
    return Memory.model_validate(base | fields)


def parts(*texts: str, axis: int = 0) -> list[Part]:
    vector = np.eye(4, dtype=np.float32)[axis]
    return [Part(n, 0, len(t), " ".join(terms_of(t)), vector) for n, t in enumerate(texts)]


def turn(id_: str, number: int, session: str = "s", **fields: Any) -> Memory:
    source = {"kind": "turn", "speaker": "Ann", "turn": number}
    return memory(id_, f"turn {number}", session=session, source=source, **fields)


def beside(scope: Scope) -> dict[str, list[str | None]]:
    table = scope.table(Where(), [], None)
    return {
        id_: [table.ids[row] if row >= 0 else None for row in near]
        for id_, near in zip(table.ids, table.near.tolist(), strict=True)
    }


def test_turns_stand_beside_each_other_in_the_order_of_their_numbers() -> None:
    scope = Scope(4)
    for id_, number in (("c", 2), ("a", 0), ("b", 1)):
        scope.put(turn(id_, number), parts("x"))
    assert beside(scope) == {"c": ["a", "b", None, None], "a": [None, None, "b", "c"], "b": [None, "a", "c", None]}
    scope.drop("b")
    assert beside(scope) == {"c": [None, "a", None, None], "a": [None, None, "c", None]}
    scope.put(turn("d", 1), parts("x"))
    assert beside(scope)["d"] == [None, "a", "c", None]


def test_sessions_of_different_owners_and_documents_are_apart() -> None:
    scope = Scope(4)
    scope.put(turn("a", 0, agent="x"), parts("x"))
    scope.put(turn("b", 1, agent="y"), parts("x"))
    scope.put(memory("c", session="s", source={"kind": "document"}), parts("x"))
    assert all(near == [None] * 4 for near in beside(scope).values())


def test_what_the_filter_leaves_out_is_nobodys_neighbour() -> None:
    scope = Scope(4)
    scope.put(turn("a", 0), parts("x"))
    scope.put(turn("b", 1, state="quarantined"), parts("x"))
    table = scope.table(Where((Condition("state", "in", ("active",)),)), [], None)
    assert (list(table.ids), table.near.tolist()) == (["a"], [[-1, -1, -1, -1]])


def test_a_memory_counts_with_its_best_part() -> None:
    scope = Scope(4)
    scope.put(memory("long"), [*parts("tea"), Part(1, 3, 9, "green green tea", np.eye(4, dtype=np.float32)[1])])
    scope.put(memory("short"), parts("car"))
    table = scope.table(Where(), ["green"], np.eye(4, dtype=np.float32)[1])
    assert table.dense.tolist() == [1, 0]
    assert table.keyword[0] > 0 == table.keyword[1]
    assert scope.best_part("long", ["green"], None) == 1
    assert scope.best_part("long", ["tea"], np.eye(4, dtype=np.float32)[0]) == 0


def test_every_filter_passes_what_a_plain_reading_passes() -> None:
    random_ = random.Random(7)
    scope, held = Scope(4), {}
    wheres = [
        Where((Condition("agent", "eq", "a"), Condition("ends", "gt", 5))),
        Where((Condition("tags", "has_any", ("x",)), Condition("importance", "ge", 0.5))),
        Where((), ((Condition("agent", "eq", "a"), Condition("visibility", "eq", "shared")),)),
        Where((Condition("session", "in", ("s1", "s2")),)),
    ]
    for step in range(3000):
        id_ = f"m{random_.randrange(1500)}"
        if random_.random() < 0.3:
            scope.drop(id_)
            held.pop(id_, None)
        else:
            held[id_] = memory(
                id_,
                agent=random_.choice("ab"),
                tags=tuple(random_.sample("xyz", 2)),
                importance=random_.random(),
                visibility=random_.choice(("private", "shared")),
                session=random_.choice((None, "s1", "s2")),
                occurred_at=NOW + timedelta(seconds=step),
            )
            scope.put(held[id_], parts("tea"))
        if step % 500 == 0:
            for where in wheres:
                plain = {i for i, m in held.items() if matches(where, columns_of(m))}
                assert set(scope.passing(where, 10_000) or ()) == plain
                assert {m.id for m in scope.dense(where, np.eye(4, dtype=np.float32)[0], 10_000)} == plain
    assert len(scope) == len(held)


def test_the_version_changes_with_what_is_held() -> None:
    scope = Scope(4)
    seen = {scope.version}
    scope.put(memory("a"), parts("tea"))
    seen.add(scope.version)
    scope.drop("a")
    seen.add(scope.version)
    scope.drop("a")
    assert len(seen) == 3 and scope.version in seen


def test_nothing_that_is_not_seen_moves_what_is_found() -> None:
    scope = Scope(4)
    scope.put(memory("mine", agent="a"), parts("zephyr"))
    where = Where((Condition("agent", "eq", "a"),))
    before = scope.table(where, ["zephyr", "tea"], None)
    for n in range(9):
        scope.put(memory(f"m{n}", agent="b"), parts("zephyr and many words more"))
    after = scope.table(where, ["zephyr", "tea"], None)
    assert (after.keyword.tolist(), after.ceiling) == (before.keyword.tolist(), before.ceiling)
    assert scope.keyword(where, ["zephyr"], 5)[0].score == pytest.approx(float(before.keyword[0]))


def test_nothing_of_a_memory_is_left_when_it_goes() -> None:
    scope = Scope(4)
    scope.put(turn("a", 0), parts("xyzzyplugh"))
    scope.put(turn("b", 1), parts("tea"))
    scope.drop("a")
    assert "xyzzyplugh" not in str(vars(scope._postings))
    assert scope.table(Where(), [], None).speakers == ["ann"]
    scope.drop("b")
    assert "ann" not in scope.table(Where(), [], None).speakers
