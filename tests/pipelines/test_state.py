"""What a turn makes of a session's state, and what compression keeps. A table of turns; English and Chinese."""

from rearview_pipelines.memory import Kind
from rearview_pipelines.requests import Turn
from rearview_pipelines.sessions.compress import BUDGET, compressed, tokens
from rearview_pipelines.sessions.state import State, after_turn, without

SAME = "as many as there were the last time that I looked at this table for you"


def after(*turns: Turn, state: State | None = None, kind: Kind | None = None) -> State:
    made = state or State()
    for turn in turns:
        made = after_turn(made, turn, kind)
    return made


def user(text: str) -> Turn:
    return Turn(role="user", text=text)


def assistant(text: str) -> Turn:
    return Turn(role="assistant", text=text)


def tool(name: str, ok: bool, result: str = "", **arguments: object) -> Turn:
    call = {"name": name, "ok": ok, "result": result, "arguments": arguments}
    return Turn.model_validate({"role": "tool", "text": "", "tool_calls": [call]})


def test_the_first_request_is_the_goal_and_the_last_one_the_instruction() -> None:
    state = after(user("Move the billing database to Frankfurt."), user("But keep the old one until Friday."))
    assert state.goal == "Move the billing database to Frankfurt."
    assert state.latest_instruction == "But keep the old one until Friday."


def test_a_tool_call_is_in_use_finishes_a_step_or_is_where_it_is_stuck() -> None:
    state = after(tool("pg_dump", True, "12 GB written", database="billing"))
    assert state.tool_in_use is not None
    assert (state.tool_in_use.name, state.tool_in_use.arguments) == ("pg_dump", {"database": "billing"})
    assert state.finished_steps == ("pg_dump: 12 GB written",)
    stuck = after(tool("pg_restore", False, "disk full", host="fra1"), state=state)
    assert stuck.stuck_on == "pg_restore: disk full"
    assert after(tool("pg_restore", True, "ok"), state=stuck).stuck_on is None


def test_what_an_assistant_says_is_next_done_stuck_or_open() -> None:
    state = after(assistant("The dump is done. Next I will copy it to fra1. Still need to inform the billing team."))
    assert state.finished_steps == ("The dump is done.",)
    assert state.next_step == "Next I will copy it to fra1."
    assert state.pending_issues == ("Still need to inform the billing team.",)
    assert (
        after(assistant("The copy failed with a timeout."), state=state).stuck_on == "The copy failed with a timeout."
    )
    zh = after(assistant("备份已完成。接下来把它复制到新机器。"))
    assert (zh.finished_steps, zh.next_step) == (("备份已完成。",), "接下来把它复制到新机器。")


def test_a_preference_is_kept_once() -> None:
    state = after(user("I prefer short answers."), user("I prefer short answers."), kind=Kind.PREFERENCE)
    assert state.preferences == ("I prefer short answers.",)


def test_compression_keeps_the_core_within_the_budget() -> None:
    state = after(user("Move the billing database to Frankfurt."), user("Keep the old one until Friday."))
    state = after(
        *(assistant(f"I looked at table {n} and found {n * 7} rows in it, {SAME}.") for n in range(400)), state=state
    )
    state = after(
        *(tool("copy", True, f"part {n} copied") for n in range(30)),
        tool("copy", False, "disk full", part=31),
        state=state,
    )
    state = after(assistant("Next I will free some space."), state=state)
    assert tokens(state) > BUDGET
    small = compressed(state)
    assert tokens(small) <= BUDGET
    for name in ("goal", "latest_instruction", "tool_in_use", "stuck_on", "next_step"):
        assert getattr(small, name) == getattr(state, name), name
    assert small.finished_steps == state.finished_steps
    assert compressed(small) == small
    tiny = compressed(state, 300)
    assert tokens(tiny) <= 300
    assert (tiny.goal, tiny.tool_in_use, tiny.next_step) == (state.goal, state.tool_in_use, state.next_step)
    assert len(tiny.finished_steps) >= 5


def test_long_arguments_are_cut_only_when_nothing_else_helps() -> None:
    state = after(user("Load the file."), tool("load", False, "no", content="x" * 15_000))
    small = compressed(state, 400)
    assert tokens(small) <= 400
    assert small.tool_in_use is not None
    assert small.tool_in_use.name == "load"
    assert str(small.tool_in_use.arguments["content"]).endswith("…")


def test_what_is_forgotten_goes_from_the_state() -> None:
    state = after(user("My cat is called Zorro."), user("Feed him at six."), assistant("Done: Zorro is fed."))
    left = without(state, ["My cat is called Zorro."])
    assert (left.goal, left.latest_instruction) == (None, "Feed him at six.")
