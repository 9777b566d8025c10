"""The sample conversation: write it, ask about it, show what came back."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from rearview_pipelines.errors import SetupError
from rearview_serve.client import Client

NAME = "support-week"
BATCH = 32
FIRST = 3
"""An expected memory has to be among so many."""
_WIDTH = 88


def path(name: str) -> Path:
    """A file of docs/examples, in a checkout or in an installed wheel."""
    for folder in (Path(__file__).parents[2] / "docs" / "examples", Path(__file__).parent / "examples"):
        if (folder / name).is_file():
            return folder / name
    raise SetupError(f"the sample {name} is not installed; start with --no-sample")


def lines(file: Path) -> Iterator[dict[str, Any]]:
    with file.open(encoding="utf-8") as text:
        yield from (json.loads(line) for line in text if line.strip())


def show(client: Client, say: Callable[[str], None]) -> bool:
    """Write the sample, ask its questions, print the answers; whether all were as expected."""
    turns = list(lines(path(f"{NAME}.jsonl")))
    statuses: dict[str, int] = {}
    for start in range(0, len(turns), BATCH):
        answer = client.call("POST", "/v1/memories", {"memories": turns[start : start + BATCH]})
        for receipt in answer["receipts"]:
            statuses[receipt["status"]] = statuses.get(receipt["status"], 0) + 1
    say(f"sample: {len(turns)} turns of {NAME} written ({', '.join(f'{n} {s}' for s, n in statuses.items())})")
    questions = list(lines(path(f"{NAME}.questions.jsonl")))
    right = sum(_ask(client, question) for question in questions)
    say(f"sample: {right} of {len(questions)} questions answered among the first {FIRST}")
    if right == len(questions):
        return True
    others = client.call("GET", "/v1/stats")["memories"]["active"] - len(turns)
    if others > 0:
        say(f"sample: beside it the store holds {others} memories of yours, which may rank higher; going on")
        return True
    return False


def _ask(client: Client, question: dict[str, Any]) -> bool:
    answer = client.call("POST", "/v1/recall", {"query": question["query"]})
    refs = [memory["ref"] for memory in answer["memories"][:FIRST]]
    right = set(question["refs"]) <= set(refs)
    print(f"\n  Q: {question['query']}   ({answer['took_ms']:.0f} ms)")
    for memory in answer["memories"][:FIRST]:
        mark = "*" if memory["ref"] in question["refs"] else " "
        text = memory["text"] if len(memory["text"]) <= _WIDTH else memory["text"][: _WIDTH - 1] + "…"
        print(f"   {mark} {memory['score']:.2f}  [{memory['ref']}] {memory['source']['speaker']}: {text}")
    if not right:
        print(f"     NOT FOUND among the first {FIRST}: {', '.join(question['refs'])}")
    return right
