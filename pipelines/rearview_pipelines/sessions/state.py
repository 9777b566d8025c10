"""Working memory: what an agent is at in a session, in a few fields, and what one turn more makes of it. Pure."""

import re
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from rearview_pipelines.fields import Data, Name, storable
from rearview_pipelines.memory import Kind
from rearview_pipelines.requests import Turn
from rearview_pipelines.sessions.shortening import sentences, shortened

MOST_TEXT = 2000
"""Characters of one entry."""
MOST_ENTRIES = 200
_NEXT = re.compile(
    r"\b(?:next(?: step)?(?: is|,|:)|i(?:'ll| will)|let me|going to|then i)\b|接下来|下一步|我(?:会|将|要)|然后",
    re.IGNORECASE,
)
_DONE = re.compile(
    r"\b(?:done|finished|completed?|fixed|solved|resolved|works now|passed|deployed|merged|succeeded)\b"
    r"|完成|解决了|修好|成功|通过了|搞定",
    re.IGNORECASE,
)
_STUCK = re.compile(
    r"\b(?:stuck|blocked|fail(?:s|ed|ing)?|error|cannot|can't|does(?:n't| not) work|timed? ?out)\b"
    r"|卡住|失败|报错|错误|不行|无法|超时",
    re.IGNORECASE,
)
_OPEN = re.compile(
    r"\b(?:to-?do|still (?:need|have) to|remaining|pending|waiting (?:for|on)|open question)\b"
    r"|待办|还需要|还没|等待|待确认",
    re.IGNORECASE,
)

Entry = Annotated[str, Field(strict=True), AfterValidator(storable), AfterValidator(lambda t: shortened(t, MOST_TEXT))]
Entries = Annotated[tuple[Entry, ...], AfterValidator(lambda of: of[-MOST_ENTRIES:])]
"""Longer ones are cut, and of more the newest kept: a state is compressed, not refused."""


class ToolInUse(BaseModel):
    """The tool that was called last, and with what."""

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)

    name: Name
    arguments: Data = Field(default_factory=dict)


class State(BaseModel):
    """The state of a session, newest last in every list. None or empty: not known."""

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)

    goal: Entry | None = None
    latest_instruction: Entry | None = None
    preferences: Entries = ()
    recent_actions: Entries = ()
    tool_in_use: ToolInUse | None = None
    finished_steps: Entries = ()
    pending_issues: Entries = ()
    stuck_on: Entry | None = None
    next_step: Entry | None = None


def after_turn(state: State, turn: Turn, kind: Kind | None) -> State:
    """The state after a turn, scrubbed as it is kept. `kind`: what it was remembered as, None if it was not."""
    text = shortened(turn.text, MOST_TEXT)
    if turn.role == "user" and text:
        state = _asked(state, text, kind)
    elif turn.role == "assistant" and text:
        state = _answered(state, text)
    elif turn.role == "tool" and not turn.tool_calls and text:
        state = _add(state, "recent_actions", text)
    for call in turn.tool_calls:
        state = _called(state, call, text if turn.role == "tool" else "")
    return state


def _asked(state: State, text: str, kind: Kind | None) -> State:
    update: dict[str, Any] = {"latest_instruction": text}
    if state.goal is None:
        update["goal"] = text
    if kind is Kind.PREFERENCE and text not in state.preferences:
        update["preferences"] = _with(state.preferences, text)
    return state.model_copy(update=update)


def _answered(state: State, text: str) -> State:
    state = _add(state, "recent_actions", text)
    for sentence in sentences(text):
        if _OPEN.search(sentence):
            state = _add(state, "pending_issues", sentence)
        elif _DONE.search(sentence) and not _STUCK.search(sentence):
            state = _add(state, "finished_steps", sentence).model_copy(update={"stuck_on": None})
        elif _STUCK.search(sentence):
            state = state.model_copy(update={"stuck_on": sentence})
        elif _NEXT.search(sentence):
            state = state.model_copy(update={"next_step": sentence})
    return state


def _called(state: State, call: dict[str, Any], text: str) -> State:
    name = str(call["name"])[:128].strip()
    arguments = call.get("arguments")
    tool = ToolInUse(name=name, arguments=arguments if isinstance(arguments, dict) else {})
    state = state.model_copy(update={"tool_in_use": tool})
    ok, result = call.get("ok"), text or _said(call.get("result"))
    if ok is False:
        why = shortened(f"{name}: {result}" if result else name, MOST_TEXT)
        return _add(state, "recent_actions", f"{name} failed").model_copy(update={"stuck_on": why})
    state = _add(state, "recent_actions", shortened(f"{name}: {result}" if result else name, 240))
    if ok is True:
        state = _add(state, "finished_steps", shortened(f"{name}: {result}" if result else name, 240))
        if state.stuck_on is not None and state.stuck_on.startswith(name):
            state = state.model_copy(update={"stuck_on": None})
    return state


def _said(result: Any) -> str:
    return result if isinstance(result, str) else "" if result is None else str(result)


def _add(state: State, name: str, entry: str) -> State:
    return state.model_copy(update={name: _with(getattr(state, name), entry)})


def _with(entries: tuple[str, ...], entry: str) -> tuple[str, ...]:
    kept = tuple(other for other in entries if other != entry)
    return (*kept, entry)[-MOST_ENTRIES:]


def without(state: State, texts: list[str]) -> State:
    """The state without entries that say what these texts say: they are to be forgotten."""

    gone = [plain for text in texts if (plain := " ".join(text.split()))]

    def is_of(entry: str | None) -> bool:
        """Whether an entry says it: whole, a piece of it, or behind the name of a tool."""
        bare = " ".join((entry or "").split()).removesuffix("…").strip()
        said = [piece for piece in (bare, bare.partition(": ")[2]) if piece]
        return any(piece in text or text in piece for piece in said for text in gone)

    update: dict[str, Any] = {}
    for name in ("goal", "latest_instruction", "stuck_on", "next_step"):
        if is_of(getattr(state, name)):
            update[name] = None
    for name in ("preferences", "recent_actions", "finished_steps", "pending_issues"):
        update[name] = tuple(entry for entry in getattr(state, name) if not is_of(entry))
    tool = state.tool_in_use
    if tool is not None and any(is_of(value) for value in tool.arguments.values() if isinstance(value, str)):
        update["tool_in_use"] = None
    return state.model_copy(update=update)
