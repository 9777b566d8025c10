"""Fixtures: the fakes of the domain, and the real parts, each started once a session."""

import os
import secrets
import socket
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest

from rearview_pipelines.ledger.ledger import Ledger
from rearview_pipelines.models.export import PACKAGED, cached
from rearview_pipelines.principal import Principal, Role
from rearview_pipelines.privacy.policy import Policy
from rearview_pipelines.privacy.scrub import Scrubber
from rearview_pipelines.recall.pipeline import RecallPipeline
from rearview_pipelines.service import MemoryService, Trust
from rearview_pipelines.stores.cold import ColdStore
from rearview_pipelines.stores.milvus import MilvusIndex
from rearview_pipelines.stores.s3_options import S3Options
from rearview_pipelines.stores.tiers import TieredIndex
from rearview_pipelines.testing import DIMENSION, FakeClock, HashEmbedder, MemoryIndexInMemory, ObjectStoreInMemory
from rearview_pipelines.write.item import Tools
from rearview_pipelines.write.keys import KeyRing, load_or_create
from rearview_pipelines.write.writer import Writer
from rearview_serve.milvus_process import MilvusProcess, free_port
from rearview_serve.settings import Settings
from tests import s3_server

START_SECONDS = 120.0
STOP_SECONDS = 60.0


@pytest.fixture(scope="session")
def ring(tmp_path_factory: pytest.TempPathFactory) -> KeyRing:
    return load_or_create(tmp_path_factory.mktemp("keys"))


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def embedder() -> HashEmbedder:
    return HashEmbedder()


@pytest.fixture
def index() -> MemoryIndexInMemory:
    return MemoryIndexInMemory()


@pytest.fixture
def objects() -> ObjectStoreInMemory:
    return ObjectStoreInMemory()


@pytest.fixture
def ledger(objects: ObjectStoreInMemory, ring: KeyRing, clock: FakeClock) -> Ledger:
    return Ledger(objects, ring, None, clock.now)


@pytest.fixture
def service(
    index: MemoryIndexInMemory,
    objects: ObjectStoreInMemory,
    embedder: HashEmbedder,
    ring: KeyRing,
    clock: FakeClock,
    ledger: Ledger,
) -> MemoryService:
    """The whole domain over fakes."""
    cold = ColdStore(objects, ring, lambda: ledger.head)
    tiers = TieredIndex(index, cold)
    writer = Writer(Tools(tiers, embedder, ring, clock, ledger, Scrubber(Policy(), ring), cold=cold))
    recaller = RecallPipeline(tiers, embedder, None, ring, clock, ledger, cold=cold)
    return MemoryService(writer, recaller, tiers, embedder, None, floor=0.0, trust=Trust(ring, ledger), clock=clock)


@pytest.fixture
def admin() -> Principal:
    return Principal("default", Role.ADMIN, id="tok_admin")


@pytest.fixture(scope="session")
def milvus_uri(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A real Milvus Lite server on loopback."""
    folder = tmp_path_factory.mktemp("milvus")
    with (folder / "log").open("wb") as log, MilvusProcess(folder / "data", log) as process:
        process.wait()
        yield process.uri


@pytest.fixture
async def milvus(milvus_uri: str) -> AsyncIterator[MilvusIndex]:
    """The real index; tests keep apart by tenant."""
    found = await MilvusIndex.open(milvus_uri, model="fake-hash", dimension=DIMENSION)
    yield found
    await found.close()


@pytest.fixture(scope="session")
def s3(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The endpoint of a real S3 server on loopback."""
    with s3_server.seaweed(tmp_path_factory.mktemp("s3")) as endpoint:
        yield endpoint


def _options(endpoint: str, bucket: str) -> S3Options:
    return S3Options(
        bucket,
        prefix=secrets.token_hex(4),  # tests keep apart by it
        endpoint=endpoint,
        access_key=s3_server.KEY,
        secret_key=s3_server.SECRET,
        retries=1,
    )


@pytest.fixture
def bucket(s3: str) -> S3Options:
    return _options(s3, "first")


@pytest.fixture
def versioned(s3: str) -> S3Options:
    options = _options(s3, "versioned")
    s3_server.make(options)
    s3_server.client(options).put_bucket_versioning(Bucket="versioned", VersioningConfiguration={"Status": "Enabled"})
    return options


@pytest.fixture
def locked(s3: str) -> S3Options:
    options = _options(s3, "locked")
    s3_server.make(options, ObjectLockEnabledForBucket=True)
    return options


@pytest.fixture(scope="session")
def model_folder() -> Path:
    """The packaged embedding model as ONNX, from the user's cache."""
    return cached("embedder", PACKAGED, Settings().models)


@dataclass(frozen=True)
class Service:
    """A real service: a process of `rearview up`, and how to reach it."""

    process: subprocess.Popen[str]
    url: str
    token: str
    data: Path

    @property
    def headers(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.token}"}

    def client(self, token: str | None = None) -> httpx.Client:
        headers = {"Authorization": f"Bearer {token or self.token}"}
        return httpx.Client(base_url=self.url, headers=headers, timeout=30, trust_env=False)


def rearview(*arguments: str, data: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run the command line to its end."""
    return subprocess.run(
        [sys.executable, "-m", "rearview_serve.cli.main", *arguments],
        env=os.environ | {"REARVIEW_DATA": str(data)} | environment,
        capture_output=True,
        text=True,
        timeout=120,
    )


@contextmanager
def started(data: Path, *arguments: str, **environment: str) -> Iterator[Service]:
    """`rearview up` until it answers; ended like by Ctrl-C."""
    port = free_port()
    log = data.parent / f"{data.name}.out"
    with log.open("w") as out:
        process = subprocess.Popen(
            [sys.executable, "-m", "rearview_serve.cli.main", "up", *arguments],
            env=os.environ | {"REARVIEW_DATA": str(data), "REARVIEW_PORT": str(port)} | environment,
            stdout=out,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )
    try:
        wait_for(lambda: "Serving." in log.read_text() or process.poll() is not None, START_SECONDS)
        assert process.poll() is None, log.read_text()
        token = (data / "token").read_text().strip()
        yield Service(process, f"http://127.0.0.1:{port}", token, data)
    finally:
        if process.poll() is None:
            process.send_signal(2)
        process.wait(STOP_SECONDS)


def wait_for(condition: Callable[[], bool], seconds: float) -> None:
    """Wait until a condition holds; fail when it does not in time."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, f"not within {seconds} s"
        time.sleep(0.05)


def port_open(port: int) -> bool:
    with socket.socket() as probe:
        probe.settimeout(0.5)
        return probe.connect_ex(("127.0.0.1", port)) == 0


@pytest.fixture(scope="session")
def live(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """The service on real Ray Serve, real Milvus Lite and the real model; with the sample in it."""
    with started(tmp_path_factory.mktemp("live") / "data") as service:
        yield service
