"""An inverted index in memory: BM25 as Lucene computes it, over slots."""

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

from rearview_pipelines.recall.table import Flags, Floats

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

    def put(self, slot: int, terms: Sequence[str], *, document: bool = False) -> None:
        """`document`: it is weighed as one, not as a turn or a note."""
        while slot >= len(self._lengths):
            self._lengths, self._k1, self._b = (
                np.concatenate([values, np.zeros_like(values)]) for values in (self._lengths, self._k1, self._b)
            )
        self._lengths[slot] = len(terms)
        self._k1[slot], self._b[slot] = (DOCUMENT_K1, DOCUMENT_B) if document else (TURN_K1, TURN_B)
        for term, count in Counter(terms).items():
            self._of_term.setdefault(term, {})[slot] = count
            self._arrays.pop(term, None)

    def drop(self, slot: int, terms: Sequence[str]) -> None:
        for term in set(terms):
            posting = self._of_term[term]
            del posting[slot]
            if not posting:
                del self._of_term[term]
            self._arrays.pop(term, None)
        self._lengths[slot] = 0

    def scores(self, terms: Sequence[str], allowed: Flags) -> Floats:
        """(slots,) the BM25 of each; 0 where no term is shared.

        How rare a term is, and how long a text is on average, is asked of the `allowed` slots alone: nothing that a
        caller may not see moves what it finds.
        """
        scores = np.zeros(len(allowed), np.float32)
        count = int(allowed.sum())
        average = float(self._lengths[: len(allowed)][allowed].sum()) / max(count, 1) or 1.0
        for term in dict.fromkeys(terms):
            at, frequencies = self._posting(term)
            if len(at):
                idf = self._idf(int(allowed[at].sum()), count)
                k1, b = self._k1[at], self._b[at]
                norm = k1 * (1 - b + b * self._lengths[at] / average)
                scores[at] += idf * frequencies * (k1 + 1) / (frequencies + norm)
        return scores

    def ceiling(self, terms: Sequence[str], allowed: Flags) -> float:
        """BM25 of a text of average length that holds every one of the terms once."""
        count = int(allowed.sum())
        holding = (int(allowed[self._posting(term)[0]].sum()) for term in dict.fromkeys(terms))
        return float(sum(self._idf(number, count) for number in holding))

    @staticmethod
    def _idf(holding: int, count: int) -> float:
        return float(np.log(1 + (count - holding + 0.5) / (holding + 0.5)))

    def _posting(self, term: str) -> tuple[Any, Any]:
        if term not in self._arrays:
            posting = self._of_term.get(term)
            if posting is None:
                return np.zeros(0, np.int64), np.zeros(0, np.float32)
            self._arrays[term] = (
                np.fromiter(posting.keys(), np.int64, len(posting)),
                np.fromiter(posting.values(), np.float32, len(posting)),
            )
        return self._arrays[term]
