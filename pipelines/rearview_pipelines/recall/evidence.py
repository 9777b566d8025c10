"""How strong a hit is by itself, 0 to 1: the same scale for every query, apart from the order. Pure."""

import numpy as np

from rearview_pipelines.recall.table import Floats

BM25_HALF = 4.0
"""The BM25 score that counts as half the evidence: about two rare terms in a short text."""
LATE_NONE, LATE_FULL = 0.45, 0.95
"""Mean MaxSim of a text that has nothing to do with the query, and of one that answers it word for word."""


def from_cosine(cosine: float) -> float:
    return min(max(cosine, 0.0), 1.0)


def from_bm25(score: float) -> float:
    """Saturated: s / (s + half)."""
    return score / (score + BM25_HALF) if score > 0 else 0.0


def from_late(best: Floats) -> float:
    """`best`: (query tokens,) what each finds best in the text; their mean, spread over 0 to 1."""
    return min(max((float(np.mean(best)) - LATE_NONE) / (LATE_FULL - LATE_NONE), 0.0), 1.0)
