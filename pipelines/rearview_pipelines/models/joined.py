"""Two embedders, each for the languages it knows, whose vectors are never compared.

A vector of the first fills the first dimensions and leaves the rest at zero, one of the second the other way
round: the cosine between texts that different models embedded is 0, in every index, without a filter.
"""

from collections.abc import Sequence

import numpy as np

from rearview_pipelines.models.late import knows
from rearview_pipelines.ports import EmbeddedPart, Embedder, Passage, Vector


class JoinedEmbedder:
    """`first` for what it knows, `other` for every other language."""

    def __init__(self, first: Embedder, other: Embedder) -> None:
        self._first, self._other = first, other

    @property
    def name(self) -> str:
        return joined_name(self._first.name, self._other.name)

    @property
    def dimension(self) -> int:
        return self._first.dimension + self._other.dimension

    @property
    def languages(self) -> frozenset[str] | None:
        return joined_languages(self._first.languages, self._other.languages)

    async def documents(self, passages: Sequence[Passage]) -> list[tuple[EmbeddedPart, ...]]:
        mine = [knows(self._first.languages, p.text) for p in passages]
        first = iter(await self._first.documents([p for p, own in zip(passages, mine, strict=True) if own]))
        other = iter(await self._other.documents([p for p, own in zip(passages, mine, strict=True) if not own]))
        return [
            tuple(EmbeddedPart(p.start, p.end, self._placed(p.vector, own), p.tokens, p.late) for p in of)
            for own in mine
            for of in [next(first) if own else next(other)]
        ]

    async def query(self, text: str) -> Vector:
        own = knows(self._first.languages, text)
        return self._placed(await (self._first if own else self._other).query(text), own)

    def _placed(self, vector: Vector, first: bool) -> Vector:
        whole = np.zeros(self.dimension, np.float32)
        if first:
            whole[: self._first.dimension] = vector
        else:
            whole[self._first.dimension :] = vector
        return whole


def joined_name(first: str, other: str) -> str:
    return f"{first}+{other}"


def joined_languages(first: frozenset[str] | None, other: frozenset[str] | None) -> frozenset[str] | None:
    return None if first is None or other is None else first | other
