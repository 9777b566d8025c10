"""What travels along the write path, and what the stages work with."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from datetime import timedelta
from typing import TYPE_CHECKING

from rearview_pipelines.ledger.events import Op
from rearview_pipelines.ledger.ledger import Ledger
from rearview_pipelines.memory import Draft, Memory, Related, Trust
from rearview_pipelines.ports import Clock, Embedder, MemoryIndex, Part
from rearview_pipelines.privacy.scrub import Scrubber
from rearview_pipelines.receipts import Receipt, Status
from rearview_pipelines.stores.cold import ColdStore
from rearview_pipelines.write.changes import ChangeNotes
from rearview_pipelines.write.handouts import Handouts
from rearview_pipelines.write.keys import Keys
from rearview_pipelines.write.usage import Usage

if TYPE_CHECKING:
    from rearview_pipelines.write.rendition import Second


@dataclass
class Item:
    """One memory on its way in.

    author             who holds the credential that it came with
    mark               a keyed hash of author and session: one source
    previous           what the index holds under its id
    supersedes         records that it replaces
    contradicts        whether it cannot be true beside one that stands
    edits              whether it changes a record in hand
    restates           whether that edit says something else
    ended_by           a later item of the same request that replaces it
    suspected          why it is to be quarantined
    model              that made its vectors; "" for parts that were there
    digest             of the signed record
    revives            whether it may bring back what was forgotten: only who writes it anew on purpose
    final              whether its receipt will not change any more
    """

    tenant: str
    agent: str
    user: str
    draft: Draft
    trust: Trust
    author: str = ""
    is_admin: bool = False
    id: str = ""
    mark: str = ""
    parts: tuple[Part, ...] = ()
    previous: Memory | None = None
    supersedes: list[Memory] = field(default_factory=list)
    related: list[Related] = field(default_factory=list)
    contradicts: bool = False
    edits: bool = False
    restates: bool = False
    ended_by: "Item | None" = None
    suspected: tuple[str, ...] = ()
    redactions: dict[str, int] = field(default_factory=dict)
    reasons: list[str] = field(default_factory=list)
    memory: Memory | None = None
    model: str = ""
    digest: str = ""
    revives: bool = True
    receipt: Receipt | None = None
    final: bool = False

    def repeats(self, id_: str, version: int, reason: str = "duplicate") -> None:
        """It says again what a memory says, or what an earlier item of its batch does."""
        self.receipt = Receipt(
            id=id_, status=Status.DUPLICATE, reasons=(reason,), version=version, redactions=self.redactions
        )

    def reject(self, *reasons: str) -> None:
        """Keep nothing of it, and say why."""
        self.receipt = Receipt(id=None, status=Status.REJECTED, reasons=reasons, redactions=self.redactions, version=0)
        self.final = True


@dataclass(frozen=True)
class Change:
    """A record besides the items' own that a batch changes, and what it was before."""

    op: Op
    before: Memory
    after: Memory


@dataclass
class Work:
    """A batch under way: its items, and the other records that they touch, by id."""

    items: list[Item]
    others: dict[tuple[str, str], Change] = field(default_factory=dict)

    @property
    def open(self) -> list[Item]:
        return [item for item in self.items if item.receipt is None]

    def now(self, memory: Memory) -> Memory:
        """A record as this batch will leave it."""
        change = self.others.get((memory.tenant, memory.id))
        return change.after if change else memory

    def change(self, op: Op, before: Memory, after: Memory) -> None:
        key = (before.tenant, before.id)
        first = self.others[key].before if key in self.others else before
        self.others[key] = Change(op, first, after)


@dataclass
class Beside:
    """What is written a second time while a store moves to another model; None: nothing."""

    second: "Second | None" = None


@dataclass(frozen=True)
class Tools:
    """What the stages work with. `scrubber` of None: nothing is scrubbed. `quota`: memories a tenant, None for no
    limit. `cold` of None: there is no cold tier. `working`: how long
    working memory lives. `poison_threshold`: score from which a text is quarantined.
    """

    index: MemoryIndex
    embedder: Embedder
    keys: Keys
    clock: Clock
    ledger: Ledger
    scrubber: Scrubber | None = None
    handouts: Handouts = field(default_factory=Handouts)
    usage: Usage = field(default_factory=Usage)
    cold: ColdStore | None = None
    working: timedelta = timedelta(minutes=30)
    beside: Beside = field(default_factory=Beside)
    changes: ChangeNotes = field(default_factory=ChangeNotes)
    quota: int | None = None
    poison_threshold: float = 0.7


Stage = Callable[[Work, Tools], Awaitable[None]]
