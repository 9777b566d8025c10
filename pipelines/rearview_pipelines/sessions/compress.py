"""A state within its token budget. What design calls the core stays: goal, latest instruction, tool in use with its
arguments, finished steps, stuck point, next step. What is said once more, or long ago, goes first. Pure.
"""

import json
from typing import Any

from rearview_pipelines.sessions.shortening import shortened
from rearview_pipelines.sessions.state import State, ToolInUse
from rearview_pipelines.text.tokens import count_tokens

BUDGET = 4000
_DISPENSABLE = ("recent_actions", "pending_issues", "preferences", "finished_steps")
"""Lists in the order in which their oldest entries go."""
_SHORT = (400, 160, 80)
"""Characters to which entries are cut when dropping whole ones is not enough."""
_KEPT_STEPS = 5


def tokens(state: State) -> int:
    return count_tokens(json.dumps(state.model_dump(mode="json", exclude_defaults=True), ensure_ascii=False))


def compressed(state: State, budget: int = BUDGET) -> State:
    """The same state in at most `budget` tokens, as far as its core allows."""
    for name in _DISPENSABLE:
        least = _KEPT_STEPS if name == "finished_steps" else 0
        while tokens(state) > budget and len(getattr(state, name)) > least:
            entries = getattr(state, name)
            over = max(1, len(entries) // 8)
            state = state.model_copy(update={name: entries[min(over, len(entries) - least) :]})
    for most in _SHORT:
        if tokens(state) <= budget:
            break
        state = _cut(state, most)
    return state


def _cut(state: State, most: int) -> State:
    update: dict[str, Any] = {}
    for name in ("goal", "latest_instruction", "stuck_on", "next_step"):
        if getattr(state, name) is not None:
            update[name] = shortened(getattr(state, name), most)
    for name in _DISPENSABLE:
        update[name] = tuple(shortened(entry, most) for entry in getattr(state, name))
    if state.tool_in_use is not None:
        arguments = {k: _short(v, most) for k, v in state.tool_in_use.arguments.items()}
        update["tool_in_use"] = ToolInUse(name=state.tool_in_use.name, arguments=arguments)
    return state.model_copy(update=update)


def _short(value: Any, most: int) -> Any:
    if isinstance(value, str):
        return shortened(value, most)
    if isinstance(value, dict | list):
        text = json.dumps(value, ensure_ascii=False)
        return value if len(text) <= most else shortened(text, most)
    return value
