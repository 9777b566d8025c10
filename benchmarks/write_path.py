"""What the write path costs beside embedding: a memory at a time and in batches of 32, with patterns and with names.

    python -m benchmarks.write_path [--texts FILE ...] [--memories 640]

In this process, on a Milvus Lite server in a fresh folder, as `rearview up` has it, with the packaged model; the rest
of the path is what the writer takes with vectors made beforehand. Texts: one a line, or JSONL with `text` or `query`.
"""

import argparse
import asyncio
import json
import logging
import statistics
import tempfile
import time
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from rearview_pipelines.ledger.ledger import Ledger, Witness
from rearview_pipelines.memory import Draft
from rearview_pipelines.models.embedder import OnnxEmbedder
from rearview_pipelines.models.export import PACKAGED, cached
from rearview_pipelines.ports import EmbeddedPart, Passage, Vector
from rearview_pipelines.principal import Principal, Role
from rearview_pipelines.privacy.policy import read_policy
from rearview_pipelines.privacy.scrub import Scrubber
from rearview_pipelines.service import SystemClock
from rearview_pipelines.stores.folder import FolderStore
from rearview_pipelines.stores.hot import HotIndex
from rearview_pipelines.stores.milvus import MilvusIndex
from rearview_pipelines.write.admit import admit
from rearview_pipelines.write.item import Tools
from rearview_pipelines.write.keystore import KeyStore
from rearview_pipelines.write.writer import Writer
from rearview_serve.milvus_process import MilvusProcess
from rearview_serve.settings import Settings

ADMIN = Principal("t", Role.ADMIN, id="tok")
SUBJECTS = "release invoice garden printer customer budget sensor recipe lecture harbour".split()
BATCH = 32


class Remembered:
    """The real model, asked beforehand: what a text's vector costs is not the path's."""

    def __init__(self, model: OnnxEmbedder) -> None:
        self._model = model
        self.name, self.dimension, self.languages = model.name, model.dimension, model.languages
        self._known: dict[str, tuple[EmbeddedPart, ...]] = {}

    async def learn(self, texts: Sequence[str]) -> float:
        """Seconds that embedding takes alone, in batches."""
        started = time.perf_counter()
        for start in range(0, len(texts), BATCH):
            batch = texts[start : start + BATCH]
            for text, parts in zip(batch, await self._model.documents([Passage("", t) for t in batch]), strict=True):
                self._known[text] = parts
        return time.perf_counter() - started

    async def documents(self, passages: Sequence[Passage]) -> list[tuple[EmbeddedPart, ...]]:
        unknown = [p for p in passages if p.text not in self._known]
        made = (
            dict(zip([p.text for p in unknown], await self._model.documents(unknown), strict=True)) if unknown else {}
        )
        return [self._known.get(p.text) or made[p.text] for p in passages]

    async def query(self, text: str) -> Vector:
        return await self._model.query(text)


def texts_of(files: Sequence[Path], count: int) -> list[str]:
    found: list[str] = []
    for file in files:
        for line in file.read_text().splitlines():
            row = json.loads(line) if line.startswith("{") else {"text": line}
            found += [str(row.get("text") or row.get("query") or "")]
    found = list(dict.fromkeys(t for t in found if t.strip()))
    made = (
        f"The {SUBJECTS[n % 10]} of week {n} was checked by team {n % 7} and cost {n * 3} euros" for n in range(count)
    )
    return (found or list(made))[:count]


async def measure(preset: str, texts: list[str], model: OnnxEmbedder, size: int) -> tuple[float, float]:
    """(milliseconds a memory, median over batches; memories a second) of the path with vectors at hand."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        keys, objects = KeyStore(folder), FolderStore(folder / "objects")
        embedder = Remembered(model)
        await embedder.learn(texts)
        process = stack.enter_context(MilvusProcess(folder / "m.db", stack.enter_context((folder / "log").open("wb"))))
        process.wait()
        milvus = await MilvusIndex.open(process.uri, model=model.name, dimension=model.dimension)
        index = HotIndex(milvus, None, 20_000)
        clock = SystemClock()
        ledger = Ledger(objects, keys, Witness(folder / "witness.json"), clock.now)
        scrubber = Scrubber(read_policy(preset=preset), keys)
        writer = Writer(Tools(index, embedder, keys, clock, ledger, scrubber))
        await writer.write(ADMIN, admit(ADMIN, [Draft(text="warm up")]))
        await asyncio.gather(*index._loading.values())
        taken: list[float] = []
        started = time.perf_counter()
        for start in range(0, len(texts), size):
            drafts = [Draft(text=t, tags=("bench",)) for t in texts[start : start + size]]
            began = time.perf_counter()
            await writer.write(ADMIN, admit(ADMIN, drafts))
            taken.append((time.perf_counter() - began) * 1000 / len(drafts))
        seconds = time.perf_counter() - started
        await index.close()
        await milvus.close()
        return statistics.median(taken), len(texts) / seconds


async def run(arguments: Any) -> None:
    logging.disable(logging.WARNING)
    model = OnnxEmbedder(cached("embedder", PACKAGED, Settings().models), 1)
    texts = texts_of(arguments.texts, arguments.memories)
    source = ", ".join(f.name for f in arguments.texts) or "made by this script"
    alone = await Remembered(model).learn(texts)
    mean = statistics.mean(map(len, texts))
    print(f"{len(texts)} texts ({source}), mean {mean:.0f} characters; Milvus Lite, one thread")
    each, rate = alone * 1000 / len(texts), len(texts) / alone
    print(f"  embedding alone, batches of {BATCH}: {each:.2f} ms a memory, {rate:.0f} a second")
    for preset, size, count in (("patterns", 1, 200), ("patterns", BATCH, 10_000), ("strict", 1, 100)):
        ms, rate = await measure(preset, texts[:count], model, size)
        print(f"  rest of the path, {preset}, {size} at a time: {ms:.2f} ms a memory (median), {rate:.0f} a second")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--texts", nargs="*", type=Path, default=[])
    parser.add_argument("--memories", type=int, default=640)
    asyncio.run(run(parser.parse_args()))


if __name__ == "__main__":
    main()
