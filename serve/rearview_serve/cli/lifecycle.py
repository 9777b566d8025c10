"""`rearview forget`, `sweep`, `snapshot`, `restore`, `purge`: long work is begun, watched to its end, and reported."""

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import typer

from rearview_pipelines.errors import InvalidInput
from rearview_serve.cli.backend import Backend, connected
from rearview_serve.cli.options import Data, Json, object_of
from rearview_serve.cli.output import REFUSED, emit, exit_codes
from rearview_serve.settings import read_settings


def forget(
    ids: Annotated[list[str] | None, typer.Argument(help="Memories by id.")] = None,
    session: Annotated[str | None, typer.Option(help="All of a session, its transcript too.")] = None,
    last_turns: Annotated[int | None, typer.Option(help="With --session: only its newest turns.")] = None,
    user: Annotated[str | None, typer.Option(help="All that is kept of a user.")] = None,
    filters: Annotated[str | None, typer.Option(help="What these filters find, as a JSON object.")] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what would be forgotten.")] = False,
    wait: Annotated[bool, typer.Option(help="Wait until the bytes are gone too.")] = True,
    data: Data = None,
    as_json: Json = False,
) -> None:
    """Forget memories: by id, session, user or filters. Exactly one of them is needed."""
    with exit_codes(as_json), connected(read_settings(data=data)) as backend:
        scope: dict[str, Any] = {"ids": ids or None, "session": session, "last_turns": last_turns, "user": user}
        scope["filters"] = object_of("filters", filters) if filters is not None else None
        body = {k: v for k, v in scope.items() if v is not None} | ({"dry_run": True} if dry_run else {})
        report = backend.forget(body)
        job = report["purge"]["job"]
        if wait and job:
            ended = _watched(backend, job, as_json)
            report["purge"]["status"] = ended["status"]
            report["kept_until"] |= ended["detail"].get("kept_until", {})
        emit(report, as_json, _forgotten_lines)
        if report["purge"]["status"] == "failed":
            raise typer.Exit(REFUSED)


def sweep(
    force: Annotated[
        bool, typer.Option("--force", help="However long ago the last one was: the clock is right.")
    ] = False,
    data: Data = None,
    as_json: Json = False,
) -> None:
    """Forget what is over, archive what faded, merge near-duplicates, remove what is old."""
    _run({"kind": "sweep"} | ({"force": True} if force else {}), data, as_json)


def snapshot(data: Data = None, as_json: Json = False) -> None:
    """Write all memories, hot and cold, to a snapshot in the object store."""
    _run({"kind": "snapshot"}, data, as_json)


def restore(
    snapshot: Annotated[str, typer.Argument(help="Its name, or `latest`.")] = "latest",
    data: Data = None,
    as_json: Json = False,
) -> None:
    """Put back what a snapshot holds and the store has lost; what was forgotten stays forgotten."""
    _run({"kind": "restore", "snapshot": snapshot}, data, as_json)


def migrate(
    model: Annotated[str | None, typer.Argument(help="The model to move to: a name, or an exported folder.")] = None,
    rollback: Annotated[bool, typer.Option("--rollback", help="Take the last one back.")] = False,
    finish: Annotated[bool, typer.Option("--finish", help="Let go of what was kept for the way back.")] = False,
    agreement: Annotated[
        float | None, typer.Option(help="Least share that both models find alike; below it nothing is switched.")
    ] = None,
    data: Data = None,
    as_json: Json = False,
) -> None:
    """Move to another embedding model in place; the service answers all the while."""
    with exit_codes(as_json):
        named = {"model": model, "rollback": rollback or None, "finish": finish or None}
        if sum(value is not None for value in named.values()) != 1:
            raise InvalidInput.one("model", "name a model, or --rollback, or --finish", "send exactly one of them")
        _run({"kind": "migrate", "agreement": agreement, **named}, data, as_json)
        if model is not None and not as_json:
            print(f"From the next start on: REARVIEW_EMBED_MODEL={model}. The way back: rearview migrate --rollback.")


def reindex(data: Data = None, as_json: Json = False) -> None:
    """Write the index anew from what it holds and the ledger knows."""
    _run({"kind": "reindex"}, data, as_json)


def purge(data: Data = None, as_json: Json = False) -> None:
    """Write anew what still holds the bytes of forgotten memories. Forgetting begins one by itself."""
    _run({"kind": "purge"}, data, as_json)


def _run(body: dict[str, Any], data: Path | None, as_json: bool) -> None:
    body = {name: value for name, value in body.items() if value is not None}
    with exit_codes(as_json), connected(read_settings(data=data)) as backend:
        job = _watched(backend, backend.start_job(body)["id"], as_json)
        emit(job, as_json, _job_lines)
        if job["status"] != "done":
            raise typer.Exit(REFUSED)


def _watched(backend: Backend, id_: str, as_json: bool) -> Any:
    """A job at its end; meanwhile a bar says how far it is."""
    job = backend.job(id_)
    with typer.progressbar(
        length=max(job["total"], 1), label=job["kind"], file=None if as_json else sys.stderr, hidden=as_json
    ) as bar:
        shown = 0
        while job["status"] in ("queued", "running"):
            bar.length = max(job["total"], 1)
            bar.update(max(0, min(job["done"], bar.length) - shown))
            shown = max(shown, job["done"])
            job = backend.job(id_)
    return job


def _forgotten_lines(report: Any) -> Iterator[str]:
    if report["dry_run"]:
        yield f"would be forgotten: {len(report['ids'])}"
        yield from (f"      {id_}" for id_ in report["ids"])
        return
    yield f"forgotten: {report['forgotten']}"
    where = ", ".join(f"{n} {place}" for place, n in report["places"].items() if n)
    if where:
        yield f"in: {where}"
    if report["purge"]["job"]:
        yield f"bytes: {'gone' if report['purge']['status'] == 'done' else report['purge']['status']}"
    for place, until in report["kept_until"].items():
        yield f"kept by a lock in {place} until {until}"


def _job_lines(job: Any) -> Iterator[str]:
    yield f"{job['kind']}: {job['status']}"
    for name, value in job["detail"].items():
        yield f"  {name}: {value if isinstance(value, str | int | float) else json.dumps(value)}"


VERBS = (forget, sweep, snapshot, restore, migrate, reindex, purge)
