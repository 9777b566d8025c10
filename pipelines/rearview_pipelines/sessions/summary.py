"""What a session, or a text, says that is worth keeping: its gated sentences, the surest first. Pure.

This is what there is without a model, and says so: nothing here is rephrased.
"""

import asyncio
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from rearview_pipelines.memory import Kind
from rearview_pipelines.sessions.shortening import sentences, shortened
from rearview_pipelines.text.language import is_cjk
from rearview_pipelines.text.stopwords import ENGLISH
from rearview_pipelines.write.gate.classifier import probability
from rearview_pipelines.write.gate.judge import gate
from rearview_pipelines.write.relate.compare import is_same
from rearview_pipelines.write.relate.words import statement

MOST = 10
LONGEST = 400
"""Characters of one statement."""
MOST_TAGS = 3
MOST_SOURCES = 64
_WORD = re.compile(r"[A-Za-z][A-Za-z0-9_.-]{3,}")


@dataclass(frozen=True)
class Said:
    """A turn as the transcript keeps it. `number` of None: no turn. `id`: of its memory, if there is one."""

    role: str
    text: str
    number: int | None = None
    id: str | None = None


@dataclass(frozen=True)
class Statement:
    """One thing worth keeping, and the turns that say it."""

    text: str
    kind: Kind
    tags: tuple[str, ...] = ()
    turns: tuple[int, ...] = ()
    sources: tuple[str, ...] = ()


class Extractive:
    """Sums up without a model."""

    async def statements(self, turns: Sequence[Said]) -> tuple[str, list[Statement]]:
        return "extractive", await asyncio.to_thread(statements, turns)


def statements(turns: Sequence[Said], most: int = MOST) -> list[Statement]:
    """The best sentences in the order that they were said, each once."""
    found: list[tuple[float, int, Said, str, Kind]] = []
    for turn in turns:
        for sentence in sentences(turn.text):
            verdict = gate(sentence, turn.role)
            if verdict.keep:
                sure = probability(sentence, turn.role, ())
                found.append((sure, len(found), turn, shortened(sentence, LONGEST), verdict.kind))
    found.sort(key=lambda one: (-one[0], one[1]))
    chosen: list[tuple[int, Statement]] = []
    for _, place, turn, text, kind in found:
        said = statement(text)
        same = next((at for at, (_, s) in enumerate(chosen) if is_same(statement(s.text), said)), None)
        if same is not None:
            at, first = chosen[same]
            chosen[same] = (at, _joined(first, turn))
        elif len(chosen) < most:
            numbers = () if turn.number is None else (turn.number,)
            chosen.append((place, Statement(text, kind, tags_of(text), numbers, (turn.id,) if turn.id else ())))
    return [made for _, made in sorted(chosen, key=lambda pair: pair[0])]


def _joined(first: Statement, turn: Said) -> Statement:
    numbers = first.turns if turn.number is None else tuple(sorted({*first.turns, turn.number}))
    sources = tuple(dict.fromkeys((*first.sources, *((turn.id,) if turn.id else ()))))
    return Statement(first.text, first.kind, first.tags, numbers, sources[:MOST_SOURCES])


def tags_of(text: str) -> tuple[str, ...]:
    """Its longest plain words, as written small: a hint for filters, not a judgement."""
    words = Counter(word.lower().strip("._-") for word in _WORD.findall(text))
    plain = [word for word in words if word not in ENGLISH and not any(is_cjk(c) for c in word)]
    return tuple(sorted(sorted(plain, key=lambda word: (-len(word), word))[:MOST_TAGS]))
