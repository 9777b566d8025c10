"""Ray and the application on it, on loopback, for as long as a `with` block."""

import asyncio
import logging
import os
import secrets
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from rearview_pipelines.errors import SetupError
from rearview_serve.arguments import AppArguments
from rearview_serve.settings import Settings

OBJECT_STORE_BYTES = 200 * 2**20
"""Ray's minimum for comfort: we pass vectors between processes, never large objects."""


@contextmanager
def running(
    settings: Settings,
    logs: Path,
    runtime: Path,
    arguments: AppArguments,
    started: Callable[[], None],
    say: Callable[[str], None],
) -> Iterator[None]:
    """Ray and the application on it; their files lie in `runtime`.

    `started` waits for Milvus, which starts at the same time: the replicas need it.
    """
    from rearview_serve import haproxy

    os.environ.update(haproxy.environment(runtime))
    os.environ.update(
        RAY_USAGE_STATS_ENABLED="0",
        RAY_worker_niceness="0",
        RAY_ROTATION_MAX_BYTES=str(settings.log_bytes),
        RAY_ROTATION_BACKUP_COUNT=str(settings.log_files),
        RAY_DEDUP_LOGS="0",
        RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO="0",
        # Ray's processes listen on every address and have no setting for that: let none in without
        # a token that lives as long as they do.
        RAY_AUTH_MODE="token",
        RAY_AUTH_TOKEN=secrets.token_urlsafe(32),
        OMP_NUM_THREADS="1",
        GRPC_VERBOSITY="NONE",
    )
    import ray
    from ray import serve
    from ray.serve.config import HTTPOptions
    from ray.serve.schema import LoggingConfig

    from rearview_serve.app import build

    ray.init(
        address="local",
        num_cpus=max(os.cpu_count() or 1, 2),
        include_dashboard=False,
        object_store_memory=OBJECT_STORE_BYTES,
        log_to_driver=False,
        logging_level=logging.ERROR,
        _node_ip_address=_loopback(),
        _temp_dir=str(runtime / "ray"),
    )
    try:
        started()
        say("Ray Serve: deploying Write, Embed, Rerank, Recall, Reflect")
        logging_config = LoggingConfig(
            logs_dir=str(logs / "serve"), log_level=settings.log_level, enable_access_log=False
        )
        serve.start(http_options=HTTPOptions(host=settings.host, port=settings.port), logging_config=logging_config)
        try:
            serve.run(build(arguments), name="rearview", route_prefix="/", logging_config=logging_config)
        except RuntimeError as error:  # Serve's word for: a replica did not start
            asyncio.run(load_store(arguments))  # says why, if the store is why
            raise SetupError(f"a part did not start; see {logs / 'serve'}") from error
        yield
    finally:
        say("Ray: ending")
        # Nothing to drain: what was acknowledged is stored, and Serve's own way takes 30 s.
        ray.shutdown()


async def load_store(arguments: AppArguments) -> None:
    """Open the store as a replica does: loads its collection, or says here what is wrong with it.

    Raises SetupError, Unavailable.
    """
    from rearview_serve.replicas import open_index

    index = await open_index(arguments, create=True)
    await index.close()


def _loopback() -> str | None:
    """An address of loopback that Ray takes: it replaces 127.0.0.1 by the machine's own on Linux."""
    return "127.0.0.2" if sys.platform == "linux" else None
