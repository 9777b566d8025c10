"""Our store as the public suite `agent-memory-integrity` sees it: written through the service, edited behind its back.

The attacker holds the index and everything in it, in the variant `StoreAdapter` the object store with the
ledger too; never the keys, and not the witness that lies beside them. What says whether the store is
intact is `verify`, as `GET /v1/verify` answers it.
"""

import asyncio
import copy
import json
import shutil
import tempfile
from collections.abc import Coroutine
from pathlib import Path
from typing import Any, TypeVar

from agmi.adapters.base import MemoryAdapter, Record

from rearview_pipelines.ledger.ledger import Ledger, LedgerReader, Witness
from rearview_pipelines.principal import Principal, Role
from rearview_pipelines.recall.pipeline import RecallPipeline
from rearview_pipelines.requests import WriteRequest, parse
from rearview_pipelines.service import MemoryService, Trust
from rearview_pipelines.stores.collection import COLLECTION
from rearview_pipelines.stores.folder import FolderStore
from rearview_pipelines.stores.milvus import MilvusIndex, partition_name
from rearview_pipelines.testing import DIMENSION, FakeClock, HashEmbedder
from rearview_pipelines.write.item import Tools
from rearview_pipelines.write.keystore import KeyStore
from rearview_pipelines.write.writer import Writer

A, B = "tenant-a", "tenant-b"
_SLOT = ("id", "memory", "tenant", "created")
"""What makes a row's place: an edit that moves a record leaves these where they are."""
_T = TypeVar("_T")


class IndexAdapter(MemoryAdapter):
    name = "rearview"
    detection_point = "audit"
    supports_replay = supports_metadata = supports_snapshot = True
    moves_whole = False
    """Whether a moved record keeps the id and tenant inside it: the genuine bytes in the wrong place."""
    columns_only = False
    """Whether metadata is changed only in what filters look at, the signed record left alone."""

    def _run(self, work: Coroutine[Any, Any, _T]) -> _T:
        return self._loop.run_until_complete(work)

    def setup(self) -> None:
        self._folder = Path(tempfile.mkdtemp(prefix="rearview-agmi-"))
        self._loop = asyncio.new_event_loop()
        self._clock = FakeClock()
        self._open()

    def _open(self) -> None:
        keys = KeyStore(self._folder / "keys")
        objects = FolderStore(self._folder / "objects")
        witness = Witness(self._folder / "keys" / "witness.json")
        embedder = HashEmbedder()
        path = str(self._folder / "m.db")
        self._index = self._run(MilvusIndex.open(path, model="fake", dimension=DIMENSION))
        ledger = Ledger(objects, keys, witness, self._clock.now)
        writer = Writer(Tools(self._index, embedder, keys, self._clock, ledger))
        reader = LedgerReader(objects, keys, witness)
        recaller = RecallPipeline(self._index, embedder, None, keys, self._clock, reader)
        trust = Trust(keys, reader)
        self.service = MemoryService(writer, recaller, self._index, embedder, None, 0.0, trust, self._clock)

    def teardown(self) -> None:
        self._run(self._index.close())
        self._loop.close()
        shutil.rmtree(self._folder, ignore_errors=True)

    def reload(self) -> None:
        self._run(self._index.close())
        self._open()

    def _write(self, tenant: str, text: str) -> None:
        self._clock.forward(seconds=1)  # the order of rows is that of their birth
        request = parse(WriteRequest, {"memories": [{"text": text, "kind": "fact"}]})
        [receipt] = self._run(self.service.write(Principal(tenant, Role.ADMIN, id="tok"), request))
        assert receipt.status == "stored", receipt

    def seed(self, n: int) -> None:
        for number in range(n):
            self._write(A, f"agmi seed {number}: the limit is {40 + number}")

    def seed_other(self, n: int) -> None:
        for number in range(n):
            self._write(B, f"agmi other {number}: the limit is {90 + number}")

    def append_genuine(self) -> None:
        self._write(A, "agmi seed late: the limit is 77")

    def verify(self) -> bool:
        report = self._run(self.service.verify(Principal(A, Role.ADMIN, id="tok")))
        self.verify_detail = None if report["ok"] else f"verify: {report['findings']}"
        return bool(report["ok"])

    def _rows(self, tenant: str) -> list[dict[str, Any]]:
        client, partition = self._index._client, partition_name(tenant)
        if not self._run(client.has_partition(COLLECTION, partition)):
            return []
        rows = self._run(
            client.query(
                COLLECTION,
                filter="part >= 0",
                output_fields=["*"],
                limit=1000,
                partition_names=[partition],
                consistency_level="Strong",
            )
        )
        return sorted((_plain(row) for row in rows), key=lambda row: (row["created"], row["id"]))

    def _upsert(self, row: dict[str, Any], tenant: str = A) -> None:
        self._run(self._index._client.upsert(COLLECTION, [row], partition_name=partition_name(tenant)))

    def _delete(self, ids: list[str], tenant: str = A) -> None:
        if ids:
            self._run(self._index._client.delete(COLLECTION, ids=ids, partition_name=partition_name(tenant)))

    def read_all_raw(self) -> list[Record]:
        return [Record(number, row) for number, row in enumerate(self._rows(A))]

    def read_other_raw(self) -> list[Record]:
        return [Record(number, row) for number, row in enumerate(self._rows(B))]

    def write_raw(self, record: Record) -> None:
        rows, row = self._rows(A), copy.deepcopy(record.fields)
        if record.seq < len(rows):
            place = rows[record.seq]
            row.update({name: place[name] for name in _SLOT})
            if not self.moves_whole:
                row["record"] = _renamed(row["record"], place)
        self._upsert(row)

    def delete_raw(self, seq: int) -> None:
        self._delete([self._rows(A)[seq]["id"]])

    def mutate_payload(self, record: Record) -> Record:
        record.fields["text"] += "  [TAMPERED]"
        return record

    def forge_record(self, template: Record) -> Record:
        row = copy.deepcopy(template.fields)
        row["id"] = row["memory"] = "m_" + "a" * 32
        row["created"] += 1000
        row["text"] = "agmi forged: the limit is 999"
        row["record"] = _renamed(row["record"], row)
        return Record(template.seq + 1, row)

    def identity_of(self, record: Record) -> str:
        return f"{record.fields['tenant']}/{record.fields['id']}"

    def payload_of(self, record: Record) -> str:
        return str(record.fields["text"])

    def owner_of(self, record: Record) -> str:
        return str(record.fields["tenant"])

    def replay_onto(self, victim_seq: int, donor: Record) -> None:
        self.write_raw(Record(victim_seq, copy.deepcopy(donor.fields)))

    def read_meta(self, seq: int) -> dict[str, Any]:
        row = self._rows(A)[seq]
        return {"user": row["user_name"], "record": json.loads(row["record"])["user"]}

    def write_meta(self, seq: int, meta: dict[str, Any]) -> None:
        row = self._rows(A)[seq]
        row["user_name"] = "mallory"
        if not self.columns_only:
            row["record"] = json.dumps(json.loads(row["record"]) | {"user": "mallory"}, separators=(",", ":"))
        self._upsert(row)

    def snapshot_store(self) -> Any:
        return {tenant: self._rows(tenant) for tenant in (A, B)}

    def restore_store(self, token: Any) -> None:
        for tenant, rows in token.items():
            self._delete([row["id"] for row in self._rows(tenant)], tenant)
            for row in rows:
                self._upsert(row, tenant)


