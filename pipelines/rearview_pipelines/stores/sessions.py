"""Which turns stand beside which in their sessions, kept up to date as memories come and go."""

from collections.abc import Callable, Hashable
from typing import Any

import numpy as np

from rearview_pipelines.memory import Memory
from rearview_pipelines.recall.table import NEAR
from rearview_pipelines.stores.slots import doubled


def place_of(memory: Memory) -> tuple[Any, ...]:
    """Where it stands in its session: by the number of its turn, else by time."""
    when = memory.occurred_at or memory.created_at
    turn = memory.source.turn
    return (turn is None, turn or 0, when, memory.created_at, memory.id)


class Sessions:
    """Sessions of slots. Order is found again only when it is asked for after a change."""

    def __init__(self, place: Callable[[int], tuple[Any, ...]]) -> None:
        self._place = place
        self._number: dict[Hashable, int] = {}
        self._members: dict[Hashable, set[int]] = {}
        self._changed: set[Hashable] = set()
        self.near = np.full((1024, len(NEAR)), -1, np.int64)
        self.session = np.full(1024, -1, np.int64)

    def put(self, slot: int, key: Hashable | None) -> None:
        if slot == len(self.session):
            self.near, self.session = doubled(self.near, -1), doubled(self.session, -1)
        if key is not None:
            self.session[slot] = self._number.setdefault(key, len(self._number))
            self._members.setdefault(key, set()).add(slot)
            self._changed.add(key)

    def drop(self, slot: int, key: Hashable | None) -> None:
        self.near[slot] = -1
        self.session[slot] = -1
        if key is not None:
            self._members[key].discard(slot)
            self._changed.add(key)

    def settle(self) -> None:
        """Bring `near` up to date."""
        for key in self._changed:
            order = sorted(self._members[key], key=self._place)
            line = np.full(len(order) + 4, -1, np.int64)  # two of nobody at either end
            line[2:-2] = order
            for column, distance in enumerate(NEAR):
                self.near[order, column] = line[2 + distance : 2 + distance + len(order)]
            if not order:
                del self._members[key]
        self._changed.clear()
