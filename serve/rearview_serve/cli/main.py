"""`rearview`: the verbs. Each finds its backend, calls it once, prints what came back."""

import json
import sys
from collections.abc import Iterator
from typing import Annotated, Any

import typer

from rearview_pipelines.errors import InvalidInput, RearviewError
from rearview_serve.cli import evaluate, hindsight, lifecycle, models, tokens, transfer, trust
from rearview_serve.cli.backend import connected
from rearview_serve.cli.options import Data, Json, object_of
from rearview_serve.cli.output import REFUSED, emit, exit_codes, memory_lines, receipt_lines
from rearview_serve.settings import described, read_settings

app = typer.Typer(
    help="Long-term memory for AI agents.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    add_completion=False,
)
app.add_typer(tokens.app, name="token")
app.add_typer(models.app, name="models")
app.add_typer(trust.keys, name="keys")
app.command("eval")(evaluate.evaluate)
app.command()(trust.observe)
app.command()(trust.verify)
for verb in lifecycle.VERBS:
    app.command()(verb)
app.add_typer(hindsight.session, name="session")
app.command()(hindsight.summarize)
app.command()(hindsight.reflect)
app.command("export")(transfer.export)
app.command("import")(transfer.import_)


@app.command()
def up(
    data: Data = None,
    port: Annotated[int | None, typer.Option(help="Default REARVIEW_PORT or 8420.")] = None,
    no_sample: Annotated[bool, typer.Option("--no-sample", help="Do not write and ask the sample.")] = False,
) -> None:
    """Start the service on this machine and serve until Ctrl-C."""
    with exit_codes():
        from rearview_serve.up import run

        raise typer.Exit(run(read_settings(data=data, port=port), with_sample=not no_sample))


@app.command()
def write(
    text: str,
    kind: Annotated[str, typer.Option(help="fact, preference, decision, action, error, rule or note.")] = "note",
    tag: Annotated[list[str] | None, typer.Option(help="May be repeated.")] = None,
    key: Annotated[str | None, typer.Option(help="Stable name of a value that changes.")] = None,
    ref: Annotated[str | None, typer.Option(help="Your own name for it.")] = None,
    fields: Annotated[str | None, typer.Option(help="Any further fields, as a JSON object.")] = None,
    data: Data = None,
    as_json: Json = False,
) -> None:
    """Write one memory."""
    with exit_codes(as_json), connected(read_settings(data=data)) as backend:
        body = {"text": text, "kind": kind, "tags": tag or [], "key": key, "ref": ref} | object_of("fields", fields)
        answer = backend.write({k: v for k, v in body.items() if v is not None})
        emit(answer, as_json, receipt_lines)
        if any(receipt["id"] is None for receipt in answer["receipts"]):
            raise typer.Exit(REFUSED)


@app.command()
def recall(
    query: str,
    top_k: Annotated[int | None, typer.Option(help="1 to 100; default REARVIEW_TOP_K or 5.")] = None,
    mode: Annotated[str, typer.Option(help="hybrid, semantic, keyword or exact.")] = "hybrid",
    filters: Annotated[str | None, typer.Option(help="Filters, as a JSON object.")] = None,
    timezone: Annotated[str, typer.Option(help="IANA zone of times that the query names.")] = "UTC",
    as_of: Annotated[str | None, typer.Option(help="RFC 3339: what was held true then.")] = None,
    explain: Annotated[bool, typer.Option(help="Say why each was found.")] = False,
    data: Data = None,
    as_json: Json = False,
) -> None:
    """Recall the few memories that answer a query."""
    with exit_codes(as_json), connected(read_settings(data=data)) as backend:
        body = {"query": query, "mode": mode, "filters": object_of("filters", filters), "explain": explain}
        given = {"top_k": top_k, "as_of": as_of, "timezone": timezone}
        answer = backend.recall(body | {k: v for k, v in given.items() if v is not None})
        emit(answer, as_json, _recall_lines)


