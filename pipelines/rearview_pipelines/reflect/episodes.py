"""What a reflection looks at: episodes of one scope, those of one task together, with how each ended. Pure."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime

from rearview_pipelines.memory import Kind, Layer, Memory, Outcome, SourceKind, State, Visibility
from rearview_pipelines.sessions.summary import Said

MOST = 500
"""Episodes of one reflection, the newest."""
MOST_TEXT = 4000
"""Characters of one episode that are looked at."""
_BAD = re.compile(
    r"\b(?:fail(?:s|ed|ure|ing)?|error|crash(?:ed)?|broke(?:n)?|timed? ?out|timeout|rejected|denied|lost|corrupt(?:ed)?"
    r"|rolled back|outage|complain(?:ed|t|ts)|went wrong|did(?:n't| not) work)\b"
    r"|失败|报错|出错|超时|崩溃|回滚|投诉|不行",
    re.IGNORECASE,
)
_GOOD = re.compile(
    r"\b(?:succe(?:ss|eded|ssful(?:ly)?)|worked|passed|completed|fine|no (?:errors?|issues?|problems?)"
    r"|went (?:well|through)|resolved|solved|fixed)\b|成功|顺利|通过|没有问题|完成",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Episode:
    """One thing that happened: what is told of it, how it ended, the memories that tell it."""

    texts: tuple[str, ...]
    ids: tuple[str, ...]
    good: bool | None
    at: datetime
    said: tuple[Said, ...] = ()
    tags: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        return "\n".join(self.texts)[:MOST_TEXT]


@dataclass
class Scope:
    """Whose episodes: lessons go to the same."""

    agent: str
    user: str
    visibility: Visibility
    namespace: str | None
    task_type: str | None
    episodes: list[Episode] = field(default_factory=list)


def is_episode(memory: Memory) -> bool:
    """Whether a memory tells what happened: an event, or whatever has an outcome; no lesson, and still standing."""
    if memory.state not in (State.ACTIVE, State.PENDING) or memory.kind is Kind.RULE:
        return False
    told = memory.outcome is not None and memory.source.kind is not SourceKind.REFLECTION
    return memory.layer is Layer.EPISODIC or told


def scopes(memories: Sequence[Memory]) -> list[Scope]:
    """Episodes by whose they are and of what kind of task; nothing of one scope is told in another."""
    found: dict[tuple[str, str, Visibility, str | None, str | None], list[Memory]] = {}
    for memory in memories:
        if is_episode(memory):
            key = (memory.agent, memory.user, memory.visibility, memory.namespace, memory.task_type)
            found.setdefault(key, []).append(memory)
    made = []
    for key in sorted(found, key=str):
        of = found[key]
        first = of[0]
        scope = Scope(first.agent, first.user, first.visibility, first.namespace, first.task_type)
        scope.episodes = _grouped(of)[-MOST:]
        made.append(scope)
    return made


def _grouped(memories: Sequence[Memory]) -> list[Episode]:
    """Memories of one task, or of one session, tell one episode; others each tell their own."""
    units: dict[str, list[Memory]] = {}
    for memory in memories:
        told = memory.task or (memory.session if memory.source.kind is SourceKind.TURN else None)
        units.setdefault(f"task {told}" if told else memory.id, []).append(memory)
    if len(units) == 1:  # nothing to compare it with but its own parts
        units = {memory.id: [memory] for of in units.values() for memory in of}
    episodes = [_episode(sorted(of, key=lambda m: (_when(m), m.id))) for of in units.values()]
    return sorted(episodes, key=lambda e: (e.at, e.ids))


def _episode(of: Sequence[Memory]) -> Episode:
    texts = []
    for memory in of:
        texts.append(memory.text)
        summary = (memory.data or {}).get("summary")
        if isinstance(summary, str) and memory.source.kind is SourceKind.REFLECTION:
            texts.append(summary)
    tags = tuple(dict.fromkeys(tag for memory in of for tag in memory.tags))
    return Episode(tuple(texts), tuple(m.id for m in of), _ended(of), max(_when(m) for m in of), tags=tags)


def _ended(of: Sequence[Memory]) -> bool | None:
    """How it ended, as was said last; else as the words have it, if they are of one mind."""
    said = [m.outcome for m in of if m.outcome is not None]
    if said:
        return said[-1] is Outcome.SUCCESS
    text = "\n".join(m.text for m in of)
    good, bad = bool(_GOOD.search(text)), bool(_BAD.search(text))
    return None if good == bad else good


def _when(memory: Memory) -> datetime:
    return memory.occurred_at or memory.created_at


def by_calls(turns: Sequence[str]) -> bool | None:
    """How it ended by what was said and called last that tells a result."""
    for text in reversed(turns):
        good, bad = bool(_GOOD.search(text)), bool(_BAD.search(text))
        if good != bad:
            return good
    return None


def tells_result(clause: str) -> bool:
    """Whether a clause says how it ended, and not what was done."""
    return bool(_GOOD.search(clause) or _BAD.search(clause))
