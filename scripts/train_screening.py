"""Train the screening classifier: `python scripts/train_screening.py [--also FILE ...]`.

Prints what four-fold cross-validation says of the files named with --also (labelled JSONL: text, label),
and of the held set in tests/data, which is never trained on; then writes the weights. Needs scikit-learn,
which the extra `models` brings.
"""

import argparse
import json
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix, vstack
from sklearn.linear_model import LogisticRegression

from rearview_pipelines.write.screening.classifier import BITS, WEIGHTS, features

DATA = Path(__file__).parent.parent / "tests" / "data"
C = 10.0
ALSO_WEIGHT = 2.0
FOLDS = 4


def rows_of(path: Path) -> tuple[list[str], np.ndarray]:
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    return [row["text"] for row in rows], np.array([row["label"] for row in rows])


def matrix(texts: list[str], frequencies: np.ndarray | None) -> Any:
    rows, columns, values = [], [], []
    for number, text in enumerate(texts):
        buckets = features(text)
        weighed = {b: v * (1.0 if frequencies is None else frequencies[b]) for b, v in buckets.items()}
        length = float(np.sqrt(sum(v * v for v in weighed.values()))) or 1.0
        for bucket, value in weighed.items():
            rows.append(number)
            columns.append(bucket)
            values.append(value / length)
    return csr_matrix((values, (rows, columns)), shape=(len(texts), 1 << BITS))


def fit(x: Any, y: np.ndarray, weight: np.ndarray) -> LogisticRegression:
    return LogisticRegression(C=C, max_iter=5000).fit(x, y, sample_weight=weight)


def report(name: str, p: np.ndarray, y: np.ndarray) -> None:
    for threshold in (0.75, 0.8, 0.85, 0.9):
        hit = p >= threshold
        print(f"{name}: at {threshold} recall {hit[y == 1].mean():.3f}, false positives {hit[y == 0].mean():.3f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--also", nargs="*", type=Path, default=[])
    arguments = parser.parse_args()
    own, y_own = rows_of(DATA / "poison_train.jsonl")
    held, y_held = rows_of(DATA / "poison_held.jsonl")
    pairs = [rows_of(path) for path in arguments.also]
    also = [text for texts, _ in pairs for text in texts]
    y_also = np.concatenate([y for _, y in pairs]) if pairs else np.zeros(0, int)
    counted = matrix(own + also, None)
    seen = np.asarray((counted > 0).sum(0)).ravel()
    frequencies = np.where(seen >= 2, np.log((1 + counted.shape[0]) / (1 + seen)) + 1, 0.0)
    x_own, x_also, x_held = matrix(own, frequencies), matrix(also, frequencies), matrix(held, frequencies)
    if len(also):
        p = np.zeros(len(also))
        for part in np.array_split(np.random.RandomState(0).permutation(len(also)), FOLDS):
            rest = np.setdiff1d(np.arange(len(also)), part)
            weight = np.concatenate([np.ones(len(own)), ALSO_WEIGHT * np.ones(len(rest))])
            model = fit(vstack([x_own, x_also[rest]]), np.concatenate([y_own, y_also[rest]]), weight)
            p[part] = model.predict_proba(x_also[part])[:, 1]
        report("also, cross-validated", p, y_also)

    weight = np.concatenate([np.ones(len(own)), ALSO_WEIGHT * np.ones(len(also))])
    model = fit(vstack([x_own, x_also]) if len(also) else x_own, np.concatenate([y_own, y_also]), weight)
    report("held", model.predict_proba(x_held)[:, 1], y_held)
    np.savez_compressed(
        WEIGHTS,
        weights=model.coef_[0].astype(np.float16),
        frequencies=frequencies.astype(np.float16),
        intercept=model.intercept_[0],
    )
    print(f"wrote {WEIGHTS.name}, {WEIGHTS.stat().st_size / 1024:.0f} KiB")


if __name__ == "__main__":
    main()