@app.command()
def feedback(
    id: str,
    recall_id: Annotated[str | None, typer.Option(help="The recall that handed it out.")] = None,
    used: Annotated[bool | None, typer.Option("--used/--unused", help="Whether it was used.")] = None,
    helpful: Annotated[bool | None, typer.Option("--helpful/--unhelpful", help="Whether it helped.")] = None,
    data: Data = None,
    as_json: Json = False,
) -> None:
    """Say what became of a memory that was recalled."""
    with exit_codes(as_json), connected(read_settings(data=data)) as backend:
        body = {"id": id, "recall_id": recall_id, "used": used, "helpful": helpful}
        answer = backend.feedback({k: v for k, v in body.items() if v is not None})
        emit(answer, as_json, lambda a: iter([f"{a['id']}: used {a['used']}, helpful {a['helpful']} times"]))


@app.command()
def get(id: str, data: Data = None, as_json: Json = False) -> None:
    """Show one memory."""
    with exit_codes(as_json), connected(read_settings(data=data)) as backend:
        emit(backend.get(id), as_json, memory_lines)


@app.command("list")
def list_(
    limit: Annotated[int, typer.Option(help="1 to 500.")] = 20,
    cursor: Annotated[str | None, typer.Option(help="next_cursor of the page before.")] = None,
    filter: Annotated[list[str] | None, typer.Option(help="NAME=VALUE; may be repeated.")] = None,
    data: Data = None,
    as_json: Json = False,
) -> None:
    """List memories, newest first."""
    with exit_codes(as_json), connected(read_settings(data=data)) as backend:
        query: dict[str, list[str]] = {"limit": [str(limit)]}
        if cursor:
            query["cursor"] = [cursor]
        for pair in filter or []:
            name, equals, value = pair.partition("=")
            if not equals:
                raise InvalidInput.one("filter", f"{pair!r} is not NAME=VALUE", "write for example tags=travel")
            query.setdefault(name, []).append(value)
        emit(backend.list_memories(query), as_json, _page_lines)


@app.command()
def stats(data: Data = None, as_json: Json = False) -> None:
    """Counts of memories by state, and the models in use."""
    with exit_codes(as_json), connected(read_settings(data=data)) as backend:
        emit(backend.stats(), as_json, lambda s: (f"{k}: {json.dumps(v)}" for k, v in s.items()))


@app.command()
def settings(as_json: Json = False) -> None:
    """Print every setting with value, default and meaning."""
    with exit_codes(as_json):
        emit(described(read_settings()), as_json, _setting_lines)


@app.command()
def mcp(data: Data = None) -> None:
    """Speak MCP on standard input and output; hands over to a service that owns the folder."""
    with exit_codes():
        from rearview_serve.cli.stdio import run

        run(read_settings(data=data))


def _recall_lines(answer: Any) -> Iterator[str]:
    for memory in answer["memories"]:
        yield from memory_lines(memory)
        if "explain" in memory:
            yield f"      {json.dumps(memory['explain'])}"
    if not answer["memories"]:
        yield "nothing found"
    if answer.get("explain"):
        yield f"explain: {json.dumps(answer['explain'], ensure_ascii=False)}"
        yield f"recall: {answer['recall_id']}"
    if answer["degraded"]:
        yield f"degraded: {', '.join(answer['degraded'])}"
    if any(answer["hidden"].values()):
        yield f"hidden: {', '.join(f'{n} by {what}' for what, n in answer['hidden'].items() if n)}"


def _page_lines(page: Any) -> Iterator[str]:
    for memory in page["memories"]:
        yield from memory_lines(memory)
    if page["next_cursor"]:
        yield f"more: --cursor {page['next_cursor']}"


def _setting_lines(rows: Any) -> Iterator[str]:
    for row in rows:
        yield f"{row['name']}={row['value']}"
        yield f"    {row['meaning']} Default: {row['default']}"


def main() -> None:
    """The entry of the console script."""
    try:
        app()
    except RearviewError as error:  # from a verb that has no clearer place for it
        print(f"rearview: {error.detail}", file=sys.stderr)
        raise SystemExit(REFUSED) from error


if __name__ == "__main__":
    main()
