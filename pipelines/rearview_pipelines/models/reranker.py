"""The reranker that runs in this process: a cross-encoder on an exported ONNX folder."""

import asyncio
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np

from rearview_pipelines.models.encoder import Encoder


class OnnxReranker:
    """`Reranker` over one encoder; a score is the sigmoid of its logit."""

    def __init__(self, folder: Path, threads: int = 1) -> None:
        self._encoder = Encoder(folder, "reranker", threads)
        self._pool = ThreadPoolExecutor(1, thread_name_prefix="rerank")

    @property
    def name(self) -> str:
        return self._encoder.card.identity

    async def scores(self, query: str, texts: Sequence[str]) -> list[float]:
        if not texts:
            return []
        pairs = [(query, text) for text in texts]
        loop = asyncio.get_running_loop()
        logits = await loop.run_in_executor(self._pool, self._encoder.run, pairs)
        scores = 1 / (1 + np.exp(-logits.reshape(len(texts), -1)[:, 0].astype(np.float64)))
        return [float(s) for s in scores]
