"""What the domain asks of the outside: protocols, and the values that cross them.

A fake that satisfies a protocol stands in `rearview_pipelines.testing`; the real ones in `stores`
and `models`, and, where the part lives in another process, in Serve's adapters.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from rearview_pipelines.memory import Memory
from rearview_pipelines.recall.table import Table

Vector = NDArray[np.float32]
Tokens = NDArray[np.int8]
"""(tokens, dimension): the token vectors of a text for late interaction, times 127; no row where there are none."""


@dataclass(frozen=True)
class Passage:
    """A text to embed; `context` (who said it, when) is put in front of every part of it."""

    context: str
    text: str


@dataclass(frozen=True)
class EmbeddedPart:
    """The unit vector of `text[start:end]`, and its token vectors if there is late interaction; a short text is one."""

    start: int
    end: int
    vector: Vector
    tokens: Tokens | None = None
    late: str = ""


@dataclass(frozen=True)
class Part:
    """A piece of a memory as the index holds it: span in the text, index terms, unit vector, token vectors.

    `tokens` of None: there are none, or they were not read. `late`: the model that made them.
    """

    number: int
    start: int
    end: int
    terms: str
    vector: Vector
    tokens: Tokens | None = None
    late: str = ""


@dataclass(frozen=True)
class Inspected:
    """A memory as it stands in the store, unchecked: record, parts in order, the columns of each of its rows."""

    id: str
    memory: Memory
    parts: tuple[Part, ...]
    columns: tuple[Mapping[str, Any], ...]


@dataclass(frozen=True)
class Match:
    """A part that a route found. `score`: cosine for dense, BM25 (0 or more) for keyword."""

    id: str
    part: int
    score: float


@dataclass(frozen=True)
class Condition:
    """One test on an indexed field. `op`: eq, in, ge, gt, lt, has_all, has_any."""

    field: str
    op: str
    value: str | int | float | tuple[str, ...]


@dataclass(frozen=True)
class Where:
    """Which rows: every condition of `all_of`, and of each group in `any_of` at least one."""

    all_of: tuple[Condition, ...] = ()
    any_of: tuple[tuple[Condition, ...], ...] = ()

    def also(self, *conditions: Condition) -> "Where":
        return Where(self.all_of + conditions, self.any_of)


@dataclass(frozen=True)
class Changes:
    """What the writer changed since a reader looked. `ids` of None: it cannot tell, read all again.

    `generation`: the collection that it writes to; "" if it does not say.

    `epoch` names the writer's life, `seq` counts its changes; both are sent back the next time.
    """

    epoch: str
    seq: int
    ids: tuple[str, ...] | None
    generation: str = ""


class ChangeLog(Protocol):
    """The writer, as far as it tells what it changed."""

    async def changes(self, tenant: str, epoch: str, since: int) -> Changes: ...


class Clock(Protocol):
    def now(self) -> datetime:
        """The current instant, with a time zone."""
        ...


class Embedder(Protocol):
    """Turns text into unit vectors. Raises Unavailable."""

    @property
    def name(self) -> str: ...
    @property
    def dimension(self) -> int: ...
    @property
    def languages(self) -> frozenset[str] | None:
        """Languages the model knows (BCP 47); None: any."""
        ...

    async def documents(self, passages: Sequence[Passage]) -> list[tuple[EmbeddedPart, ...]]: ...
    async def query(self, text: str) -> Vector: ...


class Reranker(Protocol):
    """Scores how well each text answers the query, 0 to 1. Raises Unavailable."""

    @property
    def name(self) -> str: ...

    async def scores(self, query: str, texts: Sequence[str]) -> list[float]: ...


class LateInteraction(Protocol):
    """Compares each token of a query with each token of a memory. Raises Unavailable."""

    @property
    def name(self) -> str: ...
    @property
    def languages(self) -> frozenset[str] | None:
        """Languages the model knows (BCP 47); None: any."""
        ...

    @property
    def marks(self) -> int:
        """Columns at the end of an answer that belong to special tokens of the model, not to words of the query."""
        ...

    async def prepare(self, query: str) -> None:
        """Encode a query ahead of the call that asks about it."""
        ...

    async def best(self, tenant: str, query: str, ids: Sequence[str]) -> Vector:
        """(ids, query tokens): the best cosine of each of the query's tokens in each memory; NaN where it has none."""
        ...


class AlreadyThere(Exception):
    """An object that was to be new is there already."""


