"""Change stored rows at random behind the service's back: is every change named by verify, is none served?

    python -m benchmarks.tampering --changes 1000

Every column, every field of the record, text, vectors, terms, spans; signatures removed and swapped;
records swapped with other ids and other tenants; older versions and forgotten memories put back; rows and
parts deleted, parts added. On a real Milvus Lite, with the in-process service of the tests.
"""

import argparse
import asyncio
import copy
import json
import logging
import random
import tempfile
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rearview_pipelines.ledger.ledger import Ledger, LedgerReader, Witness
from rearview_pipelines.principal import Principal, Role
from rearview_pipelines.recall.pipeline import RecallPipeline
from rearview_pipelines.requests import ForgetRequest, RecallRequest, WriteRequest, parse
from rearview_pipelines.service import MemoryService, Trust
from rearview_pipelines.stores.collection import COLLECTION
from rearview_pipelines.stores.folder import FolderStore
from rearview_pipelines.stores.milvus import MilvusIndex, partition_name
from rearview_pipelines.testing import DIMENSION, FakeClock, HashEmbedder
from rearview_pipelines.write.item import Tools
from rearview_pipelines.write.keystore import KeyStore
from rearview_pipelines.write.writer import Writer

Row = dict[str, Any]
TENANT, OTHER = "t", "o"
ADMIN = Principal(TENANT, Role.ADMIN, id="tok")
SUBJECTS = "tea coffee milk juice water bread rice fish soup cake".split()


@dataclass
class Outcome:
    """`missed`: changes that verify did not name; `served`: texts that a recall gave out all the same."""

    kinds: Counter[str] = field(default_factory=Counter)
    missed: list[str] = field(default_factory=list)
    false: list[str] = field(default_factory=list)
    served: list[str] = field(default_factory=list)


class Store:
    """A service over Milvus Lite, and the attacker's hands on its rows."""

    def __init__(self, folder: Path, index: MilvusIndex) -> None:
        self.index, clock, embedder = index, FakeClock(), HashEmbedder()
        keys = KeyStore(folder / "keys")
        objects, witness = FolderStore(folder / "objects"), Witness(folder / "keys" / "witness.json")
        ledger = Ledger(objects, keys, witness, clock.now)
        writer = Writer(Tools(index, embedder, keys, clock, ledger))
        reader = LedgerReader(objects, keys, witness)
        recaller = RecallPipeline(index, embedder, None, keys, clock, reader)
        self.service = MemoryService(writer, recaller, index, embedder, None, 0.0, Trust(keys, reader), clock)

    async def write(self, who: Principal, memories: list[dict[str, Any]]) -> list[str]:
        request = parse(WriteRequest, {"memories": memories})
        return [str(r.id) for r in await self.service.write(who, request)]

    async def rows(self, tenant: str) -> dict[str, Row]:
        found = await self.index._client.query(
            COLLECTION,
            filter="part >= 0",
            output_fields=["*"],
            limit=16_000,
            partition_names=[partition_name(tenant)],
            consistency_level="Strong",
        )
        return {row["id"]: _plain(row) for row in found}

    async def put(self, rows: list[Row]) -> None:
        if rows:
            await self.index._client.upsert(COLLECTION, rows, partition_name=partition_name(TENANT))

    async def drop(self, ids: list[str]) -> None:
        if ids:
            await self.index._client.delete(COLLECTION, ids=ids, partition_name=partition_name(TENANT))


def _plain(row: Any) -> Row:
    return {
        name: [float(x) for x in held]
        if name == "vector"
        else held
        if isinstance(held, str | int | float)
        else list(held)
        for name, held in dict(row).items()
        if name != "sparse"
    }


