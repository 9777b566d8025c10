"""Write and recall over HTTP, beside the same embedding and search called bare in one process.

    python benchmarks/latency.py [--sizes 1000,10000] [--requests 200]

Prints p50 and p95 in milliseconds and requests a second at concurrency 1 and 16, for stores of each
size, and the ratio to the baseline: the same ONNX models, the same Milvus Lite server, the same
queries, called one after the other without HTTP, Ray, signatures or ranking. Beside it, what each stage
of a recall takes.
"""

import argparse
import asyncio
import random
import statistics
import tempfile
import time
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from pathlib import Path

import httpx
import numpy as np
from running import Running, resident_mb, service

from rearview_pipelines.memory import Memory, State
from rearview_pipelines.models.embedder import OnnxEmbedder
from rearview_pipelines.models.export import PACKAGED, PACKAGED_LATE, cached
from rearview_pipelines.models.late import LateEncoder
from rearview_pipelines.ports import Part, Passage, Tokens, Where
from rearview_pipelines.principal import Principal, Role
from rearview_pipelines.recall.filters import in_states, scope_of
from rearview_pipelines.recall.fusion import Asked, fuse, in_context
from rearview_pipelines.recall.maxsim import best, gather
from rearview_pipelines.recall.understand import understand
from rearview_pipelines.stores.milvus import MilvusIndex
from rearview_pipelines.stores.scope import Scope
from rearview_pipelines.text.analyse import terms_of
from rearview_serve.milvus_process import MilvusProcess
from rearview_serve.settings import Settings

SUBJECTS = "the user,our team,Anna,the billing service,the staging cluster,Tomasz,the customer,the mobile app".split(
    ","
)
VERBS = "prefers,deploys,moved to,is allergic to,depends on,renewed,broke,documented,postponed,ordered".split(",")
OBJECTS = (
    "green tea,blue-green releases,the Hamburg office,peanuts,Postgres 16,the annual contract,the search index,"
    "the onboarding guide,the March audit,window seats,HTTP timeouts,the refund policy,winter tyres,the backup job"
).split(",")
WHEN = "on Monday,last spring,since the outage,before lunch,for the third time,in Q2,after the review".split(",")


def sentence(random_: random.Random) -> str:
    """About 20 tokens; the number makes each its own memory."""
    pick = random_.choice
    return f"{pick(SUBJECTS)} {pick(VERBS)} {pick(OBJECTS)} {pick(WHEN)}, ticket {random_.randrange(10**6)}."


def question(random_: random.Random) -> str:
    return f"What about {random_.choice(OBJECTS)} and {random_.choice(SUBJECTS)}?"


async def measure(call: Callable[[int], Awaitable[object]], count: int, concurrency: int) -> dict[str, float]:
    times: list[float] = []
    numbers = iter(range(count))

    async def worker() -> None:
        for n in numbers:
            began = time.perf_counter()
            await call(n)
            times.append((time.perf_counter() - began) * 1000)

    began = time.perf_counter()
    await asyncio.gather(*(worker() for _ in range(concurrency)))
    took = time.perf_counter() - began
    times.sort()
    return {"p50": statistics.median(times), "p95": times[int(len(times) * 0.95)], "rps": count / took}


def show(name: str, got: dict[str, float], base: dict[str, float] | None = None) -> None:
    ratio = f"   {got['p50'] / base['p50']:.2f}x its baseline" if base else ""
    print(f"{name:44} p50 {got['p50']:8.1f}  p95 {got['p95']:8.1f} ms   {got['rps']:8.1f} /s{ratio}", flush=True)


async def bare(size: int, requests: int) -> dict[tuple[str, int], dict[str, float]]:
    """The parts alone, in this process, over a Milvus Lite server of the same content."""
    encoder = LateEncoder(cached("late", PACKAGED_LATE, Settings().models))
    embedder = OnnxEmbedder(cached("embedder", PACKAGED, Settings().models), 1, encoder)
    random_ = random.Random(7)
    found: dict[tuple[str, int], dict[str, float]] = {}
    with (
        tempfile.TemporaryDirectory() as folder,
        (Path(folder) / "log").open("wb") as log,
        MilvusProcess(Path(folder) / "data", log) as process,
    ):
        process.wait()
        index = await MilvusIndex.open(process.uri, model=embedder.name, dimension=embedder.dimension, seconds=60)
        principal = Principal("default", Role.ADMIN)
        where: Where = in_states(scope_of(principal), (State.ACTIVE, State.PENDING))

        async def write(texts: list[str]) -> None:
            embedded = await embedder.documents([Passage("", t) for t in texts])
            now = datetime.now(UTC)
            rows = []
            for text, [part] in zip(texts, embedded, strict=True):
                memory = Memory(
                    id=f"m_{random_.getrandbits(160):032x}"[:34],
                    tenant="default",
                    text=text,
                    layer="semantic",
                    created_at=now,
                    updated_at=now,
                )
                terms = " ".join(terms_of(text))
                rows.append((memory, [Part(0, 0, len(text), terms, part.vector, part.tokens, part.late)]))
            await index.upsert(rows)

        for _ in range(0, size, 64):
            await write([sentence(random_) for _ in range(64)])

        async def recall(_: int) -> None:
            query = question(random_)
            vector, _ = await asyncio.gather(embedder.query(query), asyncio.to_thread(encoder.query, query))
            await asyncio.gather(
                index.dense("default", where, vector, 50), index.keyword("default", where, terms_of(query), 50)
            )

        for concurrency in (1, 16):
            found["recall", concurrency] = await measure(recall, requests, concurrency)
            found["write", concurrency] = await measure(lambda _: write([sentence(random_)]), requests, concurrency)
        found["write 32", 1] = await measure(lambda _: write([sentence(random_) for _ in range(32)]), 10, 1)
        await index.close()
    return found


