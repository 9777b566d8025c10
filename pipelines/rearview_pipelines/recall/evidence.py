"""How strong a hit is by itself, 0 to 1: the same scale for every query, apart from the order. Pure."""

import numpy as np

from rearview_pipelines.recall.table import Floats

BM25_HALF = 4.0
"""The BM25 score that counts as half the evidence: about two rare terms in a short text."""
LATE_NONE, LATE_FULL = 0.70, 0.95
"""Mean MaxSim, over the query's words, of a text on something else, and of one that nearly repeats it. Of LoCoMo's
questions the texts that answer have .83 to .92, the others of the same conversation .75 to .84, texts on other
matters .60 to .70."""


def from_cosine(cosines: Floats) -> Floats:
    return np.clip(cosines, 0, 1)


def from_bm25(scores: Floats, ceiling: float) -> Floats:
    """Root of the share of what a text with every term of the query would score: it falls off as slowly as MaxSim does.

    Where that is not known, s / (s + half).
    """
    least = np.maximum(scores, 0)
    if ceiling <= 0:
        return np.asarray(least / (least + BM25_HALF), np.float32)
    return np.asarray(np.sqrt(np.minimum(least / ceiling, 1)), np.float32)


def from_late(best: Floats) -> Floats:
    """`best`: (memories, query tokens), what each token finds best; their means, spread over 0 to 1."""
    return np.asarray(np.clip((best.mean(axis=1) - LATE_NONE) / (LATE_FULL - LATE_NONE), 0, 1), np.float32)
