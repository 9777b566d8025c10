"""What each stage of recall is worth on LoCoMo: recall@5, @10, @20 and MRR, stage by stage, in this process.

    python benchmarks/ablation.py --eval PATH/eval/locomo_recall.py [--conv conv-26,…]

Each row adds a stage to the row above it; the interval is of its gain in recall@10, by paired bootstrap over the
questions. The data is not ours to ship (CC BY-NC 4.0): `--eval` names the script that knows where it lies.
"""

import argparse
import asyncio
import logging
import statistics
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from locomo import load, turn

from rearview_pipelines.evaluation.compare import paired
from rearview_pipelines.principal import Principal, Role
from rearview_pipelines.requests import RecallRequest, WriteRequest, parse
from rearview_serve.embedded import Embedded, opened_parts
from rearview_serve.settings import Settings

BATCH = 64
DEPTH = 20
FAR = 9.0
"""A loss that no neighbour makes up for: only the turn itself counts."""
NOTHING = {
    **dict.fromkeys(("near", "far", "session", "keyword", "dense", "dense_alone", "late_session"), 0.0),
    **dict.fromkeys(("speaker", "relative", "question"), 0.0),
    "late_near": FAR,
    "late_far": FAR,
}
STAGES: tuple[tuple[str, bool, dict[str, float] | None], ...] = (
    ("BM25, stems and stop words", False, {}),
    ("+ .4 of each turn beside it", False, {"near": 0.4}),
    ("+ .25 of each two turns away", False, {"far": 0.25}),
    ("+ .3 of its session's best", False, {"session": 0.3}),
    ("+ speaker, time, question", False, {"speaker": 0.7, "relative": 0.7, "question": 0.4}),
    ("+ MiniLM (all there is without late interaction)", False, {"dense_alone": 0.4}),
    ("late interaction, the turn alone", True, None),
    ("+ its window", True, {"near": 0.4, "far": 0.25, "session": 0.3, "late_near": 0.07, "late_far": 0.12}),
    ("+ its session", True, {"late_session": 0.5}),
    ("+ BM25 in context", True, {"keyword": 0.2}),
    ("+ MiniLM", True, {"dense": 0.1}),
    ("+ speaker, time, question (as shipped)", True, {"speaker": 0.7, "relative": 0.7, "question": 0.4}),
)


async def fill(parts: Embedded, conversations: Mapping[str, Any]) -> None:
    for name, conversation in conversations.items():
        who = Principal(name, Role.ADMIN)
        turns = [turn(raw, n) for n, raw in enumerate(conversation["corpus"])]
        for start in range(0, len(turns), BATCH):
            await parts.service.write(who, parse(WriteRequest, {"memories": turns[start : start + BATCH]}))
        print(f"{name}: {len(turns)} turns written", file=sys.stderr, flush=True)


async def ask(parts: Embedded, module: Any, conversations: Mapping[str, Any]) -> list[Any]:
    """The evaluation's rows, one a question."""
    principals = {id(c["corpus"]): Principal(name, Role.ADMIN) for name, c in conversations.items()}
    for who in principals.values():
        await parts.service.recall(who, parse(RecallRequest, {"query": "reads the scope"}))
    await asyncio.sleep(3)
    loop = asyncio.get_running_loop()

    def retrieve(query: str, corpus: list[Any]) -> list[str]:
        body = {"query": query, "top_k": DEPTH, "token_budget": None}
        work = parts.service.recall(principals[id(corpus)], parse(RecallRequest, body))
        return [str(hit.ref) for hit in asyncio.run_coroutine_threadsafe(work, loop).result().memories]

    return list(await asyncio.to_thread(module.evaluate, retrieve, conversations))


async def run(arguments: Any) -> None:
    logging.disable(logging.WARNING)
    module = load(arguments.eval)
    conversations = module.load_locomo(render="bare")
    if arguments.conv:
        conversations = {name: conversations[name] for name in arguments.conv.split(",")}
    before: list[float] | None = None
    weights: dict[str, float] = {}
    with tempfile.TemporaryDirectory(prefix="rearview-bench-") as folder:
        base = Settings().model_copy(update={"data": Path(folder), "milvus_uri": None, "cache_seconds": 0.0})
        async with opened_parts(base) as parts:
            await fill(parts, conversations)
        print("| stage | recall@5 | recall@10 | recall@20 | MRR | gain in recall@10 |\n|---|---|---|---|---|---|")
        for name, late, added in STAGES:
            weights = NOTHING | ({} if added is None else weights | added)
            changed = {"fusion": {"turn": weights}, "late_model": base.late_model if late else "none"}
            async with opened_parts(base.model_copy(update=changed)) as parts:
                rows = await ask(parts, module, conversations)
            found = [row["recall@10"] for row in rows]
            gain = ""
            if before is not None:
                of = paired(before, found)
                gain = f"{of.mean:+.3f} [{of.low:+.3f}, {of.high:+.3f}]"
            means = [statistics.mean(row[m] for row in rows) for m in ("recall@5", "recall@10", "recall@20", "MRR")]
            print(f"| {name} | " + " | ".join(f"{mean:.3f}" for mean in means) + f" | {gain} |", flush=True)
            before = found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--eval", type=Path, required=True)
    parser.add_argument("--conv", default="")
    asyncio.run(run(parser.parse_args()))


if __name__ == "__main__":
    main()
