"""Files of one JSON value a line."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from rearview_pipelines.errors import InvalidInput


def values(file: Path, verb: str, read: Callable[[int], object] = lambda _: None) -> Iterator[tuple[int, Any]]:
    """(line number from 1, value) of each line that is not blank. `read` is told the bytes of every line.

    Raises InvalidInput naming the file or the line. `verb`: what to do again once it is mended.
    """
    try:
        lines = file.open(encoding="utf-8")
    except OSError as error:
        raise InvalidInput.one("file", f"{file} cannot be read ({error.strerror})", "name an NDJSON file") from error
    with lines:
        try:
            for number, line in enumerate(lines, 1):
                read(len(line.encode()))
                if line.strip():
                    yield number, _value(number, line, verb)
        except UnicodeDecodeError as error:
            raise InvalidInput.one("file", f"{file} is not UTF-8", f"save it as UTF-8 and {verb} again") from error


def _value(number: int, line: str, verb: str) -> Any:
    try:
        return json.loads(line)
    except ValueError as error:
        raise InvalidInput.one(f"line {number}", "is not JSON", f"correct it and {verb} again") from error
