"""May an agent act on a memory by itself? Not on one that gives orders, until others support it. Pure."""

import re
from collections.abc import Iterator

from rearview_pipelines.memory import Kind, Memory, Trust

_DO = (
    "run|send|execute|call|delete|share|post|transfer|approve|open|use|reply|include|answer|respond|forward|copy|skip|remove|add"
    "|write|tell|ask|check|deploy|push|merge|commit|restart|stop|start|install|download|click|visit|refuse|treat|trust|follow"
    "|obey|grant|give|make|put|book|order|buy|pay|store|save|remember|mention|recommend|tag|avoid|ignore|disable|enable|change"
)
LONGEST, OVERLAP = 400, 150
_PLAIN = (
    "run|send|execute|delete|reply|include|respond|forward|skip|remove|write|tell|ask|deploy|merge|commit|restart|install"
    "|download|click|visit|refuse|treat|follow|obey|grant|give|make|buy|pay|remember|recommend|avoid|ignore|disable|enable"
)
"""Words that begin an order and hardly ever anything else."""
_ORDERS = re.compile(
    rf"""
    \b(?:ignore|disregard|forget)\b.{{0,40}}\b(?:instruction|previous|above|rule|prompt)
    | \b(?:you|agents?|assistants?)\s+(?:must|should|need\ to|have\ to|are\ to)\b
    | \b(?:always|never)\s+(?:{_DO})\b
    | (?:^|[.:;!?][ ]{0, 3})(?:please[ ]+)?(?:(?:always|never|do\ not|don't|make\ sure|be\ sure)\b
        |(?:{_PLAIN})\s+(?!to\b|for\b|of\b|is\b|are\b|was\b))
    | \b(?:when|whenever|if|before|after|once)\b[^.\n]{{1,80}},\s*(?:please\s+|then\s+)?(?:{_DO})\b
    | \bfrom\ now\ on\b | \bsystem\ prompt\b | \bwhenever\b.{{0,60}},?\s+(?:{_DO})\b
    | 忽略.{{0,12}}(?:指令|规则|提示) | 从现在起 | 从今以后 | 你(?:必须|应该|要)
    | (?:务必|一律|永远不要|总是要?)(?:发送|执行|运行|删除|转账|调用|回复)
    | (?:^|[。；，,：:][ ]{0, 3})(?:请|务必|必须|不要|切勿|禁止|一律)
    | (?:以后|今后|每次).{{0,10}}(?:请|都要|必须|一律|务必|先)
    """,
    re.IGNORECASE | re.VERBOSE | re.DOTALL,
)


def gives_orders(text: str) -> bool:
    """Whether a text tells its reader what to do, in English or Chinese."""
    return any(_ORDERS.search(piece) for line in text.splitlines() for piece in _pieces(line.strip()))


def _pieces(line: str) -> Iterator[str]:
    """Stretches that overlap by more than the longest order: no text is slow, however long its lines are."""
    for start in range(0, max(len(line) - OVERLAP, 1), LONGEST - OVERLAP):
        yield line[start : start + LONGEST]


def actionable(memory: Memory) -> bool:
    """A preference is about form and never an order; support by others lifts the reserve."""
    if memory.kind is Kind.PREFERENCE or memory.trust in (Trust.CONFIRMED, Trust.VERIFIED):
        return True
    return not gives_orders(memory.text)
