"""Which memories pass a filter, as an array of flags, asked again and again of the same memories.

A filter repeats from recall to recall but for the moment it is asked at: each condition on a string
is remembered as flags and kept up to date; those on numbers are compared anew, all rows at once.
"""

from collections import OrderedDict
from collections.abc import Mapping
from typing import Any

import numpy as np

from rearview_pipelines.ports import Condition, Where
from rearview_pipelines.recall.table import Flags
from rearview_pipelines.stores.rows import compare, passes
from rearview_pipelines.stores.slots import doubled

_NUMBERS = {"version": np.int64, "created": np.int64, "occurred": np.int64, "begins": np.int64, "ends": np.int64,
            "importance": np.float64, "confidence": np.float64}  # fmt: skip
_REMEMBERED = 256
"""Conditions whose flags are kept; the one asked longest ago goes first."""
_FIRST_ROOM = 1024


class Columns:
    """The columns of memories, a slot each."""

    def __init__(self) -> None:
        self._rows: list[Mapping[str, Any] | None] = []
        self._numbers = {name: np.zeros(_FIRST_ROOM, kind) for name, kind in _NUMBERS.items()}
        self._held = np.zeros(_FIRST_ROOM, np.bool_)
        self._flags: OrderedDict[Condition, Flags] = OrderedDict()

    def __len__(self) -> int:
        """Slots, held or free."""
        return len(self._rows)

    def put(self, slot: int, row: Mapping[str, Any]) -> None:
        if slot == len(self._rows):
            self._rows.append(None)
            if slot == len(self._held):
                self._grow()
        self._rows[slot] = row
        self._held[slot] = True
        for name, values in self._numbers.items():
            values[slot] = row[name]
        for condition, flags in self._flags.items():
            flags[slot] = passes(row, condition)

    def drop(self, slot: int) -> None:
        self._rows[slot] = None
        self._held[slot] = False

    def passing(self, where: Where) -> Flags:
        """(slots,) which of them are held and pass."""
        found = self._held[: len(self)].copy()
        for condition in where.all_of:
            found &= self._of(condition)
        for group in where.any_of:
            found &= np.logical_or.reduce([self._of(condition) for condition in group])
        return found

    def _of(self, condition: Condition) -> Flags:
        if condition.field in self._numbers and not isinstance(condition.value, tuple):
            flags: Flags = compare(condition.op)(self._numbers[condition.field][: len(self)], condition.value)
            return flags
        if condition not in self._flags:
            flags = np.zeros(len(self._held), np.bool_)
            for slot, row in enumerate(self._rows):
                flags[slot] = row is not None and passes(row, condition)
            self._flags[condition] = flags
            if len(self._flags) > _REMEMBERED:
                self._flags.popitem(last=False)
        self._flags.move_to_end(condition)
        return self._flags[condition][: len(self)]

    def _grow(self) -> None:
        self._held = doubled(self._held)
        self._numbers = {name: doubled(values) for name, values in self._numbers.items()}
        self._flags = OrderedDict((condition, doubled(flags)) for condition, flags in self._flags.items())
