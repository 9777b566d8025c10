"""`rearview eval`: write memories into a store of its own, ask the queries, score what comes back."""

import asyncio
import json
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from rearview_pipelines.errors import InvalidInput, SetupError
from rearview_pipelines.evaluation.rows import SCENARIOS, QueryRow, ResultRow, TaskRow
from rearview_pipelines.evaluation.scores import Scores, mean, percentile, scored
from rearview_pipelines.memory import State
from rearview_pipelines.principal import Principal, Role
from rearview_pipelines.recall.filters import in_states, scope_of
from rearview_pipelines.requests import RecallRequest, WriteRequest, parse
from rearview_serve.embedded import Embedded, opened_parts
from rearview_serve.settings import Settings, recall_defaults

BATCH = 64
WARM_TRIES = 100
EVALUATOR = Principal("evaluation", Role.ADMIN)
ASKED = 100
"""Memories asked for where the index is held against exact search."""
RESERVED = {"query", "filters", "floor", "data", "milvus_uri", "milvus_token", "url", "token"}
READ_ONLY = {"fusion", "boosts", "rerank_model", "cache_seconds", "hot_rows", "top_k", "token_budget"}
"""Settings that change recalls only: what was written serves such configurations too."""
Say = Callable[[str], None]


@dataclass(frozen=True)
class Configuration:
    """`settings` and `request`: what differs from the defaults, of the service and of a recall."""

    name: str
    settings: Mapping[str, Any]
    request: Mapping[str, Any]


@dataclass(frozen=True)
class Measured:
    """Of one configuration: scores by query, in their order; times in milliseconds, sorted; recalls that went without
    a part for another reason than the language.
    """

    configuration: str
    scores: tuple[Scores, ...]
    times: tuple[float, ...]
    degraded: int = 0

    def summary(self, queries: Sequence[QueryRow]) -> dict[str, Any]:
        by_scenario = {
            scenario: asdict(mean(of))
            for scenario in SCENARIOS
            if (of := [s for s, q in zip(self.scores, queries, strict=True) if q.scenario == scenario])
        }
        return {
            "configuration": self.configuration,
            "queries": len(queries),
            **asdict(mean(self.scores)),
            "p95_ms": percentile(self.times, 0.95),
            "degraded": self.degraded,
            "scenarios": by_scenario,
        }


def read_configuration(text: str) -> Configuration:
    """From NAME={...}: keys that a recall takes, and settings by their names. Raises InvalidInput."""
    name, equals, body = text.partition("=")
    try:
        values = json.loads(body) if equals else {}
    except ValueError as error:
        raise InvalidInput.one("config", f"{name}: is not JSON", 'write NAME={"mode": "keyword"}') from error
    if not name or not isinstance(values, dict):
        raise InvalidInput.one("config", "is not NAME={...}", 'write NAME={"mode": "keyword"}')
    if reserved := sorted(RESERVED & set(values)):
        raise InvalidInput.one(
            "config", f"{reserved[0]} is the evaluation's own", "leave it out; for a floor set min_score"
        )
    request = {k: v for k, v in values.items() if k in RecallRequest.model_fields}
    settings = {k: v for k, v in values.items() if k not in request}
    for key in settings:
        if key not in Settings.model_fields:
            raise InvalidInput.one(
                "config", f"{key} is neither a field of a recall nor a setting", "see `rearview settings`"
            )
    return Configuration(name, settings, request)


async def evaluate(
    settings: Settings,
    memories: Sequence[Any],
    queries: Sequence[QueryRow],
    configurations: Sequence[Configuration],
    k: int,
    say: Say,
) -> tuple[list[Measured], float]:
    """What each configuration finds of the same memories, and the first one's index's recall@k against exact search.

    Configurations whose settings change what is written have a store of their own.
    """
    measured: list[Measured] = []
    index_recall: float | None = None
    with tempfile.TemporaryDirectory(prefix="rearview-eval-") as folder:
        stores: dict[str, Path] = {}
        for configuration in configurations:
            written_with = {k: v for k, v in configuration.settings.items() if k not in READ_ONLY}
            key = json.dumps(written_with, sort_keys=True)
            is_new = key not in stores
            data = stores.setdefault(key, Path(folder) / str(len(stores)))
            own = {"data": data, "milvus_uri": None}
            changed = Settings.model_validate({**settings.model_dump(), **configuration.settings, **own})
            async with opened_parts(changed) as parts:
                if is_new:
                    _all_there(queries, await _write(parts, memories, say))
                if index_recall is None:
                    index_recall = await _index_recall(parts, queries, k)
                measured.append(await _ask(parts, queries, configuration, k))
            say(f"{configuration.name}: {len(queries)} queries asked")
    assert index_recall is not None
    return measured, index_recall


