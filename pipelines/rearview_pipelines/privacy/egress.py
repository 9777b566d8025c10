"""What leaves is scrubbed once more: a memory of before the policy, or of another store's, is masked on its way out."""

import hashlib
from collections import OrderedDict
from typing import Any, TypeVar

from rearview_pipelines.memory import Memory
from rearview_pipelines.privacy.actions import revealed
from rearview_pipelines.privacy.scrub import Scrubber
from rearview_pipelines.write.keys import Keys

MOST = 50_000
"""Memories remembered as clean; what was looked at once is not looked at again."""
_M = TypeVar("_M", bound=Memory)


class Egress:
    """`scrubber` of None: nothing is scrubbed."""

    def __init__(self, scrubber: Scrubber | None, keys: Keys) -> None:
        self._scrubber = scrubber
        self._keys = keys
        self._clean: OrderedDict[tuple[str, int, bytes], None] = OrderedDict()

    def out(self, memory: _M, *, reveal: bool = False) -> _M:
        """A memory as it may leave; with `reveal`, encrypted values readable."""
        if self._scrubber is not None:
            memory = self._scrubbed(memory, self._scrubber)
        return self._revealed(memory) if reveal else memory

    def _scrubbed(self, memory: _M, scrubber: Scrubber) -> _M:
        key = (memory.id, memory.version, hashlib.sha256(memory.text.encode()).digest())
        if key in self._clean:
            self._clean.move_to_end(key)
            return memory
        update = scrubber.changes(memory)
        if update:
            return memory.model_copy(update=update)
        self._clean[key] = None
        while len(self._clean) > MOST:
            self._clean.popitem(last=False)
        return memory

    def _revealed(self, memory: _M) -> _M:
        ring = self._keys.ring

        def read(value: Any) -> Any:
            if isinstance(value, str):
                return revealed(value, memory.tenant, ring)
            if isinstance(value, dict):
                return {read(k): read(v) for k, v in value.items()}
            if isinstance(value, list | tuple):
                return type(value)(read(v) for v in value)
            return value

        fields = ("text", "key", "tags", "metadata", "data", "namespace", "task", "task_type", "ref")
        return memory.model_copy(update={name: read(getattr(memory, name)) for name in fields})
