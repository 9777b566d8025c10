"""How commands speak: plain lines or JSON on standard output, errors on standard error, exit codes."""

import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import typer

from rearview_pipelines.errors import InvalidInput, RearviewError, Unavailable
from rearview_serve.errors import status_of
from rearview_serve.wire import problem

REFUSED, USAGE, UNREACHABLE = 1, 2, 3


def emit(value: Any, as_json: bool, lines: Callable[[Any], Iterator[str]]) -> None:
    """Print a REST object, as JSON or by `lines`."""
    if as_json:
        print(json.dumps(value, ensure_ascii=False))
    else:
        for line in lines(value):
            print(line)


@contextmanager
def exit_codes(as_json: bool = False) -> Iterator[None]:
    """Turn our errors into one clear message and the code of the contract."""
    try:
        yield
    except RearviewError as error:
        if as_json:
            print(json.dumps(problem(error, status_of(error)), ensure_ascii=False), file=sys.stderr)
        else:
            print(f"rearview: {error.detail}", file=sys.stderr)
            for field in error.errors:
                print(f"  {field.field}: {field.remedy}", file=sys.stderr)
        raise typer.Exit(_code(error)) from error


def _code(error: RearviewError) -> int:
    if isinstance(error, Unavailable):
        return UNREACHABLE
    return USAGE if isinstance(error, InvalidInput) else REFUSED


def memory_lines(memory: dict[str, Any]) -> Iterator[str]:
    head = f"{memory['score']:.2f}  " if "score" in memory else ""
    marks = [memory["kind"], *(f"#{tag}" for tag in memory["tags"])]
    if memory.get("ref"):
        marks.append(f"ref {memory['ref']}")
    yield f"{head}{memory['text']}"
    yield f"      {memory['id']}  {memory['created_at'][:10]}  {' '.join(marks)}"


def receipt_lines(answer: Any) -> Iterator[str]:
    """What became of each memory, and why."""
    for receipt in answer["receipts"]:
        notes = [*receipt["reasons"], *(f"{n} {entity} scrubbed" for entity, n in receipt["redactions"].items())]
        yield f"{receipt['status']}  {receipt['id'] or '-'}" + (f"  ({', '.join(notes)})" if notes else "")
