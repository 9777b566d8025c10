"""`rearview session`, `reflect`, `summarize`: working memory, and what is learned from what happened."""

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import typer

from rearview_pipelines.errors import InvalidInput
from rearview_serve.cli.backend import connected
from rearview_serve.cli.options import Data, Json, object_of
from rearview_serve.cli.output import REFUSED, emit, exit_codes, memory_lines, receipt_lines
from rearview_serve.settings import read_settings

session = typer.Typer(help="Working memory of a session.", no_args_is_help=True)


@session.command()
def start(
    id: str,
    goal: Annotated[str | None, typer.Option(help="What the session is for.")] = None,
    data: Data = None,
    as_json: Json = False,
) -> None:
    """Begin a session; shows memories that bear on its goal."""
    with exit_codes(as_json), connected(read_settings(data=data)) as backend:
        emit(backend.session("start", id, {"goal": goal} if goal else {}), as_json, _session_lines)


@session.command()
def show(id: str, data: Data = None, as_json: Json = False) -> None:
    """Show a session's state."""
    with exit_codes(as_json), connected(read_settings(data=data)) as backend:
        emit(backend.session("show", id, None), as_json, _session_lines)


session.command("get")(show)


@session.command()
def put(
    id: str,
    version: Annotated[int, typer.Option(help="The version that was read.")],
    state: Annotated[str, typer.Option(help="The whole state, as a JSON object.")],
    data: Data = None,
    as_json: Json = False,
) -> None:
    """Replace a session's state, if it is still at that version."""
    with exit_codes(as_json), connected(read_settings(data=data)) as backend:
        body = {"version": version, "state": object_of("state", state)}
        emit(backend.session("put", id, body), as_json, _session_lines)


@session.command()
def transcript(id: str, data: Data = None, as_json: Json = False) -> None:
    """Show a session's turns as kept, in order."""
    with exit_codes(as_json), connected(read_settings(data=data)) as backend:
        emit(backend.session("transcript", id, None), as_json, _turn_lines)


@session.command()
def end(
    id: str,
    outcome: Annotated[str | None, typer.Option(help="success, failure or partial.")] = None,
    data: Data = None,
    as_json: Json = False,
) -> None:
    """End a session: an episode, and the facts that were stated in it."""
    with exit_codes(as_json), connected(read_settings(data=data)) as backend:
        emit(backend.session("end", id, {"outcome": outcome} if outcome else {}), as_json, receipt_lines)


def summarize(
    session: Annotated[str | None, typer.Option(help="A session that was observed.")] = None,
    file: Annotated[Path | None, typer.Option(help="Or a text file.")] = None,
    store: Annotated[bool, typer.Option("--store", help="Remember the statements too.")] = False,
    data: Data = None,
    as_json: Json = False,
) -> None:
    """Up to ten statements worth keeping of a session or a text."""
    with exit_codes(as_json), connected(read_settings(data=data)) as backend:
        body: dict[str, Any] = {"store": store}
        if session is not None:
            body["session"] = session
        if file is not None:
            body["text"] = _read(file)
        emit(backend.summarize(body), as_json, _summary_lines)


def reflect(
    task: Annotated[str | None, typer.Option(help="One task.")] = None,
    task_type: Annotated[str | None, typer.Option(help="Or all tasks of a kind.")] = None,
    session: Annotated[str | None, typer.Option(help="Or a session.")] = None,
    data: Data = None,
    as_json: Json = False,
) -> None:
    """Distil rules from what happened; waits for the end."""
    with exit_codes(as_json), connected(read_settings(data=data)) as backend:
        body = {k: v for k, v in {"task": task, "task_type": task_type, "session": session}.items() if v}
        id_ = backend.reflect(body)["id"]
        found = backend.reflection(id_)
        while found["status"] in ("queued", "running"):
            found = backend.reflection(id_)
        if not as_json:
            found["texts"] = [backend.get(lesson) for lesson in found["lessons"]]
        emit(found, as_json, _reflection_lines)
        if found["status"] != "done":
            raise typer.Exit(REFUSED)


def _read(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidInput.one("file", f"{file} cannot be read ({type(error).__name__})", "name a text file") from error


def _session_lines(held: Any) -> Iterator[str]:
    yield f"{held['session']}  version {held['version']}, until {held['expires_at'][:16]}"
    for name, value in held["state"].items():
        if value:
            yield f"  {name}: {value if isinstance(value, str) else '; '.join(map(str, value))}"
    for seed in held.get("seeds") or ():
        yield from memory_lines(seed)


def _turn_lines(page: Any) -> Iterator[str]:
    for turn in page["turns"]:
        yield f"{turn['turn']}  {turn['role']}: {turn['text']}  ({turn['status']})"


def _summary_lines(answer: Any) -> Iterator[str]:
    for one in answer["statements"]:
        turns = f"  (turns {', '.join(map(str, one['turns']))})" if one["turns"] else ""
        yield f"{one['kind']}: {one['text']}{turns}"
    yield f"mode: {answer['mode']}"


def _reflection_lines(found: Any) -> Iterator[str]:
    yield f"{found['status']}, {found['mode']}: {len(found['lessons'])} lessons"
    for lesson in found["texts"]:
        yield from memory_lines(lesson)
    for name in ("errors", "improvements"):
        for text in found[name]:
            yield f"{name}: {text}"
    for reason, count in found["skipped"].items():
        yield f"skipped: {reason} ({count})"
    if found.get("error"):
        yield f"error: {found['error']}"
