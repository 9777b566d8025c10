"""Options that most commands have."""

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from rearview_pipelines.errors import InvalidInput

Json = Annotated[bool, typer.Option("--json", help="Print the REST object.")]
Data = Annotated[Path | None, typer.Option("--data", help="The data folder; default REARVIEW_DATA or .rearview.")]


def object_of(name: str, text: str | None) -> dict[str, Any]:
    """The JSON object of an option; empty where it was not given. Raises InvalidInput."""
    if text is None:
        return {}
    try:
        value = json.loads(text)
    except ValueError as error:
        raise InvalidInput.one(name, "is not JSON", 'write for example {"tags": ["travel"]}') from error
    if not isinstance(value, dict):
        raise InvalidInput.one(name, "is not a JSON object", 'write for example {"tags": ["travel"]}')
    return value
