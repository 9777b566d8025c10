"""Turn-level recall on LoCoMo, through the API of a real service, beside published baselines.

    python benchmarks/locomo.py --eval PATH/eval/locomo_recall.py [--conv conv-26,…] [--depth 20]

The data is not ours to ship (CC BY-NC 4.0): `--eval` names the script of the evaluation, which knows
where its data lies. Each turn is written once with speaker, session, time and ref, a conversation a
tenant; each question is a POST /v1/recall with defaults but for top_k and the token budget.
"""

import argparse
import importlib.util
import json
import statistics
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

from running import Running, service

from rearview_serve.client import Client

BATCH = 128
BASELINES = {
    "bm25 (lower-case words)": ".540",
    "bm25 + stop words + Porter": ".651",
    "dense MiniLM": ".477 (all ten)",
    "RRF(bm25-stem-neighbours, MiniLM) 3:1": ".731",
}
"""recall@10 on the three conversations that are here, from the evaluation's README."""


def load(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location("locomo_recall", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["locomo_recall"] = module  # its dataclasses look themselves up
    spec.loader.exec_module(module)
    return module


def tenant_client(running: Running, tenant: str) -> Client:
    command = [sys.executable, "-m", "rearview_serve.cli.main", "token", "create", "--role", "writer", "--json"]
    done = subprocess.run(
        [*command, "--tenant", tenant, "--data", str(running.data)], capture_output=True, text=True, check=True
    )
    return Client(running.url, json.loads(done.stdout)["token"])


def turn(raw: dict[str, Any], number: int) -> dict[str, Any]:
    text = raw["raw"] + (f" [shares a photo: {raw['caption']}]" if raw.get("caption") else "")
    return {
        "text": text,
        "ref": raw["id"],
        "session": str(raw["session"]),
        "occurred_at": raw["dt"] if len(raw["dt"]) > 10 else f"{raw['dt']}T00:00",
        "source": {"kind": "turn", "speaker": raw["speaker"], "turn": number},
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--eval", type=Path, required=True)
    parser.add_argument("--conv", default="")
    parser.add_argument("--mode", default="hybrid")
    parser.add_argument("--depth", type=int, default=20)
    arguments = parser.parse_args()
    module = load(arguments.eval)
    conversations = module.load_locomo(render="bare")
    if arguments.conv:
        conversations = {name: conversations[name] for name in arguments.conv.split(",")}
    took: list[float] = []
    with service() as running:
        clients: dict[int, Client] = {}
        for name, conversation in conversations.items():
            client = tenant_client(running, name)
            clients[id(conversation["corpus"])] = client
            turns = [turn(raw, n) for n, raw in enumerate(conversation["corpus"])]
            for start in range(0, len(turns), BATCH):
                client.call("POST", "/v1/memories", {"memories": turns[start : start + BATCH]})
            print(f"{name}: {len(turns)} turns written", flush=True)

        def retrieve(query: str, corpus: list[Any]) -> list[str]:
            body = {"query": query, "top_k": arguments.depth, "token_budget": None, "mode": arguments.mode}
            answer = clients[id(corpus)].call("POST", "/v1/recall", body)
            took.append(answer["took_ms"])
            return [memory["ref"] for memory in answer["memories"]]

        rows = module.evaluate(retrieve, conversations)
    print(module.table(module.summarise(rows), f"rearview {arguments.mode}, {len(conversations)} conversations"))
    took.sort()
    print(f"took_ms p50 {statistics.median(took):.1f}, p95 {took[int(len(took) * 0.95)]:.1f}, n {len(took)}")
    print("recall@10 of baselines: " + "; ".join(f"{name} {value}" for name, value in BASELINES.items()))


if __name__ == "__main__":
    main()
