"""Start a service of its own for a benchmark, on a free port, in a folder that goes with it."""

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from rearview_serve.client import Client
from rearview_serve.milvus_process import free_port

START_SECONDS = 180


@dataclass(frozen=True)
class Running:
    client: Client
    url: str
    token: str
    data: Path
    pid: int
    start_seconds: float


@contextmanager
def service(**environment: str) -> Iterator[Running]:
    with tempfile.TemporaryDirectory(prefix="rearview-bench-", ignore_cleanup_errors=True) as folder:
        data, port = Path(folder) / "data", free_port()
        log = Path(folder) / "out"
        began = time.monotonic()
        with log.open("w") as out:
            process = subprocess.Popen(
                [sys.executable, "-m", "rearview_serve.cli.main", "up", "--no-sample"],
                env=os.environ | {"REARVIEW_DATA": str(data), "REARVIEW_PORT": str(port)} | environment,
                stdout=out,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        try:
            while "Serving." not in log.read_text():
                if process.poll() is not None or time.monotonic() - began > START_SECONDS:
                    raise SystemExit(f"the service did not start:\n{log.read_text()}")
                time.sleep(0.05)
            took = time.monotonic() - began
            token = (data / "token").read_text().strip()
            url = f"http://127.0.0.1:{port}"
            yield Running(Client(url, token), url, token, data, process.pid, took)
        finally:
            process.terminate()
            process.wait(60)


def resident_mb(pid: int) -> tuple[float, int]:
    """(proportional set size in MB, processes) of a process and all below it; PSS counts shared pages once."""
    children: dict[int, list[int]] = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            parent = int(stat.read_text().rpartition(")")[2].split()[1])
        except OSError:
            continue
        children.setdefault(parent, []).append(int(stat.parent.name))
    queue, total, count = [pid], 0, 0
    while queue:
        one = queue.pop()
        queue += children.get(one, [])
        try:
            rollup = Path(f"/proc/{one}/smaps_rollup").read_text()
        except OSError:
            continue
        total += next(int(line.split()[1]) for line in rollup.splitlines() if line.startswith("Pss:"))
        count += 1
    return total / 1024, count