def stages(embedder: OnnxEmbedder, encoder: LateEncoder, size: int) -> None:
    """Print what the parts of one recall take by themselves, in this process, over so many rows in memory."""
    random_ = random.Random(7)
    scope, now = Scope(embedder.dimension), datetime.now(UTC)
    numbers = np.random.default_rng(7)
    tokens: dict[str, Tokens] = {}
    for n in range(size):
        text, vector = sentence(random_), numbers.standard_normal(embedder.dimension).astype(np.float32)
        fields = {"tenant": "default", "text": text, "layer": "semantic", "created_at": now, "updated_at": now}
        memory = Memory.model_validate({"id": f"m_{n}"} | fields)
        scope.put(memory, [Part(0, 0, len(text), " ".join(terms_of(text)), vector / np.linalg.norm(vector))])
        tokens[memory.id] = numbers.integers(-127, 128, (24, 96)).astype(np.int8)
    where = in_states(scope_of(Principal("default", Role.ADMIN)), (State.ACTIVE, State.PENDING))
    query = question(random_)
    asked = understand(query, now, "UTC")
    vector, vectors = asyncio.run(embedder.query(query)), encoder.query(query)
    table = scope.table(where, asked.terms, vector)
    chosen = list(table.ids[:200])
    gathered = gather(chosen, tokens)
    part = table.only(np.arange(200))
    parts: dict[str, Callable[[], object]] = {
        "embed the query (dense)": lambda: asyncio.run(embedder.query(query)),
        "encode the query (tokens)": lambda: encoder.query(query),
        "understand the query": lambda: understand(query, now, "UTC"),
        f"BM25 and cosines of {size} rows": lambda: scope.table(where, asked.terms, vector),
        f"context of {size} rows": lambda: in_context(table),
        "token vectors of 200 gathered": lambda: gather(chosen, tokens),
        "MaxSim of 200": lambda: best(gathered, vectors),
        "fusion of 200": lambda: fuse(part, Asked(), best(gathered, vectors)),
    }
    print(f"\nstages of a recall over {size} memories, alone:")
    for name, call in parts.items():
        call()
        began = time.perf_counter()
        for _ in range(20):
            call()
        print(f"  {name:36} {(time.perf_counter() - began) * 50:6.2f} ms", flush=True)


async def served(running: Running, size: int, requests: int, base: dict[tuple[str, int], dict[str, float]]) -> None:
    random_ = random.Random(7)
    headers = {"Authorization": f"Bearer {running.token}"}
    limits = httpx.Limits(max_connections=32)
    async with httpx.AsyncClient(
        base_url=running.url, headers=headers, timeout=60, limits=limits, trust_env=False
    ) as http:

        async def post(path: str, body: object) -> None:
            answer = await http.post(path, json=body)
            answer.raise_for_status()

        async def write(count: int) -> None:
            await post("/v1/memories", {"memories": [{"text": sentence(random_)} for _ in range(count)]})

        began = time.perf_counter()
        for _ in range(0, size, 64):
            await write(64)
        print(f"\n{size} memories, filled at {size / (time.perf_counter() - began):.0f} a second in batches of 64")
        for concurrency in (1, 16):
            got = await measure(lambda _: post("/v1/recall", {"query": question(random_)}), requests, concurrency)
            show(f"recall, hybrid, concurrency {concurrency}", got, base["recall", concurrency])
            show("  baseline: embed + both searches, bare", base["recall", concurrency])
            got = await measure(lambda _: write(1), requests, concurrency)
            show(f"write, single, concurrency {concurrency}", got, base["write", concurrency])
            show("  baseline: embed + upsert, bare", base["write", concurrency])
        got = await measure(lambda _: write(32), 10, 1)
        show("write, batches of 32, concurrency 1", got, base["write 32", 1])
        print(f"{'':44} {got['rps'] * 32:.0f} memories a second; baseline {base['write 32', 1]['rps'] * 32:.0f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", default="1000,10000")
    parser.add_argument("--requests", type=int, default=200)
    arguments = parser.parse_args()
    for size in map(int, arguments.sizes.split(",")):
        base = asyncio.run(bare(size, arguments.requests))
        models = Settings().models
        stages(
            OnnxEmbedder(cached("embedder", PACKAGED, models)), LateEncoder(cached("late", PACKAGED_LATE, models)), size
        )
        with service() as running:
            asyncio.run(served(running, size, arguments.requests, base))
            mb, processes = resident_mb(running.pid)
            print(f"started in {running.start_seconds:.1f} s; {mb:.0f} MB resident (PSS) in {processes} processes")


if __name__ == "__main__":
    main()
