"""`rearview export` and `import`: memories to and from NDJSON, streamed, with a bar over the bytes."""

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Annotated, Any, cast

import typer

from rearview_pipelines.errors import InvalidInput
from rearview_serve.cli.backend import connected
from rearview_serve.cli.options import Data, Json, object_of
from rearview_serve.cli.output import REFUSED, emit, exit_codes
from rearview_serve.settings import read_settings

_BAD = ("malformed", "bad_signature", "rejected")


def export(
    file: Annotated[Path | None, typer.Argument(help="Where to write; leave out for standard output.")] = None,
    filters: Annotated[str | None, typer.Option(help="Only what these find, as a JSON object.")] = None,
    data: Data = None,
    as_json: Json = False,
) -> None:
    """Write memories, hot and cold, as NDJSON under a signed manifest."""
    with exit_codes(as_json), connected(read_settings(data=data)) as backend:
        pieces = backend.export(object_of("filters", filters))
        if file is None:
            for piece in pieces:
                sys.stdout.buffer.write(piece)
            return
        count = 0
        partly = file.with_name(f"{file.name}.part")  # a file of that name is whole
        try:
            with partly.open("wb") as out:
                for piece in pieces:
                    out.write(piece)
                    count += piece.count(b"\n")
            partly.replace(file)
        except OSError as error:
            why = f"{file} cannot be written ({error.strerror})"
            raise InvalidInput.one("file", why, "name a file in a folder of yours") from error
        done = {"file": str(file), "memories": max(0, count - 1)}
        emit(done, as_json, lambda d: iter([f"{d['file']}: {d['memories']} memories"]))


def import_(file: Path, data: Data = None, as_json: Json = False) -> None:
    """Write the memories of an NDJSON file, one a line. Running it again is harmless; exit code 1 if a line was bad."""
    with exit_codes(as_json), connected(read_settings(data=data)) as backend:
        try:
            size, source = file.stat().st_size, file.open("rb")
        except OSError as error:
            why = f"{file} cannot be read ({error.strerror})"
            raise InvalidInput.one("file", why, "name an NDJSON file") from error
        hidden = as_json or not sys.stderr.isatty()
        with source, typer.progressbar(length=size, label="importing", file=sys.stderr, hidden=hidden) as bar:
            report = backend.import_(cast(IO[bytes], _Watched(source, bar.update)))
        emit(report, as_json, _lines)
        if any(report.get(name) for name in _BAD) or report["complete"] is False:
            raise typer.Exit(REFUSED)


class _Watched:
    """A file that tells how much of it was read."""

    def __init__(self, file: IO[bytes], told: Any) -> None:
        self._file = file
        self._told = told

    def read(self, size: int = -1) -> bytes:
        chunk = self._file.read(size)
        self._told(len(chunk))
        return chunk


def _lines(report: Any) -> Iterator[str]:
    for name, value in report.items():
        if name == "errors":
            for error in value:
                yield f"  line {error['line']}: {error['message']}; {error['remedy']}"
        elif name == "complete":
            if value is False:
                yield "the export was cut: lines are missing at its end, or were taken out"
        else:
            yield f"{name}: {value if isinstance(value, str) else json.dumps(value)}"
