"""Long work at size: memories a second of each job beside the bare parts, and recall meanwhile.

    python benchmarks/jobs.py [COUNT]

On Milvus Lite in this process and a folder as object store; vectors and token vectors are made up (their size is real),
but for the migration, which embeds with the packaged model. Bare rates: of `put` the same rows in the same batches into
the store that the job writes to, of `embed` the model alone.
"""

import asyncio
import statistics
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path

import numpy as np

from rearview_pipelines.lifecycle.policy import Lifecycle
from rearview_pipelines.models.export import PACKAGED, cached
from rearview_pipelines.models.opening import open_embedder
from rearview_pipelines.ports import EmbeddedPart, Embedder, Passage
from rearview_pipelines.requests import Filters, ForgetRequest, RecallRequest
from rearview_pipelines.stores.packing import packed, sealed
from rearview_pipelines.testing import HashEmbedder
from rearview_pipelines.write.moves import COPY
from rearview_serve.settings import Settings

sys.path.insert(0, str(Path(__file__).parents[1]))
from tests.rig import ADMIN, FakeModels, Rig, opened

TOKENS = np.ones((30, 96), np.int8)
SUBJECTS = ("the billing service", "our staging cluster", "the search index", "the mail gateway", "Dana's laptop")


class Heavy(HashEmbedder):
    """Made-up vectors, with token vectors of the usual size beside."""

    async def documents(self, passages: Sequence[Passage]) -> list[tuple[EmbeddedPart, ...]]:
        made = await super().documents(passages)
        return [tuple(EmbeddedPart(p.start, p.end, p.vector, TOKENS, "late") for p in of) for of in made]


class Models(FakeModels):
    def __init__(self, other: Embedder) -> None:
        super().__init__()
        self.own = Heavy()
        self.other = other  # type: ignore[assignment]

    async def by_identity(self, identity: str) -> Embedder:
        return self.own if identity == self.own.name else self.other


def text(n: int) -> str:
    return f"Note {n}: {SUBJECTS[n % 5]} was checked by person {n % 97} and took {n * 7 % 1000} minutes, ticket {n}."


def line(name: str, count: int, seconds: float, bare: float | None = None) -> None:
    rate = count / seconds
    beside = f"   bare {bare:8.0f} a second, share {rate / bare:.2f}" if bare else ""
    print(f"{name:28} {count:6} in {seconds:7.1f} s  {rate:8.0f} a second{beside}", flush=True)


async def timed(work: Awaitable[object]) -> float:
    began = time.perf_counter()
    await work
    return time.perf_counter() - began


async def job(rig: Rig, kind: str, **parameters: object) -> float:
    began = time.perf_counter()
    done = await rig.run(kind, **parameters)
    took = time.perf_counter() - began
    if done.status != "done":
        raise SystemExit(f"{kind}: {done.detail}")
    return took


async def recalls_while(rig: Rig, work: Awaitable[object]) -> tuple[float, list[float]]:
    """(seconds that the work took, milliseconds of each recall meanwhile)."""
    task = asyncio.ensure_future(timed(work))
    times: list[float] = []
    n = 0
    while not task.done():
        times.append(await one_recall(rig, n))
        n += 1
        await asyncio.sleep(0.01)
    return await task, times


async def one_recall(rig: Rig, n: int) -> float:
    began = time.perf_counter()
    await rig.service.recall(ADMIN, RecallRequest(query=f"What about {SUBJECTS[n % 5]} and ticket {n * 13 % 5000}?"))
    return (time.perf_counter() - began) * 1000


def show(name: str, times: Sequence[float]) -> None:
    print(f"{name:28} p50 {statistics.median(times):.1f} ms, p95 {p95(times):.1f} ms", flush=True)


def p95(times: Sequence[float]) -> float:
    return statistics.quantiles(times, n=20)[-1] if len(times) > 1 else times[0]


async def bare_put(rows: Sequence[object], batch: int, put: Callable[[Sequence[object]], Awaitable[None]]) -> float:
    """Rows a second."""
    took = 0.0
    for start in range(0, len(rows), batch):
        took += await timed(put(rows[start : start + batch]))
    return len(rows) / took


async def main(count: int) -> None:
    settings = Settings()
    other = open_embedder(cached("embedder", PACKAGED, settings.models), None, 1, None)
    models = Models(other)
    print(f"{count} memories of about 100 characters, 30 token vectors of 96 dimensions each; 2 cores", flush=True)
    with tempfile.TemporaryDirectory(prefix="rearview-jobs-") as folder:
        async with opened(Path(folder), policy=Lifecycle(capacity=0), models=models) as rig:
            rig.writer._tools.embedder._now = models.own
            began = time.perf_counter()
            ids: list[str] = []
            for start in range(0, count, 256):
                ids += await rig.write(*(text(n) for n in range(start, min(count, start + 256))))
            line("write", count, time.perf_counter() - began)
            await one_recall(rig, 0)
            await asyncio.sleep(count / 1000)  # its tenant is taken into memory meanwhile
            quiet = [await one_recall(rig, n) for n in range(200)]
            show("recall, nothing else", quiet)
            await measured(rig, ids, models)


async def measured(rig: Rig, ids: list[str], models: Models) -> None:
    rows = await rig.writer.rewriter.whole("default", ids[:2000])  # type: ignore[union-attr]
    ring = rig.writer._tools.keys.ring

    async def put_objects(batch: Sequence[object]) -> None:
        raw = sealed("bench", "default", {}, packed(batch), ring)  # type: ignore[arg-type]
        await rig.objects.put(f"bench/{time.monotonic_ns()}", raw)

    objects = await bare_put(rows, 200, put_objects)
    line("snapshot", len(ids), await job(rig, "snapshot"), objects)
    line("restore (all there)", len(ids), await job(rig, "restore"))
    line("sweep (nothing to move)", len(ids), await job(rig, "sweep"))
    began = time.perf_counter()
    exported = [piece async for piece in rig.service.export(ADMIN, Filters())]
    line("export", len(exported) - 2, time.perf_counter() - began)

    moved = ids[:2000]
    began = time.perf_counter()
    for start in range(0, len(moved), 200):
        await rig.writer.archive("default", moved[start : start + 200])
    line("archive", len(moved), time.perf_counter() - began, objects)

    async def put_index(batch: Sequence[object]) -> None:
        await rig.milvus.upsert(batch)  # type: ignore[arg-type]

    began = time.perf_counter()
    for start in range(0, len(moved), 200):
        await rig.writer.thaw("default", moved[start : start + 200])
    took = time.perf_counter() - began
    again = await rig.writer.rewriter.whole("default", moved)  # type: ignore[union-attr]
    index = await bare_put(again, 200, put_index)
    line("thaw", len(moved), took, index)

    report = await rig.service.forget(ADMIN, ForgetRequest(ids=(ids[-1],)))
    took, meanwhile = await recalls_while(rig, rig.ended(report.purge.job or ""))
    line(f"purge of one (batches of {COPY})", len(ids), took, index)
    show("recall during the purge", meanwhile)

    sample = [Passage("", text(n)) for n in range(300)]
    bare = len(sample) / await timed(models.other.documents(sample))
    took, meanwhile = await recalls_while(rig, job(rig, "migrate", model="other", agreement=0.0))
    line("migrate", len(ids), took, bare)
    show("recall during the migration", meanwhile)
    report = await rig.service.verify(ADMIN)
    print(f"verify: {'ok' if report['ok'] else report['findings'][:3]}, {report['checked']} checked", flush=True)


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1]) if len(sys.argv) > 1 else 10_000))
