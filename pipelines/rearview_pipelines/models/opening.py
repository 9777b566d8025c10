"""The embedder of a service: from its exported folders, whole, or only what others have to know of it."""

from dataclasses import dataclass
from pathlib import Path

from rearview_pipelines.models.embedder import OnnxEmbedder
from rearview_pipelines.models.files import ModelCard, read_card
from rearview_pipelines.models.joined import JoinedEmbedder, joined_languages, joined_name
from rearview_pipelines.models.late import LateEncoder
from rearview_pipelines.models.nano import NANO, NanoEmbedder
from rearview_pipelines.ports import Embedder


@dataclass(frozen=True)
class Facts:
    """What an embedder is, without loading it."""

    name: str
    dimension: int
    languages: frozenset[str] | None


def open_embedder(
    folder: Path, other: Path | None, threads: int, late: LateEncoder | None, *, gentle: bool = False
) -> Embedder:
    """`gentle`: beside whatever else runs.

    `other`: of the model for languages that the first does not know; None for none. Raises SetupError.
    """
    first = OnnxEmbedder(folder, threads, late, gentle=gentle)
    if other is None:
        return first
    nano = read_card(other, "embedder").name == NANO
    return JoinedEmbedder(first, NanoEmbedder(other) if nano else OnnxEmbedder(other, threads))


def facts_of(folder: Path, other: Path | None) -> Facts:
    """The same from the cards alone."""
    first = _facts(read_card(folder, "embedder"))
    if other is None:
        return first
    second = _facts(read_card(other, "embedder"))
    return Facts(
        joined_name(first.name, second.name),
        first.dimension + second.dimension,
        joined_languages(first.languages, second.languages),
    )


def _facts(card: ModelCard) -> Facts:
    return Facts(card.identity, card.dimension, card.known_languages)
