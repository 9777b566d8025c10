"""The memories that a recall may answer, as arrays: one row a memory, whatever store they came from."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]
Ints = NDArray[np.int64]
Flags = NDArray[np.bool_]

NEAR = (-2, -1, 1, 2)
"""Distances, in turns of a session, of the columns of `Table.near`."""
TURN, DOCUMENT, OTHER = range(3)
"""Kinds of rows that are weighed apart."""


@dataclass
class Table:
    """`n` rows.

    keyword   (n,) BM25 of the best part, 0 where no term is shared
    dense     (n,) cosine of the best part; NaN where it is not known
    near      (n, 4) rows of the turns beside it, in the order of NEAR; -1 where there is none
    session   (n,) a number that rows of one session share; -1 without one
    kind      (n,) TURN, DOCUMENT or OTHER
    question, relative   (n,) flags of the text, as `recall.signals` finds them
    speaker   (n,) index into `speakers`; -1 without one
    occurred  (n,) milliseconds since 1970
    ceiling   BM25 of a short text that holds every term of the query once; 0 if it is not known
    """

    ids: Sequence[str]
    keyword: Floats
    dense: Floats
    near: Ints
    session: Ints
    kind: Ints
    question: Flags
    relative: Flags
    speaker: Ints
    occurred: Ints
    speakers: Sequence[str] = field(default_factory=list)
    ceiling: float = 0.0

    def __len__(self) -> int:
        return len(self.ids)

    def only(self, rows: Ints) -> "Table":
        """The table of these rows alone; what is near them is kept where it is among them."""
        place = np.full(len(self) + 1, -1, np.int64)
        place[rows] = np.arange(len(rows))
        return Table(
            [self.ids[row] for row in rows],
            self.keyword[rows],
            self.dense[rows],
            place[self.near[rows]],  # -1 finds the last place, which stays -1
            self.session[rows],
            self.kind[rows],
            self.question[rows],
            self.relative[rows],
            self.speaker[rows],
            self.occurred[rows],
            self.speakers,
            self.ceiling,
        )
