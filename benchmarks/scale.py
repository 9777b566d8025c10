"""Searching 20,000 and 100,000 memories: in memory, on Milvus Lite, and on a Milvus server. Synthetic vectors.

    python benchmarks/scale.py [--sizes 20000,100000] [--milvus URI]

Fills a store past the write path (no model, no signature), then times what a recall asks of it. `--milvus` names a
server, of which the dense part is timed (one before 2.5 has no BM25). Vectors are drawn around 200 centres,
texts from a vocabulary of 20,000 words with Zipf's frequencies.
"""

import argparse
import asyncio
import statistics
import tempfile
import time
from collections.abc import Awaitable, Callable
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

from rearview_pipelines.memory import Memory, State
from rearview_pipelines.ports import Part
from rearview_pipelines.principal import Principal, Role
from rearview_pipelines.recall.filters import in_states, scope_of
from rearview_pipelines.recall.fusion import in_context
from rearview_pipelines.recall.maxsim import best, gather
from rearview_pipelines.stores.milvus import MilvusIndex
from rearview_pipelines.stores.scope import Scope
from rearview_serve.milvus_process import MilvusProcess

DIMENSION, CENTRES, WORDS, LENGTH, TOKENS = 384, 200, 20_000, 20, 40
BATCH = 1000
ADMIN = Principal("bench", Role.ADMIN)
WHERE = in_states(scope_of(ADMIN), (State.ACTIVE, State.PENDING))


class Made:
    """Memories by number, the same in every run."""

    def __init__(self) -> None:
        self._random = np.random.default_rng(7)
        self._centres = self._random.standard_normal((CENTRES, DIMENSION))
        self._now = datetime.now(UTC)

    def vector(self) -> Any:
        raw = self._centres[self._random.integers(CENTRES)] + 0.8 * self._random.standard_normal(DIMENSION)
        return (raw / np.linalg.norm(raw)).astype(np.float32)

    def terms(self, count: int = LENGTH) -> str:
        return " ".join(f"w{min(int(rank), WORDS)}" for rank in self._random.zipf(1.3, count))

    def row(self, number: int) -> tuple[Memory, list[Part]]:
        terms = self.terms()
        fields = {"tenant": ADMIN.tenant, "layer": "semantic", "created_at": self._now, "updated_at": self._now}
        memory = Memory.model_validate({"id": f"m_{number:032d}", "text": terms} | fields)
        return memory, [Part(0, 0, len(terms), terms, self.vector())]


async def timed(name: str, call: Callable[[], Awaitable[object]], count: int = 20) -> None:
    await call()
    times = []
    for _ in range(count):
        began = time.perf_counter()
        await call()
        times.append((time.perf_counter() - began) * 1000)
    times.sort()
    print(f"  {name:44} p50 {statistics.median(times):8.1f}  p95 {times[int(len(times) * 0.95)]:8.1f} ms", flush=True)


async def of_store(index: MilvusIndex, size: int, keyword: bool) -> None:
    made = Made()
    began = time.perf_counter()
    for start in range(0, size, BATCH):
        await index.upsert([made.row(n) for n in range(start, min(start + BATCH, size))])
    print(f"  filled in {time.perf_counter() - began:.0f} s", flush=True)
    await timed("dense, the best 50", lambda: index.dense(ADMIN.tenant, WHERE, made.vector(), 50))
    if keyword and index.has_keyword:
        await timed("keyword, the best 50", lambda: index.keyword(ADMIN.tenant, WHERE, made.terms(8).split(), 50))


async def in_memory(size: int) -> None:
    made, scope = Made(), Scope(DIMENSION)
    began = time.perf_counter()
    for number in range(size):
        scope.put(*made.row(number))
    print(f"  taken into memory in {time.perf_counter() - began:.0f} s", flush=True)
    random = np.random.default_rng(7)
    tokens = {f"{n}": random.integers(-127, 128, (TOKENS, 96)).astype(np.int8) for n in range(200)}
    query = random.standard_normal((12, 96)).astype(np.float32)

    async def table() -> object:
        return in_context(scope.table(WHERE, made.terms(8).split(), made.vector()))

    async def late() -> object:
        return best(gather(list(tokens), tokens), query)

    await timed("BM25, cosines and context of all", table)
    await timed("MaxSim of 200 candidates", late)


async def run(arguments: Any) -> None:
    for size in map(int, arguments.sizes.split(",")):
        print(
            f"\n{size} memories of {LENGTH} words, {DIMENSION} dimensions\nin memory (REARVIEW_HOT_ROWS):", flush=True
        )
        await in_memory(size)
        print("Milvus Lite:", flush=True)
        with ExitStack() as stack:
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
            log = stack.enter_context((folder / "log").open("wb"))
            process = stack.enter_context(MilvusProcess(folder / "data", log))
            process.wait()
            index = await MilvusIndex.open(process.uri, model="synthetic", dimension=DIMENSION, seconds=300)
            await of_store(index, size, keyword=True)
            await index.close()
        if arguments.milvus:
            print(f"Milvus server at {arguments.milvus}:", flush=True)
            index = await MilvusIndex.open(arguments.milvus, model="synthetic", dimension=DIMENSION, seconds=300)
            await of_store(index, size, keyword=False)
            await index.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", default="20000,100000")
    parser.add_argument("--milvus", default="", help="URI of a server that may be filled")
    asyncio.run(run(parser.parse_args()))


if __name__ == "__main__":
    main()
