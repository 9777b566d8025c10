"""`rearview token`: make, list and revoke tokens on the machine of the data folder."""

from pathlib import Path
from typing import Annotated

import typer

from rearview_serve.auth import TokenStore
from rearview_serve.cli.options import Data, Json
from rearview_serve.cli.output import emit, exit_codes
from rearview_serve.settings import read_settings

app = typer.Typer(help="Tokens of this data folder.", no_args_is_help=True)


def _store(data: Path | None) -> TokenStore:
    folder = read_settings(data=data).data
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    return TokenStore(folder)


@app.command()
def create(
    tenant: Annotated[str, typer.Option(help="Whose memories.")] = "default",
    role: Annotated[str, typer.Option(help="reader, writer or admin.")] = "writer",
    agent: Annotated[str | None, typer.Option(help="Fix the agent; leave out to leave it open.")] = None,
    user: Annotated[str | None, typer.Option(help="Fix the user; leave out to leave it open.")] = None,
    right: Annotated[list[str] | None, typer.Option(help="share or reveal; may be repeated.")] = None,
    data: Data = None,
    as_json: Json = False,
) -> None:
    """Make a token. It is shown this once; a running service knows it within 5 seconds."""
    with exit_codes(as_json):
        token, record = _store(data).create(tenant, role, agent, user, tuple(right or ()))
        emit({"token": token, "id": record.id}, as_json, lambda t: iter([f"{t['token']}  ({t['id']})"]))


@app.command("list")
def list_(data: Data = None, as_json: Json = False) -> None:
    """List tokens, without the tokens themselves."""
    with exit_codes(as_json):
        rows = {"tokens": [record.public() for record in _store(data).list_tokens()]}
        emit(
            rows,
            as_json,
            lambda r: (
                f"{t['id']}  {t['role']}  tenant {t['tenant']}  agent {t['agent'] or '(open)'}  "
                f"user {t['user'] or '(open)'}  {' '.join(t['rights'])}"
                for t in r["tokens"]
            ),
        )


@app.command()
def revoke(id: str, data: Data = None, as_json: Json = False) -> None:
    """Revoke a token by its id."""
    with exit_codes(as_json):
        _store(data).revoke(id)
        emit({"revoked": id}, as_json, lambda r: iter([f"revoked: {r['revoked']}"]))