class ObjectStore(Protocol):
    """Objects by key: cold memory, the ledger, transcripts. Raises Unavailable.

    A key is a path of plain segments. What `put` returned from is on disk.
    """

    async def check(self) -> None:
        """Raises SetupError if the store cannot be used as it is configured, Unavailable if it does not answer."""
        ...

    async def put(self, key: str, data: bytes, *, new: bool = False, fleeting: bool = False) -> datetime | None:
        """Write an object, whole or not at all, with nothing left of what it replaces.

        `new`: raises AlreadyThere if there is one. `fleeting`: it only has to outlive this process, not the
        machine's power. Answers until when a lock keeps what was there before; None: nothing of it is left.
        """
        ...

    async def get(self, key: str) -> bytes | None: ...

    async def slice(self, key: str, start: int, length: int) -> bytes | None:
        """`length` bytes from `start` on, fewer at the end; None if there is no such object."""
        ...

    async def keys(self, prefix: str) -> list[str]:
        """Keys below a prefix that ends in a slash, in order."""
        ...

    async def delete(self, key: str) -> datetime | None:
        """Remove an object with all its versions; one that is not there is no error. Answers as `put` does."""
        ...


class HeldScope(Protocol):
    """All of a tenant's hot memory, in memory: searched whole, without a call."""

    @property
    def version(self) -> str:
        """Changes whenever what is held does."""
        ...

    @property
    def parts(self) -> Mapping[str, tuple[Part, ...]]: ...

    def passing(self, where: Where, most: int) -> list[str] | None:
        """Ids of what passes a filter, in the order of `table`; None if there are more than `most`."""
        ...

    def table(self, where: Where, terms: Sequence[str], vector: Vector | None) -> Table:
        """All that passes a filter, with what it scores: a row a memory."""
        ...

    def best_part(self, id_: str, terms: Sequence[str], vector: Vector | None) -> int:
        """The number of the part that matched: by its cosine, or without a vector by shared terms."""
        ...


class MemoryIndex(Protocol):
    """Hot memory. Every call names one tenant and never sees another's rows. Raises Unavailable.

    `fresh` reads see every acknowledged write; others may lag a second behind on a server.
    """

    @property
    def model(self) -> str | None:
        """The embedding model whose vectors it holds; None: it does not know."""
        ...

    @property
    def generation(self) -> str:
        """Which rendition of the store it reads; "" where there is but one."""
        ...

    @property
    def dimension(self) -> int: ...

    async def refresh(self) -> None:
        """Look which rendition is the one to read now."""
        ...

    async def follow(self, tenant: str, mark: str | None = None) -> None:
        """Bring what is cached of a tenant in step with the writer, once for the reads of one recall.

        `mark`: the state of the ledger, read before. What was in step with the same state a moment ago still is.
        """
        ...

    async def upsert(self, rows: Sequence[tuple[Memory, Sequence[Part]]]) -> None:
        """Write whole memories, replacing rows of the same id, in one call to the store."""
        ...

    async def drop_parts(self, tenant: str, id_: str, keep: int) -> None:
        """Delete the rows of a memory from part `keep` on; never the first, which holds the record."""
        ...

    async def remove(self, tenant: str, ids: Sequence[str]) -> None:
        """Delete memories with all their rows: only what was never acknowledged."""
        ...

    async def get(self, tenant: str, ids: Sequence[str], *, fresh: bool = True) -> dict[str, Memory]: ...

    async def parts(self, tenant: str, ids: Sequence[str]) -> dict[str, tuple[Part, ...]]:
        """All parts of these memories, in order, fresh."""
        ...

    async def ids(self, tenant: str) -> list[str]:
        """Every memory that a tenant has, in order."""
        ...

    async def spans(self, tenant: str, found: Sequence[tuple[str, int]]) -> dict[tuple[str, int], Part]:
        """Single parts by (memory, number); what is gone is left out."""
        ...

    async def tokens(
        self, tenant: str, late: str, ids: Sequence[str] | None = None, *, most: int | None = None
    ) -> dict[str, Tokens] | None:
        """Token vectors that the model `late` made of these memories, all parts one after the other.

        `ids` of None: of all that the tenant has; the answer is None if these are more than `most` rows.
        """
        ...

    async def held(self, tenant: str, *, fresh: bool = False) -> "HeldScope | None":
        """The tenant's scope as `follow` left it, where it is held in memory; else None."""
        ...

    async def dense(
        self, tenant: str, where: Where, vector: Vector, limit: int, *, fresh: bool = False
    ) -> list[Match]: ...

    async def keyword(
        self, tenant: str, where: Where, terms: Sequence[str], limit: int, *, fresh: bool = False
    ) -> list[Match]: ...

    async def page(
        self, tenant: str, where: Where, before: tuple[int, str] | None, limit: int
    ) -> list[tuple[int, str]]:
        """(created, id) of matching memories, newest first, from just after `before`."""
        ...

    async def counts(self, tenant: str) -> Mapping[str, int]:
        """Memories by state."""
        ...

    async def inspect(self, tenant: str, ids: Sequence[str] | None = None) -> list[Inspected]:
        """Memories as they stand in the store itself, past every cache: all of a tenant, or these."""
        ...

    async def ping(self) -> None: ...
