"""Places in arrays for things by key; a freed place is used again."""

from collections.abc import Hashable
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

_Key = TypeVar("_Key", bound=Hashable)


class Slots(Generic[_Key]):
    """`held`: the key in each place, None where it is free."""

    def __init__(self) -> None:
        self.held: list[_Key | None] = []
        self._of: dict[_Key, int] = {}
        self._free: list[int] = []

    def __len__(self) -> int:
        return len(self._of)

    def __contains__(self, key: _Key) -> bool:
        return key in self._of

    def __getitem__(self, key: _Key) -> int:
        return self._of[key]

    def take(self, key: _Key) -> int:
        """A place for a key that has none."""
        if self._free:
            slot = self._free.pop()
            self.held[slot] = key
        else:
            slot = len(self.held)
            self.held.append(key)
        self._of[key] = slot
        return slot

    def leave(self, key: _Key) -> int:
        """Free the place of a key, and answer which it was."""
        slot = self._of.pop(key)
        self.held[slot] = None
        self._free.append(slot)
        return slot


def doubled(values: NDArray[Any], fill: float = 0) -> NDArray[Any]:
    """The same with room for as many places again."""
    return np.concatenate([values, np.full_like(values, fill)])
