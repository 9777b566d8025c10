"""The linear classifier: the same features in training and in use, weights that load once."""

from pathlib import Path

import numpy as np

from rearview_pipelines.text.linear import bucket, features, load, save


def test_features_fold_width_case_and_digits() -> None:
    assert features("Room 12", 12) == features("ｒｏｏｍ 99", 12)
    assert features("room", 12) != features("roof", 12)


def test_a_model_says_what_its_weights_say(tmp_path: Path) -> None:
    weights = np.zeros(1 << 14)
    weights[bucket("w:tea", 14)] = 30.0
    weights[bucket("x:mark", 14)] = -50.0
    save(tmp_path / "m.npz", weights, np.ones(1 << 14), -2.0)
    model = load(tmp_path / "m.npz")
    assert model.bits == 14
    assert model.probability("tea") > 0.9
    assert model.probability("tea", ["mark"], 0.5) < 0.1
    assert load(tmp_path / "m.npz") is model
