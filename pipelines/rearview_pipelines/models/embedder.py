"""The embedder that runs in this process, on an exported ONNX folder."""

import asyncio
import os
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import numpy as np

from rearview_pipelines.models.encoder import Encoder, windows
from rearview_pipelines.models.late import LateEncoder
from rearview_pipelines.ports import EmbeddedPart, Passage, Tokens, Vector

PART_TOKENS = 256
"""A text with more tokens is embedded in parts of this size."""
OVERLAP_TOKENS = 48
"""What two neighbouring parts share, so that no sentence is cut in both."""


class OnnxEmbedder:
    """`Embedder` over one encoder. Queries have a thread of their own: they never wait for writes.

    `late`: makes token vectors beside, on a core of their own. `gentle`: documents are embedded when nothing else
    wants the processor, as a store that moves to another model does beside recalls.
    """

    def __init__(
        self, folder: Path, threads: int = 1, late: LateEncoder | None = None, *, gentle: bool = False
    ) -> None:
        self._encoder = Encoder(folder, "embedder", threads)
        self._late = late
        self._tokens = ThreadPoolExecutor(1, thread_name_prefix="embed-tokens")
        self._queries = ThreadPoolExecutor(1, thread_name_prefix="embed-query")
        self._documents = ThreadPoolExecutor(
            1, thread_name_prefix="embed-document", initializer=_step_back if gentle else None
        )

    @property
    def name(self) -> str:
        return self._encoder.card.identity

    @property
    def dimension(self) -> int:
        return self._encoder.card.dimension

    @property
    def languages(self) -> frozenset[str] | None:
        return self._encoder.card.known_languages

    async def documents(self, passages: Sequence[Passage]) -> list[tuple[EmbeddedPart, ...]]:
        loop = asyncio.get_running_loop()
        spans = await loop.run_in_executor(self._documents, lambda: [self._spans(p) for p in passages])
        texts = [
            f"{self._encoder.card.document_prefix}{passage.context}{passage.text[start:end]}"
            for passage, of_passage in zip(passages, spans, strict=True)
            for start, end in of_passage
        ]
        if not texts:
            return [() for _ in passages]
        dense = loop.run_in_executor(self._documents, self._encoder.run, texts)
        tokens: list[Tokens | None] = [None] * len(texts)
        if self._late is not None:
            bare = [text.removeprefix(self._encoder.card.document_prefix) for text in texts]
            tokens = list(await loop.run_in_executor(self._tokens, self._late.documents, bare))
        name = self._late.name if self._late is not None else ""
        made = iter(zip(map(_unit, await dense), tokens, strict=True))
        return [tuple(EmbeddedPart(start, end, *next(made), name) for start, end in of_passage) for of_passage in spans]

    async def query(self, text: str) -> Vector:
        loop = asyncio.get_running_loop()
        prefixed = self._encoder.card.query_prefix + text
        outputs = await loop.run_in_executor(self._queries, self._encoder.run, [prefixed])
        return _unit(outputs[0])

    def _spans(self, passage: Passage) -> list[tuple[int, int]]:
        size = min(PART_TOKENS, self._encoder.card.max_tokens - 2 - len(passage.context))
        size = max(size, OVERLAP_TOKENS * 2)
        if len(passage.text.encode()) <= size:  # a token is at least a byte
            return [(0, len(passage.text))]
        offsets = self._encoder.offsets(passage.text)
        if len(offsets) <= size:
            return [(0, len(passage.text))]
        cuts = [(offsets[a][0], offsets[b - 1][1]) for a, b in windows(len(offsets), size, OVERLAP_TOKENS)]
        # Whatever the tokenizer drops at either end still belongs to a part.
        return [(0, cuts[0][1]), *cuts[1:-1], (cuts[-1][0], len(passage.text))]


def _step_back() -> None:
    """Lower this thread's priority, where the system has one a thread."""
    with suppress(OSError, AttributeError):  # elsewhere it competes like any other
        os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), 10)


def _unit(vector: Vector) -> Vector:
    norm = float(np.linalg.norm(vector))
    return (vector / norm if norm else vector).astype(np.float32)
