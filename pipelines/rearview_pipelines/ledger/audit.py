"""Walking everything: chains, rows, what is derived from them. Names what is altered, missing, replayed, unsigned."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from rearview_pipelines.ledger.events import GENESIS, BrokenChain
from rearview_pipelines.ledger.head import Finding, Head
from rearview_pipelines.ledger.ledger import LedgerReader
from rearview_pipelines.memory import Memory, State
from rearview_pipelines.ports import Inspected, MemoryIndex
from rearview_pipelines.stores.rows import columns_of, is_nowhere
from rearview_pipelines.write.keys import Keys
from rearview_pipelines.write.signing import digest_of_parts, verified_digest

_COLUMNS = (
    "agent", "user_name", "layer", "kind", "state", "visibility", "source_kind", "outcome", "lang", "memory_key",
    "task", "task_type", "session", "ref", "version", "created", "occurred", "begins", "ends", "importance",
    "confidence", "tags", "namespaces", "metadata",
)  # fmt: skip
LOOKS = 3
AGAIN_SECONDS = 0.2
"""Between two looks: longer than a commit takes."""


@dataclass
class Report:
    """`findings`: (id, what), each once. `checked`: memories looked at."""

    checked: int = 0
    findings: dict[str, Finding] = field(default_factory=dict)


async def verify(tenant: str, index: MemoryIndex, reader: LedgerReader, keys: Keys) -> Report:
    """Check a tenant's memories and the whole chain. Raises Unavailable."""
    report = Report()
    await _chain(report, reader)
    rows = await index.inspect(tenant)
    report.checked = len(rows)
    found = await _findings(tenant, rows, reader, keys)
    for _ in range(LOOKS):  # what was being written while it was looked at holds when it is looked at again
        if not found:
            break
        await asyncio.sleep(AGAIN_SECONDS)
        found = await _findings(tenant, await index.inspect(tenant, list(found)), reader, keys, list(found))
    report.findings |= found
    return report


async def _chain(report: Report, reader: LedgerReader) -> None:
    written = reader.witness.read() if reader.witness else (0, "")  # before the chain is: a batch is written first
    last, tails = 0, {0: GENESIS}
    try:
        async for batch in reader.walk():
            last = batch.seq
            tails[last] = batch.hash
        if written[0] > last or (written[0] and tails[written[0]] != written[1]):
            report.findings[f"batch {written[0]}"] = Finding.CHAIN
    except BrokenChain as error:
        report.findings[error.batch] = Finding.CHAIN


async def _findings(
    tenant: str, rows: Sequence[Inspected], reader: LedgerReader, keys: Keys, only: Sequence[str] | None = None
) -> dict[str, Finding]:
    """What is wrong with rows, and which of the tenant's recorded memories (or of `only`) have none."""
    found: dict[str, Finding] = {}
    await reader.follow()
    for row in rows:
        finding = check(row, reader.head, keys)
        recorded = reader.head.get(tenant, row.id)
        if finding is None and (recorded is None or recorded.version < row.memory.version):
            finding = Finding.REPLAYED  # signed once, and never recorded
        if finding is not None:
            found[row.id] = finding
    there = {row.id for row in rows}
    recorded_ids = [id_ for id_, _ in reader.head.of_tenant(tenant)] if only is None else only
    for id_ in recorded_ids:
        if id_ not in there and reader.head.get(tenant, id_) is not None:
            found[id_] = Finding.MISSING
    return found


def check(row: Inspected, head: Head, keys: Keys) -> Finding | None:
    """What is wrong with one stored memory: its record, its columns, its parts, its place in the log."""
    memory = row.memory
    kid = memory.signature.kid if memory.signature else None
    if kid is None or (kid != "moved" and keys.knowing(kid).usable(kid) is None):
        return Finding.UNSIGNED
    digest = verified_digest(memory, keys)
    if digest is None:
        return Finding.ALTERED
    replayed = head.judge(memory, digest)
    if replayed is not None:
        return replayed
    if not _columns_hold(memory, row.columns) or not _parts_hold(memory, row):
        return Finding.ALTERED
    return None


def _parts_hold(memory: Memory, row: Inspected) -> bool:
    if memory.state is State.FORGOTTEN:
        return not row.parts and all(is_nowhere(columns) for columns in row.columns)
    return digest_of_parts(row.parts) == memory.derived


def _columns_hold(memory: Memory, rows: Sequence[Mapping[str, Any]]) -> bool:
    """Whether what filters look at says what the record says, in every row of the memory."""
    wanted = columns_of(memory)
    return all(_plain(columns[name]) == _plain(wanted[name]) for columns in rows for name in _COLUMNS)


def _plain(value: Any) -> Any:
    """Arrays of the store's own type as lists."""
    return value if isinstance(value, str | int | float) else list(value)
