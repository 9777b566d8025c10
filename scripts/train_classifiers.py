"""Train the two small classifiers of the write path: `python scripts/train_classifiers.py [--also FILE ...]`.

Screening learns from tests/data/poison_train.jsonl and the files named with --also (labelled JSONL: text,
label); the gate from the `tune` half of tests/data/gate_turns.jsonl and tests/data/gate_train.jsonl. Prints
what cross-validation says and what the held sets say, which are never trained on; then writes the weights.
Needs scikit-learn, which the extra `models` brings.
"""

import argparse
import json
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix, vstack
from sklearn.linear_model import LogisticRegression

from rearview_pipelines.text.linear import bucket, features, save, scaled
from rearview_pipelines.write.gate import classifier as gate
from rearview_pipelines.write.screening import classifier as screening

DATA = Path(__file__).parent.parent / "tests" / "data"
ALSO_WEIGHT = 2.0
FOLDS = 5


def read(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def matrix(vectors: list[tuple[Any, Any]], bits: int) -> Any:
    rows = np.repeat(np.arange(len(vectors)), [len(buckets) for buckets, _ in vectors])
    columns, values = (np.concatenate(parts) for parts in zip(*vectors, strict=True))
    return csr_matrix((values, (rows, columns)), shape=(len(vectors), 1 << bits))


def fit(x: Any, y: Any, c: float, weight: Any = None) -> LogisticRegression:
    return LogisticRegression(C=c, max_iter=5000).fit(x, y, sample_weight=weight)


def crossed(x: Any, y: Any, c: float, other: tuple[Any, Any] | None = None) -> Any:
    """Probabilities of rows by models that were trained without them."""
    p = np.zeros(len(y))
    for part in np.array_split(np.random.RandomState(0).permutation(len(y)), FOLDS):
        rest = np.setdiff1d(np.arange(len(y)), part)
        if other is None:
            model = fit(x[rest], y[rest], c)
        else:
            weight = np.concatenate([np.ones(len(other[1])), ALSO_WEIGHT * np.ones(len(rest))])
            model = fit(vstack([other[0], x[rest]]), np.concatenate([other[1], y[rest]]), c, weight)
        p[part] = model.predict_proba(x[part])[:, 1]
    return p


def rates(name: str, p: Any, y: Any) -> None:
    for threshold in (0.75, 0.8, 0.85, 0.9):
        hit = p >= threshold
        print(f"{name}: at {threshold} recall {hit[y == 1].mean():.3f}, false positives {hit[y == 0].mean():.3f}")


def f1(p: Any, y: Any) -> float:
    hit = p >= 0.5
    return float(2 * (hit & y).sum() / (2 * (hit & y).sum() + (hit & ~y).sum() + (~hit & y).sum()))


def train_screening(also: list[Path]) -> None:
    own, held = read(DATA / "poison_train.jsonl"), read(DATA / "poison_held.jsonl")
    others = [row for path in also for row in read(path)]
    bits = screening.BITS
    counted = [features(row["text"], bits) for row in own + others]
    seen = np.zeros(1 << bits)
    for buckets, _ in counted:
        seen[buckets] += 1
    frequencies = np.where(seen >= 2, np.log((1 + len(counted)) / (1 + seen)) + 1, 0.0)
    x = matrix([(buckets, scaled(buckets, counts, frequencies)) for buckets, counts in counted], bits)
    y = np.array([row["label"] for row in own + others])
    x_own, y_own, x_also, y_also = x[: len(own)], y[: len(own)], x[len(own) :], y[len(own) :]
    if others:
        rates("screening, --also cross-validated", crossed(x_also, y_also, 10.0, (x_own, y_own)), y_also)
    model = fit(x, y, 10.0, np.concatenate([np.ones(len(own)), ALSO_WEIGHT * np.ones(len(others))]))
    met = [features(row["text"], bits) for row in held]
    x_held = matrix([(buckets, scaled(buckets, counts, frequencies)) for buckets, counts in met], bits)
    rates("screening, held", model.predict_proba(x_held)[:, 1], np.array([row["label"] for row in held]))
    save(screening.WEIGHTS, model.coef_[0], frequencies, model.intercept_[0])
    print(f"wrote {screening.WEIGHTS}, {screening.WEIGHTS.stat().st_size // 1024} KiB")


def train_gate() -> None:
    turns = read(DATA / "gate_turns.jsonl")
    tune = [row for row in turns if row["split"] == "tune"] + read(DATA / "gate_train.jsonl")
    held = [row for row in turns if row["split"] == "held"]
    ones = np.ones(1 << gate.BITS)

    def vector(row: dict[str, Any]) -> tuple[Any, Any]:
        buckets, counts = features(row["text"][: gate.WINDOW], gate.BITS)
        marks = [bucket("x:" + m, gate.BITS) for m in gate.marks(row["text"], row["role"], row.get("recalled", []))]
        values = np.concatenate([scaled(buckets, counts, ones), np.full(len(marks), gate.MARK_WEIGHT)])
        return np.concatenate([buckets, np.array(marks, np.int64)]), values

    x, y = matrix([vector(row) for row in tune], gate.BITS), np.array([row["label"] == "keep" for row in tune])
    x_held, y_held = matrix([vector(row) for row in held], gate.BITS), np.array([r["label"] == "keep" for r in held])
    for c in (3.0, 10.0, 30.0):
        print(f"gate, C {c:g}: F1 cross-validated {f1(crossed(x, y, c), y):.3f}")
    model = fit(x, y, gate.C)
    print(f"gate, held: F1 {f1(model.predict_proba(x_held)[:, 1], y_held):.3f} of {len(held)}")
    save(gate.WEIGHTS, model.coef_[0], ones, model.intercept_[0])
    print(f"wrote {gate.WEIGHTS}, {gate.WEIGHTS.stat().st_size // 1024} KiB")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--also", nargs="*", type=Path, default=[], help="further labelled texts for screening")
    parser.add_argument("--only", choices=("screening", "gate"), help="train only this one")
    arguments = parser.parse_args()
    if arguments.only != "gate":
        train_screening(arguments.also)
    if arguments.only != "screening":
        train_gate()


if __name__ == "__main__":
    main()
