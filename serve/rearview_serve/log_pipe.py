"""A file that a child process can write to and that is rotated by size all the same."""

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from logging import INFO, Formatter, LogRecord
from logging.handlers import RotatingFileHandler
from pathlib import Path
from typing import IO


@contextmanager
def rotating_pipe(path: Path, max_bytes: int, files: int) -> Iterator[IO[bytes]]:
    """Yield the writing end of a pipe; a thread copies its lines to `path`, rotating it."""
    handler = RotatingFileHandler(path, maxBytes=max_bytes, backupCount=files)
    handler.setFormatter(Formatter("%(asctime)s %(message)s"))
    reading, writing = os.pipe()

    def copy() -> None:
        with os.fdopen(reading, "r", errors="replace") as lines:
            for line in lines:
                handler.emit(LogRecord(path.name, INFO, "", 0, line.rstrip("\n"), None, None))

    thread = threading.Thread(target=copy, daemon=True)
    thread.start()
    try:
        with os.fdopen(writing, "wb") as sink:
            yield sink
    finally:
        thread.join(timeout=5)  # ends when the child closes its copy of the pipe
        handler.close()
