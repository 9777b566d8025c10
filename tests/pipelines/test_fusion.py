"""Fusion: context, windows, z-scores, and signals that count for turns only."""

from dataclasses import replace

import numpy as np

from rearview_pipelines.recall.fusion import Asked, Weights, fuse, in_context, windows, z_scores
from rearview_pipelines.recall.table import DOCUMENT, OTHER, TURN, Table

NOTHING = Weights(
    **dict.fromkeys(
        ("near", "far", "session", "keyword", "dense", "keyword_alone", "dense_alone", "late", "late_session"), 0.0
    ),
    speaker=0.0,
    relative=0.0,
    question=0.0,
)


def table(keyword: list[float], kind: int = TURN, **changes: object) -> Table:
    """Turns of one session, one after the other."""
    n = len(keyword)
    near = np.full((n, 4), -1)
    for row in range(n):
        for column, distance in enumerate((-2, -1, 1, 2)):
            if 0 <= row + distance < n:
                near[row, column] = row + distance
    made = Table(
        [f"m{row}" for row in range(n)],
        np.asarray(keyword, np.float32),
        np.full(n, np.nan, np.float32),
        near,
        np.zeros(n, np.int64),
        np.full(n, kind),
        np.zeros(n, np.bool_),
        np.zeros(n, np.bool_),
        np.full(n, -1),
        np.zeros(n, np.int64),
        ["ann"],
    )
    return replace(made, **changes)  # type: ignore[arg-type]


def of(weights: Weights) -> dict[str, Weights]:
    return {"turn": weights, "document": weights, "other": weights}


def test_a_turn_gains_from_its_neighbours_and_its_session() -> None:
    weights = of(replace(NOTHING, near=0.5, far=0.25, session=0.1))
    got = in_context(table([0, 0, 4, 0, 0]), weights)
    assert np.allclose(got, [1.4, 2.4, 4.4, 2.4, 1.4])


def test_documents_have_no_context() -> None:
    assert np.allclose(in_context(table([0, 4, 0], DOCUMENT)), [0, 4, 0])


def test_a_query_token_found_next_door_counts_a_little_less() -> None:
    late = np.asarray([[0.9, 0.1], [0.2, 0.8], [0.1, 0.1]], np.float32)
    window, bag = windows(table([0, 0, 0]), late, of(replace(NOTHING, near=1.0, late_near=0.1, late_far=0.2)))
    assert np.allclose(window, [(0.9 + 0.7) / 2, (0.8 + 0.8) / 2, (0.7 + 0.7) / 2])
    assert np.allclose(bag, [0.85, 0.85, 0.85])


def test_what_has_no_token_vectors_counts_as_the_lowest_and_is_nobodys_neighbour() -> None:
    late = np.asarray([[0.9], [np.nan], [0.4]], np.float32)
    window, _ = windows(table([0, 0, 0]), late, of(replace(NOTHING, near=1.0)))
    assert np.isnan(window[1])
    fused = fuse(table([0, 0, 0]), Asked(), late, of(replace(NOTHING, late=1.0)))
    assert fused.order[0] == 0
    assert fused.total[1] == fused.total[2]


def test_signals_of_dialogue_count_for_turns_only() -> None:
    flags = np.asarray([True, False])
    asked = Asked(frozenset({0}), when=True)
    changes = {"relative": flags, "speaker": np.asarray([0, -1])}
    turns = fuse(table([1, 1], TURN, **changes), asked)
    others = fuse(table([1, 1], OTHER, **changes), asked)
    assert turns.total[0] > turns.total[1]
    assert others.total[0] == others.total[1]
    assert {"speaker", "relative"} <= set(turns.shares)


def test_a_turn_that_only_asks_stands_behind_one_that_tells() -> None:
    assert list(fuse(table([1, 1], question=np.asarray([True, False])), Asked()).order) == [1, 0]


def test_equals_stand_in_the_order_of_their_ids() -> None:
    assert list(fuse(replace(table([1, 1, 1]), ids=["c", "a", "b"]), Asked()).order) == [1, 2, 0]


def test_shares_add_up_to_the_total() -> None:
    late = np.asarray([[0.9], [0.5], [0.4]], np.float32)
    dense = np.asarray([0.1, 0.9, 0.2], np.float32)
    fused = fuse(table([3, 0, 1], dense=dense), Asked(), late)
    assert np.allclose(sum(fused.shares.values()), fused.total)
    assert set(fused.shares) == {"keyword", "dense", "late", "session", "question"}


def test_z_scores() -> None:
    assert np.allclose(z_scores(np.asarray([1, 3], np.float32)), [-1, 1])
    assert np.allclose(z_scores(np.asarray([2, 2], np.float32)), [0, 0])
    assert np.allclose(z_scores(np.asarray([1, np.nan, 3], np.float32)), [-1, -1, 1])
    assert np.allclose(z_scores(np.asarray([np.nan], np.float32)), [0])


def test_a_part_of_a_table_keeps_the_neighbours_that_are_in_it() -> None:
    part = table([1, 2, 3]).only(np.asarray([0, 1]))
    assert list(part.ids) == ["m0", "m1"]
    assert part.near.tolist() == [[-1, -1, 1, -1], [-1, 0, -1, -1]]