async def _write(parts: Embedded, memories: Sequence[Any], say: Say) -> set[str]:
    """Write all, and answer the refs of those that can be recalled."""
    began = time.monotonic()
    statuses: dict[str, int] = {}
    kept: set[str] = set()
    for start in range(0, len(memories), BATCH):
        batch = memories[start : start + BATCH]
        request = parse(WriteRequest, {"memories": batch})
        for raw, receipt in zip(batch, await parts.service.write(EVALUATOR, request), strict=True):
            statuses[receipt.status.value] = statuses.get(receipt.status.value, 0) + 1
            if receipt.status.value in ("stored", "duplicate"):
                kept.add(raw.get("ref", ""))
    counted = ", ".join(f"{n} {status}" for status, n in sorted(statuses.items()))
    say(f"{len(memories)} memories written in {time.monotonic() - began:.1f} s ({counted})")
    return kept


def _all_there(queries: Sequence[QueryRow], kept: set[str]) -> None:
    for number, row in enumerate(queries, 1):
        for ref in row.relevant:
            if ref not in kept:
                raise InvalidInput.one(
                    f"queries[{number}].relevant", f"{ref!r} is no ref of a memory that was stored", "name its ref"
                )


async def _ask(parts: Embedded, queries: Sequence[QueryRow], configuration: Configuration, k: int) -> Measured:
    defaults = {"top_k": k, "token_budget": None}
    await _warm(parts, queries[0].query)
    found, degraded = [], 0
    for row in queries:
        body = defaults | dict(configuration.request)
        request = parse(RecallRequest, {"query": row.query, **body}).model_copy(update={"filters": row.filters})
        began = time.perf_counter()
        answer = await parts.service.recall(EVALUATOR, request)
        took = (time.perf_counter() - began) * 1000
        degraded += bool(set(answer.degraded) - {"language"})
        found.append(scored([hit.ref or hit.id for hit in answer.memories], set(row.relevant), k, took))
    return Measured(configuration.name, tuple(found), tuple(sorted(s.milliseconds for s in found)), degraded)


async def _warm(parts: Embedded, query: str) -> None:
    """Ask until the scope is held in memory: what is measured is a service that runs, not one that starts."""
    for _ in range(WARM_TRIES):
        answer = await parts.service.recall(EVALUATOR, parse(RecallRequest, {"query": query, "explain": True}))
        if answer.explain is not None and answer.explain.get("scope_in_memory") and "reranker" not in answer.degraded:
            return
        await asyncio.sleep(0.2)


async def _index_recall(parts: Embedded, queries: Sequence[QueryRow], k: int) -> float:
    """Share of the exact first k by cosine that the vector index finds, over the queries."""
    everything = await parts.index.everything(EVALUATOR.tenant, 1_000_000) or []
    where = in_states(scope_of(EVALUATOR), (State.ACTIVE, State.PENDING))
    rows = [
        (memory.id, part) for memory, of in everything for part in of if memory.state in (State.ACTIVE, State.PENDING)
    ]
    if not rows:
        raise SetupError("nothing was stored")
    vectors = np.stack([part.vector for _, part in rows])
    shares = []
    for row in queries:
        vector = await parts.embedder.query(row.query)
        exact = {(rows[i][0], rows[i][1].number) for i in np.argsort(-(vectors @ vector))[:k]}
        found = await parts.index.dense(EVALUATOR.tenant, where, vector, k)
        shares.append(len(exact & {(m.id, m.part) for m in found}) / len(exact))
    return float(np.mean(shares))


async def run_tasks(settings: Settings, memories: Sequence[Any], tasks: Sequence[TaskRow], say: Say) -> list[ResultRow]:
    """Each task with memory and without, by a scripted agent: done if everything it needs is at hand.

    It asks its memory once; what is missing then, it has to ask its user for, a turn each.
    """
    results = []
    with tempfile.TemporaryDirectory(prefix="rearview-eval-") as folder:
        async with opened_parts(settings.model_copy(update={"data": Path(folder), "milvus_uri": None})) as parts:
            await _write(parts, memories, say)
            for task in tasks:
                request = parse(RecallRequest, {"query": task.query, **recall_defaults(settings)})
                context = await parts.service.context(EVALUATOR, request)
                for memory in (False, True):
                    at_hand = context.text if memory else ""
                    missing = sum(piece not in at_hand for piece in task.needs)
                    turns = 1 + missing
                    results.append(ResultRow(task=task.task, memory=memory, completed=missing == 0, turns=turns))
    return results


def sides(results: Sequence[ResultRow]) -> Iterator[tuple[str, list[float], list[float]]]:
    """(measure, without memory, with it), of every measure that both sides have."""
    for name in ("completion", "turns", "rating"):
        of: dict[bool, list[float]] = {False: [], True: []}
        for row in results:
            if (value := row.measures()[name]) is not None:
                of[row.memory].append(float(value))
        if of[False] and of[True]:
            yield name, of[False], of[True]