class MovedWhole(IndexAdapter):
    name, moves_whole = "rearview, records moved whole", True


class ColumnsOnly(IndexAdapter):
    name, columns_only = "rearview, columns only", True


class StoreAdapter(IndexAdapter):
    """The attacker puts the ledger back too, with the rows; the witness beside the keys remembers."""

    name = "rearview, ledger too"

    def snapshot_store(self) -> Any:
        kept = Path(tempfile.mkdtemp(prefix="snapshot-", dir=self._folder))
        shutil.copytree(self._folder / "objects", kept / "objects")
        return super().snapshot_store(), kept

    def restore_store(self, token: Any) -> None:
        rows, kept = token
        super().restore_store(rows)
        shutil.rmtree(self._folder / "objects")
        shutil.copytree(kept / "objects", self._folder / "objects")


class Undefended(IndexAdapter):
    """Control: the edits are real, and somebody who does not look sees nothing."""

    name = "rearview, nobody looks"

    def verify(self) -> bool:
        self.verify_detail = None
        return True


def _renamed(record: str, place: dict[str, Any]) -> str:
    body = json.loads(record) | {"id": place["memory"], "tenant": place["tenant"]}
    return json.dumps(body, separators=(",", ":"))


def _plain(row: Any) -> dict[str, Any]:
    """A row as it can be written back: without what the server computes."""

    def value(name: str, held: Any) -> Any:
        if name == "vector":
            return [float(x) for x in held]
        return held if isinstance(held, str | int | float) else list(held)

    return {name: value(name, held) for name, held in dict(row).items() if name != "sparse"}
