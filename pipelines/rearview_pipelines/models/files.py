"""A folder that holds an encoder as ONNX: what stands in it, and whether it can be served.

model.onnx        the encoder, pooling and normalisation included
tokenizer.json    for the `tokenizers` library
basis.npy         late interaction only: the matrix that token vectors are reduced by
rearview.json     the facts below
"""

import json
from dataclasses import asdict, dataclass
from pathlib import Path

from rearview_pipelines.errors import SetupError

FORMAT = 1


@dataclass(frozen=True)
class ModelCard:
    """Facts of an exported encoder.

    `name`: what the user named it by. `digest`: of the weights, 16 hex digits. `kind`: embedder,
    reranker or late. `dimension`: of what it is kept as. `max_tokens`: longest input. `languages`:
    BCP 47, None for any. `query_prefix`, `document_prefix`: the prompts it was trained with.
    `precision`: int8 or fp32. `agreement`: the least cosine (embedder, late) or correlation (reranker)
    with the original, as measured at export; 1 where nothing was converted. `query_marker`,
    `document_marker`: ids of tokens put after the first. `marks`: special tokens of a query, which say
    nothing of it. `skip`: ids of tokens that no vector of a document is kept of.
    """

    name: str
    digest: str
    kind: str
    dimension: int
    max_tokens: int
    inputs: tuple[str, ...]
    precision: str
    agreement: float
    languages: tuple[str, ...] | None = None
    query_prefix: str = ""
    document_prefix: str = ""
    query_marker: int | None = None
    document_marker: int | None = None
    skip: tuple[int, ...] = ()
    marks: int = 0
    format: int = FORMAT

    @property
    def known_languages(self) -> frozenset[str] | None:
        """As the ports have it: None for any."""
        return None if self.languages is None else frozenset(self.languages)

    @property
    def identity(self) -> str:
        """What two vectors must share to be compared."""
        return f"{Path(self.name).name}@{self.digest}"


def write_card(folder: Path, card: ModelCard) -> None:
    (folder / "rearview.json").write_text(json.dumps(asdict(card), indent=1) + "\n")


def read_card(folder: Path, kind: str) -> ModelCard:
    """The card of an exported model. Raises SetupError if the folder holds none of this kind."""
    try:
        raw = json.loads((folder / "rearview.json").read_text())
        languages = raw.pop("languages")
        card = ModelCard(
            **(raw | {"inputs": tuple(raw["inputs"]), "skip": tuple(raw.get("skip", ()))}),
            languages=tuple(languages) if languages else None,
        )
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise SetupError(
            f"{folder} holds no exported model; write one with `rearview models export MODEL {folder}`"
        ) from error
    if card.kind != kind or card.format != FORMAT:
        raise SetupError(
            f"{folder} holds a {card.kind} of format {card.format}, not a {kind} of format {FORMAT}; export it again"
        )
    return card
