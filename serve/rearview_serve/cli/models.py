"""`rearview models`: write encoders as ONNX."""

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from rearview_pipelines.errors import InvalidInput
from rearview_pipelines.models.export import cached, export
from rearview_serve.cli.output import emit, exit_codes
from rearview_serve.settings import models_of, read_settings

app = typer.Typer(help="Models.", no_args_is_help=True)
Json = Annotated[bool, typer.Option("--json", help="Print the model's card.")]
KINDS = ("embedder", "reranker", "late")


@app.command("export")
def export_(
    model: Annotated[str, typer.Argument(help="A name or path as sentence-transformers takes it.")],
    directory: Annotated[Path, typer.Argument(metavar="DIR")],
    kind: Annotated[str, typer.Option(help="embedder, reranker or late (late interaction).")] = "embedder",
    as_json: Json = False,
) -> None:
    """Write MODEL to DIR as ONNX, checked against the original."""
    with exit_codes(as_json):
        if kind not in KINDS:
            raise InvalidInput.one("kind", f"{kind!r} is not a kind", f"send one of {', '.join(KINDS)}")
        card = export(kind, model, directory)
        emit(
            asdict(card),
            as_json,
            lambda c: iter([f"{directory}: {c['precision']}, agreement {c['agreement']} with the original"]),
        )


@app.command()
def prepare() -> None:
    """Write the configured models to the cache, unless they are there."""
    with exit_codes():
        settings = read_settings()
        for kind, model in models_of(settings):
            print(f"{kind} {model}: {cached(kind, model, settings.models)}")