async def filled(store: Store, memories: int) -> dict[str, Row]:
    """Memories of every sort; answers rows that are history by now: older versions, what was forgotten."""
    made = [
        {
            "text": f"Note {n}: the {SUBJECTS[n % 10]} stands on shelf {n}",
            "kind": random.choice(["fact", "note"]),
            "tags": ["shelf", f"n{n}"],
            "metadata": {"n": n},
            "namespace": f"store/{n % 3}",
            "task": "inventory",
            "ref": f"r{n}",
            "session": f"s{n % 5}",
        }
        for n in range(memories)
    ]
    ids = [i for start in range(0, memories, 100) for i in await store.write(ADMIN, made[start : start + 100])]
    await store.write(Principal(OTHER, Role.ADMIN, id="tok"), [{"text": f"other {n} is here"} for n in range(20)])
    past = {}
    before = await store.rows(TENANT)
    for n, id_ in enumerate(ids[: memories // 5]):
        past[id_] = before[id_]
        if n % 2:
            await store.service.patch(ADMIN, id_, {"importance": 0.9})
        else:
            await store.service.forget(ADMIN, ForgetRequest(ids=(id_,)))
    return past


def _changes(
    rows: dict[str, Row], past: dict[str, Row], others: list[Row]
) -> list[Callable[[Row], tuple[str, Row | None]]]:
    """Ways to change a row: (what it is called, the row to put; None deletes it)."""

    def column(row: Row) -> tuple[str, Row]:
        names = [k for k in row if k not in ("id", "memory", "tenant", "part", "record", "vector", "text", "terms")]
        name = random.choice(names)
        held = row[name]
        if isinstance(held, str):
            row[name] = held + "x" if len(held) < 8 else held[:-1]
        elif isinstance(held, list):
            row[name] = [*held, "extra"]
        else:
            row[name] = held + 1 if isinstance(held, int) else (held + 0.25) % 1
        return f"column {name}", row

    def record(row: Row) -> tuple[str, Row]:
        body = json.loads(row["record"])
        name = random.choice([k for k in body if k != "signature"])
        held = body[name]
        odd = {"str": lambda: str(held) + "x", "int": lambda: held + 1, "float": lambda: (held + 0.25) % 1}
        body[name] = odd.get(type(held).__name__, lambda: "x")() if not isinstance(held, bool) else not held
        row["record"] = json.dumps(body)
        return f"record {name}", row

    def text(row: Row) -> tuple[str, Row]:
        row["text"] += " and more"
        return "text", row

    def vector(row: Row) -> tuple[str, Row]:
        row["vector"] = [x + 0.01 for x in row["vector"]]
        return "vector", row

    def terms(row: Row) -> tuple[str, Row]:
        row["terms"] += " gold"
        return "terms", row

    def unsigned(row: Row) -> tuple[str, Row]:
        row["record"] = json.dumps(json.loads(row["record"]) | {"signature": None})
        return "signature removed", row

    def anothers(row: Row) -> tuple[str, Row]:
        other = random.choice([r for r in rows.values() if r["id"] != row["id"] and r["record"]])
        row["record"] = json.dumps(json.loads(row["record"]) | {"signature": json.loads(other["record"])["signature"]})
        return "signature of another", row

    def swapped(row: Row) -> tuple[str, Row]:
        other = random.choice([r for r in rows.values() if r["id"] != row["id"] and r["record"]])
        return "record of another id", row | {k: other[k] for k in ("record", "text", "terms", "vector")}

    def foreign(row: Row) -> tuple[str, Row]:
        other = random.choice(others)
        return "record of another tenant", row | {k: other[k] for k in ("record", "text", "terms", "vector")}

    def gone(_: Row) -> tuple[str, None]:
        return "row deleted", None

    def replayed(row: Row) -> tuple[str, Row]:
        old = past.get(row["id"])
        return ("older row put back", copy.deepcopy(old)) if old else column(row)

    return [column, column, record, record, text, vector, terms, unsigned, anothers, swapped, foreign, gone, replayed]


async def tamper(folder: Path, changes: int, at_once: int = 40, memories: int = 200, seed: int = 1) -> Outcome:
    """Make `changes` changes, a few at a time, each to a memory of its own, and put things back after each look."""
    random.seed(seed)
    index = await MilvusIndex.open(str(folder / "m.db"), model="fake", dimension=DIMENSION)
    outcome = Outcome()
    try:
        store = Store(folder, index)
        past = await filled(store, memories)
        good = await store.rows(TENANT)
        others = list((await store.rows(OTHER)).values())
        report = await store.service.verify(ADMIN)
        assert report["ok"], report["findings"]
        ways = _changes(good, past, others)
        while outcome.kinds.total() < changes:
            chosen = random.sample(sorted(good), min(at_once, changes - outcome.kinds.total()))
            await _round(store, good, past, chosen, ways, outcome)
    finally:
        await index.close()
    return outcome


async def _round(
    store: Store, good: dict[str, Row], past: dict[str, Row], chosen: list[str], ways: list[Any], outcome: Outcome
) -> None:
    put, drop, named = [], [], {}
    for id_ in chosen:
        way = ways[-1] if id_ in past and random.random() < 0.5 else random.choice(ways)
        what, row = way(copy.deepcopy(good[id_]))
        named[id_] = what
        outcome.kinds[what.split()[0]] += 1
        if row is None:
            drop.append(id_)
        elif row != good[id_]:
            put.append(row)
        else:
            del named[id_]
    await store.put(put)
    await store.drop(drop)
    report = await store.service.verify(ADMIN)
    found = {finding["id"] for finding in report["findings"]}
    outcome.missed += [f"{named[id_]} of {id_}" for id_ in named if id_ not in found]
    outcome.false += sorted(found - set(named))
    for row in put:
        if named.get(row["id"], "").startswith(("column", "vector", "terms")):
            continue  # what is derived is named by verify; the record that is served is the signed one
        answer = await store.service.recall(ADMIN, parse(RecallRequest, {"query": row["text"] or "x", "top_k": 20}))
        for hit in answer.memories:
            if hit.id == row["id"]:
                outcome.served.append(f"{named[row['id']]} of {row['id']}")
    await store.drop([row["id"] for row in put if row["id"] not in good])
    await store.put([good[id_] for id_ in chosen])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--changes", type=int, default=1000)
    arguments = parser.parse_args()
    logging.disable(logging.ERROR)  # each row that is left out is logged, which is the point
    with tempfile.TemporaryDirectory() as folder:
        outcome = asyncio.run(tamper(Path(folder), arguments.changes))
    print(f"{outcome.kinds.total()} random changes of stored rows, Milvus Lite, 200 memories")
    print("  kinds: " + ", ".join(f"{kind} {n}" for kind, n in outcome.kinds.most_common()))
    print(f"  named by verify: {outcome.kinds.total() - len(outcome.missed)}; not named: {len(outcome.missed)}")
    print(f"  named without cause: {len(outcome.false)}; served by recall: {len(outcome.served)}")
    for line in (*outcome.missed[:10], *outcome.false[:10], *outcome.served[:10]):
        print("   ", line)


if __name__ == "__main__":
    main()
