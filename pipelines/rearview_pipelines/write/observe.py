"""Observed turns: scrubbed, through the gate, what passes into memory, and all of them into the transcript."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from rearview_pipelines.errors import InvalidInput, PatternTooSlow
from rearview_pipelines.fields import MAX_DATA_BYTES, MAX_NAME
from rearview_pipelines.memory import Draft, Layer, Source, SourceKind
from rearview_pipelines.principal import Principal
from rearview_pipelines.privacy.scrub import Found
from rearview_pipelines.receipts import Receipt, Status
from rearview_pipelines.requests import ObserveRequest, Turn
from rearview_pipelines.sessions.keeper import Sessions
from rearview_pipelines.sessions.transcript import Transcripts
from rearview_pipelines.write.admit import admit
from rearview_pipelines.write.gate.judge import Gate, gate
from rearview_pipelines.write.guard import refusals, secret_codes
from rearview_pipelines.write.item import Item, Tools

RECALLED = 20
"""Memories handed out lately that a turn may be an echo of."""
CONFIDENCE = 0.6
"""What was overheard is a little less sure than what was told."""
Write = Callable[[list[Item]], Awaitable[list[Receipt]]]


@dataclass
class Seen:
    """A turn as it may be kept: its words, what was found in them, why it is refused, secrets in its tool calls."""

    turn: Turn
    found: Found
    refused: tuple[str, ...] = ()
    called: tuple[str, ...] = ()


async def observe(
    principal: Principal,
    request: ObserveRequest,
    tools: Tools,
    transcripts: Transcripts,
    write: Write,
    sessions: Sessions | None = None,
) -> list[Receipt]:
    """A receipt a turn, in order. Raises Unavailable if the turns could not be kept; a retry is harmless.

    Raises InvalidInput for a secret in the session's name.
    """
    agent, user = principal.settle_agent(request.agent), principal.settle_user(request.user)
    _require_plain_names(request, tools)
    request = _scrubbed_request(request, principal.tenant, tools)
    now = tools.clock.now()
    first = await transcripts.next_turn(principal.tenant, request.session)
    recalled = await _recalled(principal, request.session, tools)
    seen = [await _scrubbed(turn, principal.tenant, tools) for turn in request.turns]
    receipts: list[Receipt | None] = [None] * len(seen)
    items: list[Item] = []
    places: list[int] = []
    for place, one in enumerate(seen):
        redactions = dict(one.found.redactions)
        if one.refused:
            receipts[place] = _receipt(Status.REJECTED, one.refused, redactions)
            continue
        verdict = gate(one.turn.text, one.turn.role, recalled)
        await asyncio.sleep(0)  # other requests are waiting for this loop
        if not verdict.keep:
            receipts[place] = _receipt(Status.SKIPPED, (_why_not(verdict), *one.called), redactions)
            continue
        [item] = admit(principal, [_draft(one.turn, request, first + place, verdict)])
        item.redactions = redactions
        item.reasons += [f"gate:{verdict.reason}", *one.called]
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
            "at": now.isoformat(),
            "turns": [_entry(one.turn, first + n, r) for n, (one, r) in enumerate(zip(seen, done, strict=True))],
        },
    )
    if sessions is not None:
        kinds = {place: item.draft.kind for place, item in zip(places, items, strict=True)}
        turns = [(one.turn, kinds.get(n), r.id) for n, (one, r) in enumerate(zip(seen, done, strict=True))]
        await sessions.observed(
            principal, request, agent, user, [t for t, s in zip(turns, seen, strict=True) if not s.refused], now
        )
    return done


def _receipt(status: Status, reasons: tuple[str, ...], redactions: dict[str, int]) -> Receipt:
    return Receipt(id=None, status=status, reasons=reasons, redactions=redactions, version=0)


def _require_plain_names(request: ObserveRequest, tools: Tools) -> None:
    """Whose and where are names, kept as they are given: they must hold no secret."""
    for name in ("session", "agent", "user"):
        if tools.scrubber is not None and tools.scrubber.secrets(getattr(request, name)):
            raise InvalidInput.one(name, "holds a secret", "use a name that is none")


def _scrubbed_request(request: ObserveRequest, tenant: str, tools: Tools) -> ObserveRequest:
    if tools.scrubber is None:
        return request
    about = {
        name: tools.scrubber.text(value, tenant, Found(), MAX_NAME)
        for name in ("task", "task_type")
        if (value := getattr(request, name)) is not None
    }
    return request.model_copy(update=about)


async def _recalled(principal: Principal, session: str, tools: Tools) -> list[str]:
    ids = tools.handouts.lately(principal.tenant, principal.id, session, RECALLED)
    found = await tools.index.get(principal.tenant, ids) if ids else {}
    return [memory.text for memory in found.values()]


async def _scrubbed(turn: Turn, tenant: str, tools: Tools) -> Seen:
    """The turn without secrets and personal data, in its tool calls too; for the transcript as for memory.

    A secret in a call's arguments is taken out; it does not take the turn's words with it.
    """
    scrubber = tools.scrubber
    if scrubber is None:
        return Seen(turn, Found())
    found, called = Found(), Found()
    try:
        update: dict[str, Any] = {"text": scrubber.text(turn.text, tenant, found)}
        for name in ("speaker", "ref"):
            if (value := getattr(turn, name)) is not None:
                update[name] = scrubber.text(value, tenant, found, MAX_NAME)
        calls = []
        for call in turn.tool_calls:
            calls.append(scrubber.json(call, tenant, called, MAX_DATA_BYTES))
            await asyncio.sleep(0)  # a call has up to 16 KiB: ten milliseconds
    except PatternTooSlow:
        bare = turn.model_copy(update={"text": "", "speaker": None, "ref": None, "tool_calls": ()})
        return Seen(bare, Found(), ("pii:unchecked",))
    clean = turn.model_copy(update=update | {"tool_calls": tuple(calls)})
    refused = refusals(found, clean.text, scrubber)
    noted = (*(() if refused else secret_codes(found)), *secret_codes(called))
    found.redactions += called.redactions
    return Seen(clean, found, refused, noted)


def _why_not(verdict: Gate) -> str:
    return "echo" if verdict.reason == "echo" else f"gate:{verdict.reason}"


def _draft(turn: Turn, request: ObserveRequest, number: int, verdict: Gate) -> Draft:
    tool = turn.tool_calls[0]["name"][:MAX_NAME].strip() if turn.role == "tool" and turn.tool_calls else None
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
        source=Source(kind=SourceKind.TURN, speaker=turn.speaker or turn.role, turn=number, tool=tool or None),
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
