"""A linear classifier of short texts over hashed n-grams: small, offline, any script. The weights hold no text.

Features: character 1- to 4-grams, words, pairs of words; sublinear counts, inverse document frequency where
the model has one, unit length (Salton & Buckley 1988). Trained by `scripts/train_*.py` on labelled texts.
"""

import math
import re
import unicodedata
import zlib
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

_WORD = re.compile(r"[^\W_]+")
_DIGIT = re.compile(r"\d")


def grams(text: str) -> Counter[str]:
    """What stands in a text, digits alike, with counts."""
    folded = " " + _DIGIT.sub("0", " ".join(unicodedata.normalize("NFKC", text).casefold().split())) + " "
    counts: Counter[str] = Counter()
    for size in (1, 2, 3, 4):
        counts.update([folded[i : i + size] for i in range(len(folded) - size + 1)])
    words = _WORD.findall(folded)
    counts.update(["w:" + word for word in words])
    counts.update([f"b:{a} {b}" for a, b in pairwise(words)])
    counts.update([f"t:{a} {b}" for a, b in zip(words, words[2:], strict=False)])
    return counts


def bucket(feature: str, bits: int) -> int:
    return zlib.crc32(feature.encode()) & ((1 << bits) - 1)


def features(text: str, bits: int) -> dict[int, float]:
    """Buckets and their sublinear counts."""
    buckets: dict[int, float] = {}
    mask, crc32 = (1 << bits) - 1, zlib.crc32  # `bucket`, without the call: it is made a thousand times a text
    for gram, count in grams(text).items():
        at = crc32(gram.encode()) & mask
        weight = 1.0 if count == 1 else 1 + math.log(count)
        buckets[at] = buckets[at] + weight if at in buckets else weight
    return buckets


def scaled(buckets: Mapping[int, float], frequencies: Any) -> dict[int, float]:
    """Weighed by document frequency and brought to unit length."""
    weighed = {b: v * float(frequencies[b]) for b, v in buckets.items()}
    length = math.sqrt(sum(v * v for v in weighed.values())) or 1.0
    return {b: v / length for b, v in weighed.items()}


@dataclass(frozen=True)
class LinearModel:
    """`probability` is that of the class the model was trained to find."""

    weights: Any
    frequencies: Any
    intercept: float
    bits: int

    def probability(self, text: str, marks: Iterable[str] = (), mark_weight: float = 0.0) -> float:
        """`marks`: what else is known of the text, each a feature of weight `mark_weight`."""
        buckets = features(text, self.bits)
        index = np.fromiter(buckets.keys(), np.int64, len(buckets))
        values = np.fromiter(buckets.values(), np.float64, len(buckets)) * self.frequencies[index]
        length = math.sqrt(float(values @ values)) or 1.0
        score = float(values @ self.weights[index]) / length + self.intercept
        score += mark_weight * sum(float(self.weights[bucket("x:" + mark, self.bits)]) for mark in marks)
        return 1 / (1 + math.exp(-score))


@lru_cache(maxsize=8)
def load(path: Path) -> LinearModel:
    with np.load(path) as stored:
        weights = stored["weights"].astype(np.float64)
        bits = len(weights).bit_length() - 1
        return LinearModel(weights, stored["frequencies"].astype(np.float64), float(stored["intercept"]), bits)


def save(path: Path, weights: Any, frequencies: Any, intercept: float) -> None:
    np.savez_compressed(
        path,
        weights=np.asarray(weights, np.float16),
        frequencies=np.asarray(frequencies, np.float16),
        intercept=intercept,
    )
