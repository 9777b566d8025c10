"""A linear classifier of short texts over hashed n-grams: small, offline, any script. The weights hold no text.

Features: character 1- to 4-grams, words, pairs of words; sublinear counts, inverse document frequency where
the model has one, unit length (Salton & Buckley 1988). Trained by `scripts/train_classifiers.py` on labelled texts.
"""

import math
import re
import unicodedata
import zlib
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

_WORD = re.compile(r"[^\W_]+")
_DIGIT = re.compile(r"\d")
_SIZES = (1, 2, 3, 4)
_STEP, _MIX = np.uint64(0x100000001B3), np.uint64(0x9E3779B97F4A7C15)
"""Multipliers of FNV-1a (Fowler, Noll & Vo) and of Fibonacci hashing (Knuth, The Art of Computer Programming 6.4)."""


def bucket(feature: str, bits: int) -> int:
    """Where a feature that has a name of its own is kept: a mark."""
    return zlib.crc32(feature.encode()) & ((1 << bits) - 1)


def features(text: str, bits: int) -> tuple[Any, Any]:
    """(buckets, their sublinear counts), two arrays of one length: what stands in a text, digits alike.

    Hashed by arrays: there are a thousand n-grams in a text of two sentences.
    """
    folded = " " + _DIGIT.sub("0", " ".join(unicodedata.normalize("NFKC", text).casefold().split())) + " "
    signs = np.frombuffer(folded.encode("utf-32-le", "surrogatepass"), np.uint32).astype(np.uint64)
    words = np.fromiter((zlib.crc32(w.encode("utf-8", "surrogatepass")) for w in _WORD.findall(folded)), np.uint64)
    made, gram = [], np.zeros(len(signs), np.uint64)
    for size in _SIZES:
        if len(signs) < size:
            break
        gram = gram[: len(signs) - size + 1] * _STEP + signs[size - 1 :]
        made.append(gram * _STEP + np.uint64(size))
    made.append(words * _STEP + np.uint64(11))
    made.append((words[:-1] * _STEP + words[1:]) * _STEP + np.uint64(12))
    made.append((words[:-2] * _STEP + words[2:]) * _STEP + np.uint64(13))
    hashed = (np.concatenate(made) * _MIX) >> np.uint64(64 - bits)
    buckets, counts = np.unique(hashed.astype(np.int64), return_counts=True)
    return buckets, 1 + np.log(counts)


def scaled(buckets: Any, counts: Any, frequencies: Any) -> Any:
    """Counts weighed by document frequency and brought to unit length."""
    weighed = counts * frequencies[buckets]
    return weighed / (math.sqrt(float(weighed @ weighed)) or 1.0)


@dataclass(frozen=True)
class LinearModel:
    """`probability` is that of the class the model was trained to find."""

    weights: Any
    frequencies: Any
    intercept: float
    bits: int

    def probability(self, text: str, marks: Iterable[str] = (), mark_weight: float = 0.0) -> float:
        """`marks`: what else is known of the text, each a feature of weight `mark_weight`."""
        buckets, counts = features(text, self.bits)
        score = float(scaled(buckets, counts, self.frequencies) @ self.weights[buckets]) + self.intercept
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
