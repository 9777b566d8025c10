"""A real S3 server on loopback for tests: SeaweedFS, started once a session and ended by its process id."""

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import boto3
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError

from rearview_pipelines.stores.s3_options import S3Options
from rearview_serve.milvus_process import free_port

KEY, SECRET = "rearviewtest", "rearviewtestsecret"
READY_SECONDS = 60.0
WEED = Path(sys.executable).parent / "weed"


def client(options: S3Options):
    return boto3.client(
        "s3",
        endpoint_url=options.endpoint,
        region_name="us-east-1",
        aws_access_key_id=KEY,
        aws_secret_access_key=SECRET,
        config=Config(s3={"addressing_style": "path"}, retries={"max_attempts": 1}),
    )


def make(options: S3Options, **how: bool) -> None:
    """The bucket, unless it is there."""
    made = client(options)
    if options.bucket not in [bucket["Name"] for bucket in made.list_buckets()["Buckets"]]:
        made.create_bucket(Bucket=options.bucket, **how)


@contextmanager
def seaweed(folder: Path) -> Iterator[str]:
    """The endpoint of a server over `folder`."""
    identity = {
        "name": "test",
        "credentials": [{"accessKey": KEY, "secretKey": SECRET}],
        "actions": ["Admin", "Read", "Write", "List", "Tagging"],
    }
    weak = {
        "name": "weak",
        "credentials": [{"accessKey": "weak", "secretKey": "weaksecret"}],
        "actions": ["Read:elsewhere"],
    }
    config = folder / "s3.json"
    config.write_text(json.dumps({"identities": [identity, weak]}))
    (folder / "data").mkdir()
    ports = {name: free_port() for name in ("master", "volume", "filer", "s3")}
    command = [
        str(WEED), "server", "-ip", "127.0.0.1", "-ip.bind", "127.0.0.1", "-dir", str(folder / "data"), "-s3",
        "-s3.config", str(config), "-filer", "-volume.max", "64", "-master.volumeSizeLimitMB", "64",
        *(argument for name, port in ports.items() for argument in (f"-{name}.port", str(port))),
        *(argument for name in ports for argument in (f"-{name}.port.grpc", str(free_port()))),
    ]  # fmt: skip
    endpoint = f"http://127.0.0.1:{ports['s3']}"
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT, cwd=folder)
    try:
        _wait(endpoint, process, folder / "log")
        yield endpoint
    finally:
        process.terminate()
        try:
            process.wait(2)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _wait(endpoint: str, process: subprocess.Popen[bytes], log: Path) -> None:
    end = time.monotonic() + READY_SECONDS
    while time.monotonic() < end:
        assert process.poll() is None, log.read_text(errors="replace")[-2000:]
        try:
            client(S3Options("first", endpoint=endpoint)).create_bucket(Bucket="first")
            return
        except (BotoCoreError, ClientError):
            time.sleep(0.2)
    raise AssertionError(f"the S3 server did not start: {log.read_text(errors='replace')[-2000:]}")
