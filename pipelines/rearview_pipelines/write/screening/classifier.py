"""A linear classifier over hashed n-grams: catches what the signs have no words for. Small, offline, any script.

Trained by `scripts/train_screening.py` on labelled texts of our own (`tests/data/poison_train.jsonl`) and
any others named there; the weights hold no text. Features: character 1- to 4-grams and word 1- and 2-grams,
sublinear counts, inverse document frequency, unit length (Salton & Buckley 1988).
"""

import math
import re
import unicodedata
import zlib
from collections import Counter
from functools import lru_cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

BITS = 16
WEIGHTS = Path(__file__).with_name("weights.npz")
WINDOW = 1200
"""Characters judged at a time; the worst part of a long text counts."""
_WORD = re.compile(r"[^\W_]+")
_DIGIT = re.compile(r"\d")


def features(text: str) -> dict[int, float]:
    """Buckets and their sublinear counts."""
    folded = " " + _DIGIT.sub("0", " ".join(unicodedata.normalize("NFKC", text).casefold().split())) + " "
    counts: Counter[str] = Counter()
    for size in (1, 2, 3, 4):
        counts.update([folded[i : i + size] for i in range(len(folded) - size + 1)])
    words = _WORD.findall(folded)
    counts.update(["w:" + word for word in words])
    counts.update([f"b:{a} {b}" for a, b in pairwise(words)])
    counts.update([f"t:{a} {b}" for a, b in zip(words, words[2:], strict=False)])
    buckets: dict[int, float] = {}
    for gram, count in counts.items():
        bucket = zlib.crc32(gram.encode()) & ((1 << BITS) - 1)
        buckets[bucket] = buckets.get(bucket, 0.0) + 1 + math.log(count)
    return buckets


def probability(text: str) -> float:
    """How likely the classifier holds a text, or its worst part, to be an attack: 0 to 1."""
    step = WINDOW // 2
    starts = range(0, max(len(text) - step, 1), step)
    return max(_probability(text[start : start + WINDOW]) for start in starts)


def _probability(text: str) -> float:
    weights, frequencies, intercept = _model()
    buckets = features(text)
    index = np.fromiter(buckets.keys(), np.int64, len(buckets))
    values = np.fromiter(buckets.values(), np.float64, len(buckets)) * frequencies[index]
    length = float(np.linalg.norm(values)) or 1.0
    return 1 / (1 + math.exp(-(float(values @ weights[index]) / length + intercept)))


@lru_cache(maxsize=1)
def _model() -> tuple[Any, Any, float]:
    with np.load(WEIGHTS) as stored:
        return (
            stored["weights"].astype(np.float64),
            stored["frequencies"].astype(np.float64),
            float(stored["intercept"]),
        )
