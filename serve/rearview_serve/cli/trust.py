"""`rearview observe`, `verify` and `keys`: turns in, everything checked, keys rotated."""

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import typer

from rearview_serve.cli import ndjson
from rearview_serve.cli.backend import connected
from rearview_serve.cli.options import Data, Json
from rearview_serve.cli.output import REFUSED, emit, exit_codes, receipt_lines
from rearview_serve.settings import read_settings

keys = typer.Typer(help="Signing keys.", invoke_without_command=True)


@keys.callback()
def _keys(context: typer.Context, data: Data = None, as_json: Json = False) -> None:
    """Signing keys; alone it lists them."""
    if context.invoked_subcommand is None:
        list_(data, as_json)


def observe(
    file: Path,
    session: Annotated[str, typer.Option(help="The session that the turns belong to.")],
    task: Annotated[str | None, typer.Option(help="The task that they are about.")] = None,
    data: Data = None,
    as_json: Json = False,
) -> None:
    """Observe the turns of an NDJSON file, one a line: what is worth it is remembered."""
    with exit_codes(as_json), connected(read_settings(data=data)) as backend:
        body = {"session": session, "turns": [turn for _, turn in ndjson.values(file, "observe")]} | (
            {"task": task} if task else {}
        )
        answer = backend.observe(body)
        emit(answer, as_json, receipt_lines)
        if all(receipt["status"] == "rejected" for receipt in answer["receipts"]):
            raise typer.Exit(REFUSED)


def verify(data: Data = None, as_json: Json = False) -> None:
    """Check every memory and the whole ledger; exit code 1 if anything is not as it was written."""
    with exit_codes(as_json), connected(read_settings(data=data)) as backend:
        report = backend.verify()
        emit(report, as_json, _findings)
        if not report["ok"]:
            raise typer.Exit(REFUSED)


@keys.command("list")
def list_(data: Data = None, as_json: Json = False) -> None:
    """List signing keys by id and state."""
    with exit_codes(as_json), connected(read_settings(data=data)) as backend:
        emit(backend.keys(), as_json, lambda k: (f"{key['kid']}  {key['state']}" for key in k["keys"]))


@keys.command()
def rotate(data: Data = None, as_json: Json = False) -> None:
    """Make a new active key; the old one goes on verifying, and memories are signed anew."""
    with exit_codes(as_json), connected(read_settings(data=data)) as backend:
        emit(backend.rotate_key(), as_json, lambda k: iter([f"{k['kid']}  {k['state']}"]))


@keys.command()
def revoke(kid: str, data: Data = None, as_json: Json = False) -> None:
    """Trust a key no more."""
    with exit_codes(as_json), connected(read_settings(data=data)) as backend:
        emit(backend.revoke_key(kid), as_json, lambda k: iter([f"{k['kid']}  {k['state']}"]))


def _findings(report: Any) -> Iterator[str]:
    yield f"{'ok' if report['ok'] else 'NOT OK'}: {report['checked']} memories checked"
    for finding in report["findings"]:
        yield f"{finding['kind']}  {finding['id']}"
