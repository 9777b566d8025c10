"""Late interaction in this process: a vector for every token, reduced and quantised, on an exported ONNX folder."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from rearview_pipelines.models.encoder import Encoder
from rearview_pipelines.ports import Tokens, Vector
from rearview_pipelines.text.language import language_of

DIMENSION = 96
"""What token vectors are reduced to: nothing is lost (LoCoMo recall@10 .804 of .807), a third of the bytes."""
_SCALE = 127.0
"""A unit vector's elements times this are kept as int8: an error of .002 in a cosine."""


class LateEncoder:
    """Token vectors of queries and of documents. Blocking and thread-safe."""

    def __init__(self, folder: Path, threads: int = 1) -> None:
        self._encoder = Encoder(folder, "late", threads)
        basis = folder / "basis.npy"
        self._basis: NDArray[np.float32] | None = np.load(basis, allow_pickle=False) if basis.is_file() else None

    @property
    def name(self) -> str:
        return self._encoder.card.identity

    @property
    def dimension(self) -> int:
        """Of a token vector as it is kept."""
        return self._encoder.card.dimension

    @property
    def marks(self) -> int:
        return self._encoder.card.marks

    @property
    def languages(self) -> frozenset[str] | None:
        return self._encoder.card.known_languages

    def query(self, text: str) -> Vector:
        """(tokens, dimension), unit vectors; those of the special tokens last, `marks` of them.

        Not padded with [MASK]: that costs a third of the quality (measured).
        """
        card = self._encoder.card
        prefixed = card.query_prefix + text
        [(_, states)] = self._encoder.states([prefixed], card.query_marker)
        last = set(marks_of(self._encoder, prefixed))
        words = [at for at in range(len(states)) if at not in last]
        return self._reduced(states[[*words, *sorted(last)]])

    def documents(self, texts: Sequence[str]) -> list[Tokens]:
        """(tokens, dimension) of int8 for each text; no row for a text in a language that the model does not know."""
        card = self._encoder.card
        found: list[Tokens] = [np.zeros((0, card.dimension), np.int8)] * len(texts)
        known = [i for i, text in enumerate(texts) if knows(self.languages, text)]
        prefixed = [card.document_prefix + texts[i] for i in known]
        for at, states in self._encoder.states(prefixed, card.document_marker, card.skip):
            found[known[at]] = quantised(self._reduced(states))
        return found

    def _reduced(self, states: NDArray[np.float32]) -> NDArray[np.float32]:
        reduced = states if self._basis is None else states @ self._basis
        norms = np.linalg.norm(reduced, axis=1, keepdims=True)
        return np.asarray(reduced / np.where(norms > 0, norms, 1), np.float32)


def marks_of(encoder: Encoder, query: str) -> list[int]:
    """Positions of what says nothing of a query: special tokens, and the marker that was put after the first."""
    found = encoder.marks(query)
    if encoder.card.query_marker is None:
        return found
    return [0, 1, *(at + 1 for at in found if at > 0)]


def knows(languages: frozenset[str] | None, text: str) -> bool:
    """Whether a model was trained on the language of a text; numbers and signs are known to all."""
    language = language_of(text)
    return languages is None or language in languages or not any(c.isalpha() for c in text)


def quantised(vectors: NDArray[np.float32]) -> Tokens:
    return np.asarray(np.rint(vectors * _SCALE), np.int8)


def plain(tokens: Tokens) -> NDArray[np.float32]:
    """Quantised vectors as floats again, of unit length but for the rounding."""
    return np.asarray(tokens, np.float32) / np.float32(_SCALE)


def basis_of(states: Sequence[NDArray[np.float32]], dimension: int) -> NDArray[np.float32]:
    """(full, dimension): the directions that hold most of the given token vectors (uncentred PCA)."""
    unit = np.concatenate([s / np.linalg.norm(s, axis=1, keepdims=True) for s in states])
    _, vectors = np.linalg.eigh(unit.T.astype(np.float64) @ unit)
    return np.ascontiguousarray(vectors[:, ::-1][:, :dimension], np.float32)
