"""Options that most commands have."""

from pathlib import Path
from typing import Annotated

import typer

Json = Annotated[bool, typer.Option("--json", help="Print the REST object.")]
Data = Annotated[Path | None, typer.Option("--data", help="The data folder; default REARVIEW_DATA or .rearview.")]
