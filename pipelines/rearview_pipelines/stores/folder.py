"""The object store of a laptop: a folder. The same contract as S3, tested by the same tests."""

import asyncio
import os
import secrets
from contextlib import suppress
from datetime import datetime
from pathlib import Path

from rearview_pipelines.errors import Unavailable
from rearview_pipelines.ports import AlreadyThere
from rearview_pipelines.stores.keys import checked


class FolderStore:
    """`ObjectStore` below `root`, which is made on the first write."""

    def __init__(self, root: Path) -> None:
        self._root = root

    async def check(self) -> None:
        """A folder is made when it is first written to; what a kill left half written is removed."""
        for left in self._root.rglob("*.tmp") if self._root.is_dir() else ():
            left.unlink(missing_ok=True)

    async def put(self, key: str, data: bytes, *, new: bool = False, fleeting: bool = False) -> datetime | None:
        path = self._path(key)
        if fleeting:  # into the page cache: less than the hop to a thread
            self._put(path, data, new, sync=False)
        else:
            await asyncio.to_thread(self._put, path, data, new, sync=True)
        return None

    async def get(self, key: str) -> bytes | None:
        path = self._path(key)
        if not path.exists():  # asked before every recall: a look costs less than a thread
            return None
        return await asyncio.to_thread(_read, path)

    async def slice(self, key: str, start: int, length: int) -> bytes | None:
        return await asyncio.to_thread(_read, self._path(key), start, length)

    async def keys(self, prefix: str) -> list[str]:
        return await asyncio.to_thread(self._list, self._path(prefix.rstrip("/")))

    async def delete(self, key: str) -> datetime | None:
        path = self._path(key)
        try:
            path.unlink(missing_ok=True)
        except OSError as error:
            raise Unavailable(f"the object store did not delete: {error.strerror}") from error
        return None

    def _path(self, key: str) -> Path:
        return self._root.joinpath(*checked(key).split("/"))

    def _put(self, path: Path, data: bytes, new: bool, *, sync: bool) -> None:
        temporary = path.with_name(f"{path.name}.{secrets.token_hex(4)}.tmp")
        try:
            path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with os.fdopen(descriptor, "wb") as file:
                file.write(data)
                if sync:
                    file.flush()
                    os.fsync(file.fileno())
            if new:
                os.link(temporary, path)  # fails if the name is taken, and is one step where it is not
            else:
                temporary.replace(path)
            if sync:
                _sync(path.parent)
        except FileExistsError as error:
            raise AlreadyThere(path.name) from error
        except OSError as error:
            raise Unavailable(f"the object store did not write: {error.strerror}") from error
        finally:
            with suppress(OSError):  # what went wrong was said above
                temporary.unlink(missing_ok=True)

    def _list(self, folder: Path) -> list[str]:
        if not folder.is_dir():
            return []
        try:
            found = [p for p in folder.rglob("*") if p.is_file() and not p.name.endswith(".tmp")]
        except OSError as error:
            raise Unavailable(f"the object store did not list: {error.strerror}") from error
        return sorted(p.relative_to(self._root).as_posix() for p in found)


def _sync(folder: Path) -> None:
    """The name is on disk too, not only what it names."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _read(path: Path, start: int = 0, length: int = -1) -> bytes | None:
    try:
        with path.open("rb") as file:
            file.seek(start)
            return file.read(length)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise Unavailable(f"the object store did not read: {error.strerror}") from error
