"""No text is slow: what an attacker may send is judged in bounded time, whatever its characters."""

import asyncio
from datetime import UTC, datetime
from itertools import product

import pytest

from rearview_pipelines.errors import PatternTooSlow
from rearview_pipelines.fields import MAX_TEXT_BYTES
from rearview_pipelines.privacy.engine import Finder
from rearview_pipelines.privacy.policy import Policy
from rearview_pipelines.privacy.secrets.find import find_secrets
from rearview_pipelines.recall.actionable import gives_orders
from rearview_pipelines.recall.understand import understand
from rearview_pipelines.write.gate.judge import gate
from rearview_pipelines.write.relate.words import Statement
from rearview_pipelines.write.screening.judge import judge

UNITS = (
    "0f", "password_", "中文没有空格的很长的句子", "---", "http://a:", "a.b-", "password ", "\n", "a@", "%41", "e.",
    "1.1.", "我", "-----BEGIN ", "<", "\\x41", "key=", " x", "a:b", "#a", "“",
)  # fmt: skip
NOW = datetime(2026, 11, 30, tzinfo=UTC)
LIMIT_SECONDS = 30
"""For one text; each takes half a second at most on two cores, and took up to 49 s before its length was bounded."""


def long(unit: str) -> str:
    return (unit * MAX_TEXT_BYTES).encode()[:MAX_TEXT_BYTES].decode(errors="ignore")


def found(text: str) -> int:
    try:
        return len(Finder(Policy()).find(text))
    except PatternTooSlow:  # given up in time: the write is refused
        return 0


@pytest.mark.parametrize("unit", UNITS)
async def test_a_hostile_text_is_judged_in_time(unit: str) -> None:
    text = long(unit)

    def judged() -> list[object]:
        turns = [gate(text, role, recalled) for role, recalled in product(("user", "tool"), ((), ("we ran it",)))]
        return [
            *turns,
            judge(text),
            find_secrets(text),
            Statement(text).words,
            found(text),
            gives_orders(f"a{text}b"),
            understand(text, NOW, "UTC"),
        ]

    async with asyncio.timeout(LIMIT_SECONDS):
        assert len(await asyncio.to_thread(judged)) == 10
