"""What the writer changed lately, so that readers can follow instead of reading all again."""

import secrets
from collections import deque

from rearview_pipelines.ports import Changes

KEPT = 20_000
"""Changes remembered over all tenants; a reader that is further behind reads its scope again."""


class ChangeNotes:
    """Changes in order. An `epoch` is one life of the writer: after a restart nobody can follow."""

    def __init__(self) -> None:
        self._epoch = secrets.token_hex(8)
        self._seq = 0
        self.generation = ""
        self._kept: deque[tuple[int, str, str]] = deque(maxlen=KEPT)

    def note(self, tenant: str, id_: str) -> None:
        """Say that a memory changed; before its change is acknowledged."""
        self._seq += 1
        self._kept.append((self._seq, tenant, id_))

    def since(self, tenant: str, epoch: str, seq: int) -> Changes:
        oldest = self._kept[0][0] if self._kept else self._seq + 1
        if epoch != self._epoch or seq + 1 < oldest:
            return Changes(self._epoch, self._seq, None, self.generation)
        ids: dict[str, None] = {}
        for at, whose, id_ in reversed(self._kept):
            if at <= seq:
                break
            if whose == tenant:
                ids[id_] = None
        return Changes(self._epoch, self._seq, tuple(ids), self.generation)
