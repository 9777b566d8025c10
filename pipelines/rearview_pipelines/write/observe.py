"""Observed turns: scrubbed, through the gate, what passes into memory, and all of them into the transcript."""

from collections.abc import Awaitable, Callable
from typing import Any

from rearview_pipelines.memory import Draft, Layer, Source, SourceKind
from rearview_pipelines.principal import Principal
from rearview_pipelines.privacy.scrub import Found
from rearview_pipelines.receipts import Receipt, Status
from rearview_pipelines.requests import ObserveRequest, Turn
from rearview_pipelines.sessions.transcript import Transcripts
from rearview_pipelines.write.admit import admit
from rearview_pipelines.write.gate.judge import Gate, gate
from rearview_pipelines.write.item import Item, Tools

RECALLED = 20
"""Memories handed out lately that a turn may be an echo of."""
CONFIDENCE = 0.6
"""What was overheard is a little less sure than what was told."""
Write = Callable[[list[Item]], Awaitable[list[Receipt]]]


async def observe(
    principal: Principal, request: ObserveRequest, tools: Tools, transcripts: Transcripts, write: Write
) -> list[Receipt]:
    """A receipt a turn, in order. Raises Unavailable if the turns could not be kept; a retry is harmless."""
    agent, user = principal.settle_agent(request.agent), principal.settle_user(request.user)
    first = await transcripts.next_turn(principal.tenant, request.session)
    recalled = await _recalled(principal, request.session, tools)
    turns = [_scrubbed(turn, principal.tenant, tools) for turn in request.turns]
    receipts: list[Receipt | None] = [None] * len(turns)
    items: list[Item] = []
    places: list[int] = []
    for place, (turn, found) in enumerate(turns):
        redactions = dict(found.redactions)
        if tools.scrubber is not None and tools.scrubber.refuses(found):
            reasons = tuple(f"secret:{kind}" for kind in sorted(found.secrets))
            receipts[place] = Receipt(
                id=None, status=Status.REJECTED, reasons=reasons, redactions=redactions, version=0
            )
            continue
        verdict = gate(turn.text, turn.role, recalled)
        if not verdict.keep:
            receipts[place] = Receipt(
                id=None, status=Status.SKIPPED, reasons=(_why_not(verdict),), redactions=redactions, version=0
            )
            continue
        [item] = admit(principal, [_draft(turn, request, first + place, verdict)])
        item.redactions = redactions
        item.reasons.append(f"gate:{verdict.reason}")
        items.append(item)
        places.append(place)
    for place, receipt in zip(places, await write(items) if items else [], strict=True):
        receipts[place] = receipt
    done = [receipt for receipt in receipts if receipt is not None]
    await transcripts.append(
        principal,
        {
            "session": request.session,
            "agent": agent,
            "user": user,
            "task": request.task,
            "task_type": request.task_type,
            "first": first,
            "at": tools.clock.now().isoformat(),
            "turns": [_entry(turn, first + n, r) for n, ((turn, _), r) in enumerate(zip(turns, done, strict=True))],
        },
    )
    return done


async def _recalled(principal: Principal, session: str, tools: Tools) -> list[str]:
    ids = tools.handouts.lately(principal.tenant, principal.id, session, RECALLED)
    found = await tools.index.get(principal.tenant, ids) if ids else {}
    return [memory.text for memory in found.values()]


def _scrubbed(turn: Turn, tenant: str, tools: Tools) -> tuple[Turn, Found]:
    """The turn without secrets and personal data, in its tool calls too; for the transcript as for memory."""
    found = Found()
    scrubber = tools.scrubber
    if scrubber is None:
        return turn, found
    body = scrubber.json(turn.model_dump(mode="json", exclude={"role", "occurred_at"}), tenant, found, limit=1 << 20)
    return Turn.model_construct(**(dict(turn) | body)), found


def _why_not(verdict: Gate) -> str:
    return "echo" if verdict.reason == "echo" else f"gate:{verdict.reason}"


def _draft(turn: Turn, request: ObserveRequest, number: int, verdict: Gate) -> Draft:
    tool = turn.tool_calls[0]["name"] if turn.role == "tool" and turn.tool_calls else None
    return Draft(
        text=turn.text,
        layer=Layer.EPISODIC,
        kind=verdict.kind,
        session=request.session,
        task=request.task,
        task_type=request.task_type,
        agent=request.agent,
        user=request.user,
        ref=turn.ref,
        occurred_at=turn.occurred_at,
        confidence=CONFIDENCE,
        source=Source(kind=SourceKind.TURN, speaker=turn.speaker or turn.role, turn=number, tool=tool),
    )


def _entry(turn: Turn, number: int, receipt: Receipt) -> dict[str, Any]:
    """A turn as the transcript keeps it."""
    entry: dict[str, Any] = {
        "turn": number,
        "role": turn.role,
        "text": turn.text,
        "status": receipt.status.value,
        "id": receipt.id,
    }
    if turn.occurred_at is not None:
        entry["occurred_at"] = turn.occurred_at.isoformat()
    optional = {"speaker": turn.speaker, "ref": turn.ref, "tool_calls": list(turn.tool_calls)}
    return entry | {name: value for name, value in optional.items() if value}
