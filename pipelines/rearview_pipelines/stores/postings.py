"""An inverted index in memory: BM25 as Lucene computes it, over slots."""

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

from rearview_pipelines.recall.table import Floats

TURN_K1, TURN_B = 0.9, 0.4
"""For short texts, as in the collection's own index (`stores.schema`): LoCoMo recall@10 +.015 over the usual ones."""
DOCUMENT_K1, DOCUMENT_B = 1.5, 0.75
"""For documents, whose length says something: SciFact nDCG@10 +.01 over .9 and .4."""
_FIRST_ROOM = 1024


class Postings:
    def __init__(self) -> None:
        self._of_term: dict[str, dict[int, int]] = {}
        self._arrays: dict[str, tuple[Any, Any]] = {}
        self._lengths = np.zeros(_FIRST_ROOM, np.float32)
        self._k1 = np.full(_FIRST_ROOM, TURN_K1, np.float32)
        self._b = np.full(_FIRST_ROOM, TURN_B, np.float32)
        self._count = 0

    def put(self, slot: int, terms: Sequence[str], *, document: bool = False) -> None:
        """`document`: it is weighed as one, not as a turn or a note."""
        while slot >= len(self._lengths):
            self._lengths, self._k1, self._b = (
                np.concatenate([values, np.zeros_like(values)]) for values in (self._lengths, self._k1, self._b)
            )
        self._lengths[slot] = len(terms)
        self._k1[slot], self._b[slot] = (DOCUMENT_K1, DOCUMENT_B) if document else (TURN_K1, TURN_B)
        self._count += 1
        for term, count in Counter(terms).items():
            self._of_term.setdefault(term, {})[slot] = count
            self._arrays.pop(term, None)

    def drop(self, slot: int, terms: Sequence[str]) -> None:
        for term in set(terms):
            del self._of_term[term][slot]
            self._arrays.pop(term, None)
        self._lengths[slot] = 0
        self._count -= 1

    def scores(self, terms: Sequence[str], slots: int) -> Floats:
        """(slots,) the BM25 of each; 0 where no term is shared."""
        scores = np.zeros(slots, np.float32)
        count = max(self._count, 1)
        average = float(self._lengths.sum()) / count or 1.0
        for term in dict.fromkeys(terms):
            at, frequencies = self._posting(term)
            if len(at):
                idf = self._idf(len(at))
                k1, b = self._k1[at], self._b[at]
                norm = k1 * (1 - b + b * self._lengths[at] / average)
                scores[at] += idf * frequencies * (k1 + 1) / (frequencies + norm)
        return scores

    def ceiling(self, terms: Sequence[str]) -> float:
        """BM25 of a text of average length that holds every one of the terms once."""
        return float(sum(self._idf(len(self._posting(term)[0])) for term in dict.fromkeys(terms)))

    def _idf(self, holding: int) -> float:
        count = max(self._count, 1)
        return float(np.log(1 + (count - holding + 0.5) / (holding + 0.5)))

    def _posting(self, term: str) -> tuple[Any, Any]:
        if term not in self._arrays:
            posting = self._of_term.get(term, {})
            if not posting:
                self._of_term.pop(term, None)
                return np.zeros(0, np.int64), np.zeros(0, np.float32)
            self._arrays[term] = (
                np.fromiter(posting.keys(), np.int64, len(posting)),
                np.fromiter(posting.values(), np.float32, len(posting)),
            )
        return self._arrays[term]
