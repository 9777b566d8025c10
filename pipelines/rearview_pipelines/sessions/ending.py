"""What is left of a session when it ends: an episode in one line, and the facts that were stated in it. Pure.

The same session ends in the same memories, so an end that was cut short is simply asked for again.
"""

from collections.abc import Sequence
from datetime import datetime

from rearview_pipelines.memory import Draft, Kind, Layer, Outcome, Source, SourceKind
from rearview_pipelines.sessions.shortening import shortened
from rearview_pipelines.sessions.summary import Said, Statement, statements
from rearview_pipelines.sessions.working import Session

LINE = 80
"""Characters of an episode: goal, action, result."""
SUMMARY = 200
MOST_SOURCES = 64
_GOAL, _ACTION = 34, 22
_ARROW = " → "
_FACTS = (Kind.FACT, Kind.PREFERENCE, Kind.DECISION)


def ended(session: Session, turns: Sequence[Said], outcome: Outcome | None) -> list[Draft]:
    """The drafts that a session leaves; none if nothing happened in it."""
    if session.state.goal is None and not turns:
        return []
    said = statements(turns)
    settled = outcome or outcome_of(session)
    return [_episode(session, turns, said, settled), *(_fact(session, one) for one in said if one.kind in _FACTS)]


def outcome_of(session: Session) -> Outcome | None:
    """How it went, as far as the state says."""
    state = session.state
    if state.stuck_on is not None:
        return Outcome.PARTIAL if state.finished_steps else Outcome.FAILURE
    return Outcome.SUCCESS if state.finished_steps else None


def line(session: Session, outcome: Outcome | None) -> str:
    """Goal, action and result in at most 80 characters."""
    state = session.state
    action = (state.recent_actions or state.finished_steps or ("",))[-1]
    result = state.stuck_on or (state.finished_steps[-1] if state.finished_steps else "")
    if outcome is not None:
        result = outcome.value if not result or result == action else f"{outcome.value}: {result}"
    pieces = [shortened(state.goal or "a session", _GOAL), shortened(action, _ACTION) if action else ""]
    left = LINE - sum(len(piece) for piece in pieces if piece) - len(_ARROW) * sum(bool(piece) for piece in pieces)
    pieces.append(shortened(result, left) if result else "")
    return _ARROW.join(piece for piece in pieces if piece)


def _episode(session: Session, turns: Sequence[Said], said: Sequence[Statement], outcome: Outcome | None) -> Draft:
    told = [id_ for one in said for id_ in one.sources]  # what the summary is made of comes first
    sources = tuple(dict.fromkeys([*told, *(turn.id for turn in reversed(turns) if turn.id)]))[:MOST_SOURCES]
    summary = shortened(" ".join(one.text for one in said), SUMMARY)
    return Draft(
        text=line(session, outcome),
        layer=Layer.EPISODIC,
        kind=Kind.NOTE,
        outcome=outcome,
        source=Source(kind=SourceKind.REFLECTION, derived_from=sources),
        data={"summary": summary} if summary else None,
        **_about(session, session.updated_at),
    )


def _fact(session: Session, one: Statement) -> Draft:
    return Draft(
        text=one.text,
        layer=Layer.SEMANTIC,
        kind=one.kind,
        tags=one.tags,
        source=Source(kind=SourceKind.REFLECTION, derived_from=one.sources),
        **_about(session, session.updated_at),
    )


def _about(session: Session, at: datetime) -> dict[str, object]:
    return {
        "session": session.session,
        "task": session.task,
        "task_type": session.task_type,
        "agent": session.agent or None,
        "user": session.user or None,
        "occurred_at": at,
    }
