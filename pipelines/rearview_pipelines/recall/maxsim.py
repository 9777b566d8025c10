"""Late interaction's arithmetic: what each token of a query finds best in each memory. Pure.

MaxSim (Khattab and Zaharia, 2020, https://arxiv.org/abs/2004.12832) is the mean over the query's tokens
of the best cosine in the text; the parts are kept, so that a window or a session can be scored too.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rearview_pipelines.models.late import plain
from rearview_pipelines.ports import Tokens, Vector

CHUNK_TOKENS = 100_000
"""Token vectors in one matrix, 38 MB of floats; more are compared one matrix after the other."""


@dataclass(frozen=True)
class Gathered:
    """Token vectors of some memories in one matrix. `starts`: where those of each begin; `known`: who has any."""

    vectors: Vector
    starts: NDArray[np.int64]
    known: NDArray[np.bool_]


def gather(ids: Sequence[str], held: Mapping[str, Tokens]) -> Gathered:
    """One matrix of what is held of these memories, in their order."""
    found = [held.get(id_) for id_ in ids]
    present = [tokens for tokens in found if tokens is not None and len(tokens)]
    known = np.fromiter((tokens is not None and len(tokens) > 0 for tokens in found), np.bool_, len(found))
    lengths = np.fromiter((len(tokens) for tokens in present), np.int64, len(present))
    vectors = plain(np.concatenate(present)) if present else np.zeros((0, 1), np.float32)
    return Gathered(vectors, np.cumsum(lengths) - lengths, known)


def best(gathered: Gathered, query: Vector) -> Vector:
    """(memories, query tokens): the best cosine of each; NaN for a memory without token vectors."""
    found = np.full((len(gathered.known), len(query)), np.nan, np.float32)
    if len(gathered.starts):
        found[gathered.known] = np.maximum.reduceat(gathered.vectors @ query.T, gathered.starts, axis=0)
    return found


def best_of_many(ids: Sequence[str], held: Mapping[str, Tokens], query: Vector) -> Vector:
    """The same of any number of memories, a chunk of them at a time, so that memory stays bounded."""
    return np.concatenate([best(gather(ids[a:b], held), query) for a, b in _chunks(ids, held)])


def _chunks(ids: Sequence[str], held: Mapping[str, Tokens]) -> Iterator[tuple[int, int]]:
    start, size = 0, 0
    for at, id_ in enumerate(ids):
        length = len(held.get(id_, ()))
        if at > start and size + length > CHUNK_TOKENS:
            yield start, at
            start, size = at, 0
        size += length
    yield start, len(ids)
