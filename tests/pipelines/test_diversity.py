"""Maximal marginal relevance."""

import numpy as np

from rearview_pipelines.recall.diversity import diverse


def test_an_echo_stands_behind_what_is_nearly_as_good() -> None:
    a, b = np.asarray([1, 0], np.float32), np.asarray([0, 1], np.float32)
    assert diverse([1.0, 0.99, 0.95, 0.0], [a, a, b, b]) == [0, 2, 1, 3]


def test_what_is_much_better_stays_in_front_even_if_it_is_alike() -> None:
    a, b = np.asarray([1, 0], np.float32), np.asarray([0, 1], np.float32)
    assert diverse([1.0, 0.9, 0.2], [a, a, b]) == [0, 1, 2]


def test_without_vectors_the_order_stays() -> None:
    assert diverse([3.0, 2.0, 1.0], [None, None, None]) == [0, 1, 2]
    assert diverse([], []) == []
