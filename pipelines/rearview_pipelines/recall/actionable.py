"""May an agent act on a memory by itself? Not on one that gives orders, until others support it. Pure."""

import re

from rearview_pipelines.memory import Kind, Memory, Trust

_ORDERS = re.compile(
    r"""
    \b(?:ignore|disregard|forget)\b.{0,40}\b(?:instruction|previous|above|rule|prompt)
    | \b(?:you|agents?|assistants?)\s+(?:must|should|need\ to|have\ to|are\ to)\b
    | \b(?:always|never)\s+(?:run|send|execute|call|delete|share|post|transfer|approve|open|use|reply|include)\b
    | \bfrom\ now\ on\b | \bsystem\ prompt\b | \bwhenever\b.{0,60},?\s+(?:run|send|execute|call|reply)\b
    | 忽略.{0,12}(?:指令|规则|提示) | 从现在起 | 从今以后 | 你(?:必须|应该|要)
    | (?:务必|一律|永远不要|总是要?)(?:发送|执行|运行|删除|转账|调用|回复)
    """,
    re.IGNORECASE | re.VERBOSE | re.DOTALL,
)


def gives_orders(text: str) -> bool:
    """Whether a text tells its reader what to do, in English or Chinese."""
    return _ORDERS.search(text) is not None


def actionable(memory: Memory) -> bool:
    """A preference is about form and never an order; support by others lifts the reserve."""
    if memory.kind is Kind.PREFERENCE or memory.trust in (Trust.CONFIRMED, Trust.VERIFIED):
        return True
    return not gives_orders(memory.text)
