"""Recall while the real service purges, and while it moves to another model: HTTP, Ray Serve, Milvus Lite, real models.

    python benchmarks/meanwhile.py [COUNT]

The model that it moves to is the packaged one under another name: what is measured is the moving, not the model.
"""

import json
import shutil
import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import httpx
from running import Running, service

from rearview_pipelines.models.export import PACKAGED, cached
from rearview_serve.settings import Settings

SUBJECTS = ("the billing service", "our staging cluster", "the search index", "the mail gateway", "Dana's laptop")
BETWEEN = 0.05
"""Seconds between two recalls."""


def text(n: int) -> str:
    return f"Note {n}: {SUBJECTS[n % 5]} was checked by person {n % 97} and took {n * 7 % 1000} minutes, ticket {n}."


def show(name: str, times: Sequence[float]) -> None:
    p95 = statistics.quantiles(times, n=20)[-1]
    print(f"{name:28} n {len(times):5}  p50 {statistics.median(times):6.1f} ms  p95 {p95:6.1f} ms", flush=True)


def recalls(running: Running, until: Callable[[], bool]) -> list[float]:
    """Milliseconds of recalls, one after the other, until something is true."""
    times: list[float] = []
    headers = {"Authorization": f"Bearer {running.token}"}
    with httpx.Client(base_url=running.url, headers=headers, timeout=60, trust_env=False) as http:
        n = 0
        while not until():
            body = {"query": f"What about {SUBJECTS[n % 5]} and ticket {n * 13 % 5000}?"}
            began = time.perf_counter()
            answer = http.post("/v1/recall", json=body)
            times.append((time.perf_counter() - began) * 1000)
            if answer.status_code != 200:
                raise SystemExit(f"recall answered {answer.status_code}")
            n += 1
            time.sleep(BETWEEN)
    return times


def ended(running: Running, id_: str) -> dict[str, Any]:
    while (job := running.client.call("GET", f"/v1/jobs/{id_}"))["status"] in ("queued", "running"):
        time.sleep(0.1)
    if job["status"] != "done":
        raise SystemExit(f"{job['kind']}: {job['detail']}")
    return dict(job)


def meanwhile(running: Running, id_: str) -> tuple[float, list[float]]:
    """(seconds to the end of a job, milliseconds of each recall meanwhile)."""
    done = threading.Event()
    times: list[float] = []
    thread = threading.Thread(target=lambda: times.extend(recalls(running, done.is_set)))
    began = time.perf_counter()
    thread.start()
    ended(running, id_)
    took = time.perf_counter() - began
    done.set()
    thread.join()
    return took, times


def main(count: int) -> None:
    with tempfile.TemporaryDirectory(prefix="rearview-model-") as folder, service() as running:
        print(f"{count} memories; started in {running.start_seconds:.0f} s", flush=True)
        began, ids = time.perf_counter(), []
        for start in range(0, count, 64):
            memories = [{"text": text(n)} for n in range(start, min(count, start + 64))]
            ids += [r["id"] for r in running.client.call("POST", "/v1/memories", {"memories": memories})["receipts"]]
        took = time.perf_counter() - began
        print(f"written in {took:.0f} s, {count / took:.0f} a second", flush=True)
        time.sleep(5)
        for name in ("recall, nothing else", "recall, nothing else, again"):
            end = time.monotonic() + 20
            show(name, recalls(running, lambda end=end: time.monotonic() > end))  # type: ignore[misc]
        report = running.client.call("POST", "/v1/forget", {"ids": [ids[-1]]})
        took, times = meanwhile(running, report["purge"]["job"])
        print(f"purge of one among {count}: {took:.1f} s", flush=True)
        show("recall during the purge", times)
        copy = Path(folder) / "copy"
        shutil.copytree(cached("embedder", PACKAGED, Settings().models), copy)
        card = json.loads((copy / "rearview.json").read_text())
        (copy / "rearview.json").write_text(json.dumps(card | {"name": "another-name"}))
        id_ = running.client.call("POST", "/v1/jobs", {"kind": "migrate", "model": str(copy)})["id"]
        took, times = meanwhile(running, id_)
        print(f"migration: {took:.0f} s, {count / took:.0f} memories a second", flush=True)
        show("recall during the migration", times)
        report = running.client.call("GET", "/v1/verify")
        print(f"verify: {'ok' if report['ok'] else report['findings'][:3]}, {report['checked']} checked", flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 10_000)
