"""Who is asking, and what of the store they may see. A credential fixes it; no parameter widens it."""

from dataclasses import dataclass, field
from enum import StrEnum

from rearview_pipelines.errors import Forbidden, NotFound
from rearview_pipelines.memory import Memory, Visibility


class Role(StrEnum):
    READER = "reader"
    WRITER = "writer"
    ADMIN = "admin"


class Right(StrEnum):
    SHARE = "share"
    """May write memories that every agent of the tenant sees."""
    REVEAL = "reveal"
    """May decrypt what scrubbing encrypted."""


@dataclass(frozen=True)
class Principal:
    """The holder of a credential. `agent` and `user` of None are left open by it."""

    tenant: str
    role: Role
    agent: str | None = None
    user: str | None = None
    rights: frozenset[Right] = field(default_factory=frozenset)
    id: str = ""

    def require_writer(self) -> None:
        if self.role is Role.READER:
            raise Forbidden("this credential may only read; writing needs the role writer or admin")

    def require_admin(self) -> None:
        if self.role is not Role.ADMIN:
            raise Forbidden("only an admin may do this")

    def require_share(self) -> None:
        if self.role is not Role.ADMIN and Right.SHARE not in self.rights:
            raise Forbidden("visibility: shared memories need the right `share`")

    def require_reveal(self) -> None:
        if Right.REVEAL not in self.rights:
            raise Forbidden("reveal: this credential has not the right `reveal`")

    def settle_agent(self, named: str | None) -> str:
        """The agent a write belongs to: the credential's, or the one named where it leaves that open."""
        return self._settle("agent", self.agent, named)

    def settle_user(self, named: str | None) -> str:
        return self._settle("user", self.user, named)

    @staticmethod
    def _settle(what: str, fixed: str | None, named: str | None) -> str:
        if fixed is not None and named not in (None, fixed):
            raise Forbidden(f"{what}: this credential belongs to another {what}")
        return fixed if fixed is not None else (named or "")

    def sees(self, memory: Memory) -> bool:
        """The rule that `recall.filters.scope_of` states as a filter, for one memory in hand."""
        if memory.tenant != self.tenant:
            return False
        mine = self.agent is None or memory.agent == self.agent
        if not (mine or memory.visibility is Visibility.SHARED):
            return False
        return self.user is None or memory.user in ("", self.user)

    def may_change(self, memory: Memory) -> bool:
        """Seen is not enough: an author changes their own; an admin whatever their credential covers."""
        if not self.sees(memory):
            return False
        if self.role is Role.ADMIN and self.agent is None and self.user is None:
            return True
        own_agent = self.agent is None or memory.agent == self.agent
        return own_agent and (self.user is None or memory.user == self.user)

    def changeable(self, memory: Memory | None) -> Memory:
        """The memory, if this principal may change it. Raises NotFound or Forbidden: the one place that decides."""
        if memory is None or not self.sees(memory):
            raise NotFound()
        if not self.may_change(memory):
            raise Forbidden("this memory belongs to another agent or user; only they or an admin change it")
        return memory
