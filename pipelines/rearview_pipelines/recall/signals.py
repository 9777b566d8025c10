"""What a memory's text says about itself, before any question: is it a question, does it name a relative time. Pure."""

import re
from collections.abc import Hashable
from dataclasses import dataclass

from rearview_pipelines.memory import Memory, SourceKind
from rearview_pipelines.recall.table import DOCUMENT, OTHER, TURN
from rearview_pipelines.text.analyse import fold

_RELATIVE = re.compile(
    r"""
    \b(?:yesterday|today|tonight|tomorrow|ago|recently|lately|earlier\ this|just\ now)\b
    | \b(?:last|next|this|past|previous|coming)\s+(?:few\s+|couple\ of\s+)?
      (?:night|days?|weeks?|weekend|months?|years?|summer|winter|spring|fall|autumn|morning|evening
        |mon|tues|wednes|thurs|fri|satur|sun)
    | 昨[天晚日]|今[天晚早日]|明[天晚日]|前天|后天|刚才|刚刚|最近|上(?:个?月|周|星期|次|礼拜)|下(?:个?月|周|星期|礼拜)
    | 这(?:个?月|周|星期|几天)|去年|明年|今年|前年|[天周月年小时]以?前
    """,
    re.VERBOSE,
)
_HEAD = 2000
"""Characters looked at: what a long text says further down says little about the whole."""


def names_a_relative_time(text: str) -> bool:
    return _RELATIVE.search(fold(text[:_HEAD])) is not None


def is_question(text: str) -> bool:
    """Whether it ends by asking, so that the answer is more likely beside it than in it."""
    return text.rstrip().endswith(("?", "？"))


@dataclass(frozen=True)
class Said:
    """What does not depend on the question. `speaker`: folded; "" for none, or one that is only a role."""

    kind: int
    question: bool
    relative: bool
    speaker: str


_ROLES = frozenset("user assistant agent system tool bot ai human customer 用户 助手 系统 客户 机器人".split())


def said(memory: Memory) -> Said:
    kind = {SourceKind.TURN: TURN, SourceKind.DOCUMENT: DOCUMENT}.get(memory.source.kind, OTHER)
    return Said(kind, is_question(memory.text), names_a_relative_time(memory.text), speaker_of(memory))


def speaker_of(memory: Memory) -> str:
    """Folded; "" for none, or one that is only a role."""
    speaker = fold(memory.source.speaker or "").strip()
    return "" if speaker in _ROLES else speaker


def session_of(memory: Memory) -> Hashable | None:
    """What memories of one session share; None for one that stands alone.

    Only what the same readers see: nothing that a reader may not see moves what it finds.
    """
    if memory.session is None or memory.source.kind is SourceKind.DOCUMENT:
        return None
    return (memory.agent, memory.user, memory.visibility, memory.session)
