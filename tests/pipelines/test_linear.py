"""The linear classifier: the same features in training and in use, weights that load once."""

import math
from pathlib import Path

import numpy as np
import pytest

from rearview_pipelines.text.linear import bucket, features, load, save


def _buckets(text: str, bits: int = 14) -> set[int]:
    return set(features(text, bits)[0].tolist())


def test_features_fold_width_case_and_digits() -> None:
    assert _buckets("Room 12") == _buckets("ｒｏｏｍ 99")
    assert _buckets("room") != _buckets("roof")


def test_features_count_what_repeats_and_know_the_order_of_words() -> None:
    buckets, counts = features("ha ha ha", 14)
    assert len(buckets) == len(counts) and counts.max() == pytest.approx(1 + math.log(4))  # five spaces or h's at most
    assert _buckets("tea not coffee") != _buckets("coffee not tea")


@pytest.mark.parametrize("text", ["", "a", "\ud800", "😀" * 5])
def test_texts_without_words_have_features_too(text: str) -> None:
    buckets, counts = features(text, 14)
    assert len(buckets) == len(counts) > 0


def test_a_model_says_what_its_weights_say(tmp_path: Path) -> None:
    weights = np.zeros(1 << 14)
    weights[list(_buckets("tea") - _buckets("coffee"))] = 30.0
    weights[bucket("x:mark", 14)] = -90.0
    save(tmp_path / "m.npz", weights, np.ones(1 << 14), -2.0)
    model = load(tmp_path / "m.npz")
    assert model.bits == 14
    assert model.probability("tea") > 0.9
    assert model.probability("coffee") < 0.2
    assert model.probability("tea", ["mark"], 1.0) < 0.2
    assert load(tmp_path / "m.npz") is model
