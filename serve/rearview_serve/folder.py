"""A data folder and its one owner: the lock, and the note that says who serves it."""

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

from filelock import FileLock, Timeout

from rearview_pipelines.errors import SetupError

WAIT_SECONDS = 5.0
"""How long to wait for the lock: an owner that was just killed takes a moment to be gone."""


@dataclass(frozen=True)
class Running:
    """A service that owns a folder."""

    pid: int
    url: str


@contextmanager
def owned(folder: Path, wait: float = WAIT_SECONDS) -> Iterator[None]:
    """Be the folder's only owner. Raises SetupError naming the folder and the setting to change."""
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    except OSError as error:
        raise SetupError(
            f"the data folder {folder} cannot be made ({error.strerror}); set REARVIEW_DATA to another"
        ) from error
    lock = FileLock(str(folder / "lock"))
    try:
        lock.acquire(timeout=wait)
    except Timeout as error:
        owner = running(folder)
        who = f"process {owner.pid} at {owner.url}" if owner else "another process"
        raise SetupError(
            f"the data folder {folder} is in use by {who}; stop it, or set REARVIEW_DATA to another folder"
        ) from error
    except OSError as error:
        raise SetupError(
            f"the data folder {folder} cannot be locked ({error.strerror}); check REARVIEW_DATA"
        ) from error
    try:
        yield
    finally:
        lock.release()


def announce(folder: Path, url: str) -> None:
    """Note that this process serves the folder at `url`."""
    (folder / "service.json").write_text(json.dumps(asdict(Running(os.getpid(), url))))


def withdraw(folder: Path) -> None:
    (folder / "service.json").unlink(missing_ok=True)


def running(folder: Path) -> Running | None:
    """The service that owns the folder, if one does: a note left by a dead one does not count."""
    try:
        note = Running(**json.loads((folder / "service.json").read_text()))
    except (OSError, ValueError, TypeError):
        return None
    lock = FileLock(str(folder / "lock"))
    try:
        lock.acquire(timeout=0)
    except Timeout:
        return note
    lock.release()
    return None
