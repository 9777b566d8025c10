"""A memory as rows of the index, and back. Pure: knows the columns, not the store.

One row a part; the record and the text are in the first. Nothing is null (servers before 2.5
cannot): an absent string is "", an absent bound the far future.
"""

import base64
import json
import operator
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import numpy as np

from rearview_pipelines.fields import millis
from rearview_pipelines.memory import Layer, Memory, Signature
from rearview_pipelines.ports import Condition, Part, Tokens, Where

_NOT_ITS_OWN = Signature(kid="moved", mac="")
_UNREADABLE: tuple[Tokens, str] = (np.zeros((1, 1), np.int8), "unreadable")
FOREVER = 2**62
"""Milliseconds; the end of what has none."""


def metadata_pair(name: str, value: Any) -> str:
    """One metadata entry as a string that equals another exactly when name and value do."""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return json.dumps([name, value], ensure_ascii=False, separators=(",", ":"))


def namespaces(path: str | None) -> list[str]:
    """A path and all that it lies below, so that a filter needs equality only, never a pattern."""
    if not path:
        return []
    segments = path.split("/")
    return ["/".join(segments[: i + 1]) for i in range(len(segments))]


def row_id(memory_id: str, part: int) -> str:
    return memory_id if part == 0 else f"{memory_id}#{part}"


def columns_of(memory: Memory) -> dict[str, Any]:
    """What a filter can test of a memory; the same in each of its rows but for the part."""
    occurred = millis(memory.occurred_at or memory.created_at)
    ends = [millis(t) for t in (memory.valid_to, memory.expires_at, memory.superseded_at) if t]
    return {
        "memory": memory.id,
        "tenant": memory.tenant,
        "agent": memory.agent,
        "user_name": memory.user,
        "layer": memory.layer.value,
        "kind": memory.kind.value,
        "state": memory.state.value,
        "visibility": memory.visibility.value,
        "source_kind": memory.source.kind.value,
        "outcome": memory.outcome.value if memory.outcome else "",
        "lang": memory.lang,
        "memory_key": memory.key or "",
        "task": memory.task or "",
        "task_type": memory.task_type or "",
        "session": memory.session or "",
        "ref": memory.ref or "",
        "version": memory.version,
        "created": millis(memory.created_at),
        "occurred": occurred,
        "begins": millis(memory.valid_from) if memory.valid_from else occurred,
        "ends": min(ends, default=FOREVER),
        "importance": memory.importance,
        "confidence": memory.confidence,
        "tags": list(memory.tags),
        "namespaces": namespaces(memory.namespace),
        "metadata": [metadata_pair(k, v) for k, v in memory.metadata.items()],
    }


def rows_of(memory: Memory, parts: Sequence[Part], dimension: int) -> list[dict[str, Any]]:
    """The rows of a memory. One with no parts (a tombstone) has a first row that nothing finds."""
    columns = columns_of(memory)
    nowhere = _nowhere(dimension)
    return [
        columns
        | {
            "id": row_id(memory.id, part.number),
            "part": part.number,
            "start_at": part.start,
            "end_at": part.end,
            "record": memory.model_dump_json(exclude={"text"}) if part.number == 0 else "",
            "text": memory.text if part.number == 0 else "",
            "terms": part.terms,
            "vector": part.vector,
            "tokens": packed_tokens(part),
        }
        for part in (parts or [Part(0, 0, 0, "", nowhere)])
    ]


def _nowhere(dimension: int) -> Any:
    vector = np.zeros(dimension, np.float32)
    vector[0] = 1.0
    return vector


def is_nowhere(row: Mapping[str, Any]) -> bool:
    """Whether a row's derived columns say nothing, as a tombstone's do."""
    if "vector" not in row:
        return True
    vector = np.asarray(row["vector"], np.float32)
    empty = (row["start_at"], row["end_at"], row["terms"], row["part"], row.get("tokens", "")) == (0, 0, "", 0, "")
    return empty and bool(np.array_equal(vector, _nowhere(len(vector))))


def memory_of(row: Mapping[str, Any]) -> Memory:
    """The record of a first row, as it was written; in a row that is not its own its signature fails.

    A record that was moved whole, to another id or another tenant, would verify otherwise. One that
    cannot be read at all stands there unsigned, so that it is named instead of failing every reader.
    """
    try:
        memory = Memory.model_validate(json.loads(row["record"]) | {"text": row["text"]})
    except (ValueError, TypeError):
        nothing = datetime.fromtimestamp(0, UTC)
        return Memory(
            id=row["id"],
            tenant=row["tenant"],
            text=row["text"],
            layer=Layer.SEMANTIC,
            created_at=nothing,
            updated_at=nothing,
        )
    if (memory.id, memory.tenant) != (row["id"], row["tenant"]):
        return memory.model_copy(update={"id": row["id"], "tenant": row["tenant"], "signature": _NOT_ITS_OWN})
    return memory


def part_of(row: Mapping[str, Any]) -> Part:
    """The part of a row; without token vectors if that column was not read."""
    tokens, late = unpacked(row.get("tokens", ""))
    vector = np.asarray(row["vector"], np.float32)
    return Part(row["part"], row["start_at"], row["end_at"], row["terms"], vector, tokens, late)


def packed_tokens(part: Part) -> str:
    """Token vectors as a string, since no column type that all servers share takes bytes: model:dimension:base64."""
    if part.tokens is None or not len(part.tokens):
        return ""
    return _pack(part.tokens, part.late)


def _pack(tokens: Tokens, late: str) -> str:
    return f"{late}:{tokens.shape[1]}:{base64.b64encode(tokens.tobytes()).decode()}"


def unpacked(packed: str) -> tuple[Tokens | None, str]:
    """(token vectors, the model that made them); what cannot be read is of no model, and named by `verify`."""
    if not packed:
        return None, ""
    try:
        late, dimension, body = packed.rsplit(":", 2)  # a model's name may hold a colon
        flat = np.frombuffer(base64.b64decode(body, validate=True), np.int8)
        tokens = flat.reshape(-1, int(dimension))
    except ValueError:
        return _UNREADABLE
    return (tokens, late) if _pack(tokens, late) == packed else _UNREADABLE


def matches(where: Where, columns: Mapping[str, Any]) -> bool:
    """Whether a row with these columns passes a filter: what `stores.expressions` says to Milvus, said here."""
    return all(passes(columns, c) for c in where.all_of) and all(
        any(passes(columns, c) for c in group) for group in where.any_of
    )


def fits(memory: Memory, where: Where) -> bool:
    """Whether a record itself passes a filter, whatever the columns beside it say: they are not what is signed."""
    return matches(where, columns_of(memory) | {"part": 0})


def passes(columns: Mapping[str, Any], condition: Condition) -> bool:
    """Whether a row with these columns passes one test."""
    held, wanted = columns[condition.field], condition.value
    if isinstance(wanted, tuple):
        if condition.op == "in":
            return held in wanted
        return (all if condition.op == "has_all" else any)(value in held for value in wanted)
    return bool(_COMPARE[condition.op](held, wanted))


def compare(op: str) -> Callable[[Any, Any], Any]:
    """The comparison that an operator on single values stands for."""
    return _COMPARE[op]


_COMPARE: Mapping[str, Callable[[Any, Any], Any]] = {
    "eq": operator.eq,
    "ge": operator.ge,
    "gt": operator.gt,
    "lt": operator.lt,
}
