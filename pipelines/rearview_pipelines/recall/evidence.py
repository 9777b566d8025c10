"""How strong a hit is by itself, 0 to 1: the same scale for every query, apart from the order. Pure."""

BM25_HALF = 4.0
"""The BM25 score that counts as half the evidence: about two rare terms in a short text."""


def from_cosine(cosine: float) -> float:
    return min(max(cosine, 0.0), 1.0)


def from_bm25(score: float) -> float:
    """Saturated: s / (s + half)."""
    return score / (score + BM25_HALF) if score > 0 else 0.0
