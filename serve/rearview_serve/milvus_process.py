"""Milvus Lite as a process of its own on loopback, shared by the replicas, ended with its parent.

    python -m rearview_serve.milvus_process DATA_DIR PORT

is the child: it serves until its standard input ends, which happens when the parent dies however it
dies, so no server is ever left behind.
"""

import os
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import IO

from rearview_pipelines.errors import SetupError

START_SECONDS = 60.0
"""The log of writes is replayed before the port opens; 20,000 rows take a few seconds."""
STOP_SECONDS = 15.0
FLUSH_BYTES = 2**20
"""Unflushed rows are searched slowly, so flush far below Lite's own 128 MiB: at 4,000 rows a dense search
takes 32 ms with 1 MiB and 123 with 8, a keyword search 46 and 372; writes are as fast (measured)."""


class MilvusProcess:
    """Started by a `with` block, ended by its end; `uri` is where it will listen, `wait` until it does."""

    def __init__(self, data: Path, log: IO[bytes]) -> None:
        self._data = data
        self._log = log
        self.port = free_port()
        self.uri = f"http://127.0.0.1:{self.port}"
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> "MilvusProcess":
        self._start()
        return self

    def _start(self) -> None:
        environment = os.environ | {
            "OMP_NUM_THREADS": "1",
            "MILVUS_LITE_MEMTABLE_MEMORY_LIMIT_BYTES": str(FLUSH_BYTES),
            "GRPC_VERBOSITY": "NONE",
        }
        self._process = subprocess.Popen(
            [sys.executable, "-m", "rearview_serve.milvus_process", str(self._data), str(self.port)],
            stdin=subprocess.PIPE,
            stdout=self._log,
            stderr=self._log,
            env=environment,
            start_new_session=True,  # Ctrl-C is for the parent, which ends us in order
        )

    def wait(self) -> None:
        """Until it answers. Raises SetupError if it does not."""
        assert self._process is not None
        end = time.monotonic() + START_SECONDS
        while time.monotonic() < end:
            if self._process.poll() is not None:
                break
            with socket.socket() as probe:
                probe.settimeout(0.5)
                if probe.connect_ex(("127.0.0.1", self.port)) == 0:
                    return
            time.sleep(0.05)
        raise SetupError(
            f"Milvus Lite did not start on {self._data}: see logs/milvus.log in the data folder "
            "(REARVIEW_DATA), and whether another process has it open"
        )

    def revive(self) -> bool:
        """Start it again on the same port if it is gone; whether it was. Its clients reconnect."""
        if self._process is not None and self._process.poll() is None:
            return False
        self._start()
        self.wait()
        return True

    def __exit__(self, *_: object) -> None:
        if self._process is None:
            return
        if self._process.stdin is not None:
            self._process.stdin.close()  # the child takes this as the word to close in order
        try:
            self._process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()


def free_port() -> int:
    """A port of loopback that was free a moment ago."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _serve(data: str, port: int) -> None:
    from milvus_lite.adapter.grpc.server import run_server

    def end_with_parent() -> None:
        sys.stdin.buffer.read()
        os.kill(os.getpid(), signal.SIGINT)

    # A shell's background job starts with SIGINT ignored, and Python leaves it so.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    threading.Thread(target=end_with_parent, daemon=True).start()
    run_server(data, host="127.0.0.1", port=port)


if __name__ == "__main__":
    _serve(sys.argv[1], int(sys.argv[2]))
