"""The key ring of a data folder while services run: rotation and revocation reach every process in a second."""

import time
from dataclasses import replace
from datetime import datetime
from pathlib import Path

from filelock import FileLock

from rearview_pipelines.errors import Conflict, NotFound
from rearview_pipelines.write.keys import KeyRing, load_or_create, new_master, read_ring, write_ring

LOOK_SECONDS = 1.0
"""How often a running process looks whether the file changed."""


class KeyStore:
    """`Keys` over `keys.json`. Raises SetupError if it cannot be read."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / "keys.json"
        self._lock = FileLock(str(folder / "keys.lock"))
        with self._lock:
            self._ring = load_or_create(folder)
        self._stamp = self._stamped()
        self._looked = time.monotonic()

    @property
    def ring(self) -> KeyRing:
        if time.monotonic() - self._looked >= LOOK_SECONDS:
            self.reload()
        return self._ring

    def knowing(self, kid: str) -> KeyRing:
        """The ring, read anew if it does not know the key: another process may just have made it."""
        if kid not in self.ring.masters:
            self.reload()
        return self._ring

    def reload(self) -> None:
        self._looked = time.monotonic()
        stamp = self._stamped()
        if stamp != self._stamp:
            self._ring = read_ring(self._path)
            self._stamp = stamp

    def rotate(self, now: datetime) -> str:
        """A new active key; the old one goes on verifying. Answers the new key's id."""
        with self._lock:
            ring = read_ring(self._path)
            kid, master = new_master()
            created = {**ring.created, kid: now.isoformat(timespec="seconds")}
            self._write(replace(ring, masters={**ring.masters, kid: master}, active=kid, created=created))
        return kid

    def revoke(self, kid: str) -> None:
        """Trust a key no more. Raises NotFound, or Conflict for the active one."""
        with self._lock:
            ring = read_ring(self._path)
            if kid not in ring.masters:
                raise NotFound("no such key")
            if kid == ring.active:
                raise Conflict("the active key cannot be revoked; make a new one first (`rearview keys rotate`)")
            self._write(replace(ring, revoked=ring.revoked | {kid}))

    def described(self) -> list[dict[str, str | None]]:
        """The keys by id and state, newest last; never the keys."""
        ring = self.ring
        return [
            {"kid": kid, "state": ring.state(kid).value, "created_at": ring.created.get(kid)} for kid in ring.masters
        ]

    def _write(self, ring: KeyRing) -> None:
        write_ring(self._path, ring)
        self._ring = ring
        self._stamp = self._stamped()

    def _stamped(self) -> tuple[int, int]:
        stat = self._path.stat()
        return (stat.st_mtime_ns, stat.st_ino)
