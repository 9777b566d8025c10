"""Observed turns: a receipt each, what is kept and why, and a transcript of all of them, scrubbed."""

from typing import Any

import pytest

from rearview_pipelines.errors import Forbidden, InvalidInput, NotFound, Unavailable
from rearview_pipelines.ledger.ledger import Ledger
from rearview_pipelines.memory import Layer, SourceKind
from rearview_pipelines.principal import Principal, Role
from rearview_pipelines.privacy.policy import Policy
from rearview_pipelines.privacy.scrub import Scrubber
from rearview_pipelines.recall.pipeline import RecallPipeline
from rearview_pipelines.receipts import Receipt, Status
from rearview_pipelines.requests import ForgetRequest, ObserveRequest, RecallRequest, TranscriptRequest, parse
from rearview_pipelines.service import MemoryService, Trust
from rearview_pipelines.sessions.transcript import Transcripts
from rearview_pipelines.testing import FakeClock, HashEmbedder, MemoryIndexInMemory, ObjectStoreInMemory
from rearview_pipelines.write.item import Tools
from rearview_pipelines.write.keys import KeyRing
from rearview_pipelines.write.writer import Writer

SECRET = "my password is Summer2024!"


@pytest.fixture
def service(
    index: MemoryIndexInMemory,
    embedder: HashEmbedder,
    ring: KeyRing,
    clock: FakeClock,
    ledger: Ledger,
    objects: ObjectStoreInMemory,
) -> MemoryService:
    scrubber, transcripts = Scrubber(Policy(), ring), Transcripts(objects, ring)
    writer = Writer(Tools(index, embedder, ring, clock, ledger, scrubber), transcripts)
    recaller = RecallPipeline(index, embedder, None, ring, clock, ledger)
    trust = Trust(ring, ledger, scrubber, transcripts)
    return MemoryService(writer, recaller, index, embedder, None, 0.0, trust, clock)


def turns(*texts: str, session: str = "s1", **fields: Any) -> ObserveRequest:
    return parse(ObserveRequest, {"session": session, "turns": [{"text": t} for t in texts]} | fields)


async def transcript(service: MemoryService, who: Principal, **query: Any) -> list[dict[str, Any]]:
    return (await service.transcript(who, parse(TranscriptRequest, {"session": "s1"} | query))).turns


async def test_a_receipt_a_turn_and_why(service: MemoryService, admin: Principal, index: MemoryIndexInMemory) -> None:
    receipts = await service.observe(
        admin, turns("Hi there!", "I moved to Leeds last month, mail me at joe@example.com", SECRET, "thanks a lot")
    )
    assert [(r.status, r.reasons) for r in receipts] == [
        (Status.SKIPPED, ("gate:greeting",)),
        (Status.STORED, ("gate:fact",)),
        (Status.REJECTED, ("secret:password",)),
        (Status.SKIPPED, ("gate:thanks",)),
    ]
    assert receipts[1].redactions == {"EMAIL_ADDRESS": 1}
    memory = index.rows[str(receipts[1].id)][0]
    assert (memory.source.kind, memory.source.turn, memory.layer) == (SourceKind.TURN, 1, Layer.EPISODIC)
    assert memory.session == "s1"
    kept = await transcript(service, admin)
    assert [t["turn"] for t in kept] == [0, 1, 2, 3]
    assert "joe@example.com" not in str(kept)
    assert "Summer2024" not in str(kept)
    assert kept[1]["id"] == memory.id


async def test_no_value_stands_in_any_object(
    service: MemoryService, admin: Principal, objects: ObjectStoreInMemory, caplog: pytest.LogCaptureFixture
) -> None:
    call = {"name": "login", "arguments": {"user": "joe@example.com", "password": "Summer2024!"}, "ok": True}
    request = {
        "session": "s1",
        "turns": [{"role": "tool", "text": SECRET, "tool_calls": [call], "speaker": "joe@example.com"}],
    }
    await service.observe(admin, parse(ObserveRequest, request))
    everything = b"".join(objects.objects.values()).decode() + caplog.text
    assert "Summer2024" not in everything
    assert "joe@example.com" not in everything


async def test_an_echo_of_what_was_recalled_is_not_kept(service: MemoryService, admin: Principal) -> None:
    await service.observe(admin, turns("Production runs on Kubernetes 1.29 in two regions."))
    await service.recall(admin, parse(RecallRequest, {"query": "Kubernetes", "session": "s1"}))
    await service.settled()
    request = {
        "session": "s1",
        "turns": [{"role": "assistant", "text": "Right, production runs on Kubernetes 1.29 in two regions."}],
    }
    [receipt] = await service.observe(admin, parse(ObserveRequest, request))
    assert (receipt.status, receipt.reasons) == (Status.SKIPPED, ("echo",))


async def test_pages_and_scopes_of_a_transcript(service: MemoryService, admin: Principal) -> None:
    ana = Principal("default", Role.WRITER, "ana", None, frozenset(), "tok_a")
    bo = Principal("default", Role.WRITER, "bo", None, frozenset(), "tok_b")
    await service.observe(ana, turns("one fact is 1", "two facts are 2"))
    await service.observe(ana, turns("three facts are 3"))
    page = await service.transcript(ana, parse(TranscriptRequest, {"session": "s1", "limit": 2}))
    assert ([t["turn"] for t in page.turns], page.next) == ([0, 1], 2)
    assert [t["turn"] for t in await transcript(service, ana, cursor=2)] == [2]
    with pytest.raises(NotFound):
        await transcript(service, bo)
    with pytest.raises(NotFound):
        await transcript(service, Principal("other", Role.ADMIN, id="tok_o"))


async def test_a_session_that_is_forgotten_leaves_no_transcript(
    service: MemoryService, admin: Principal, objects: ObjectStoreInMemory
) -> None:
    receipts = await service.observe(admin, turns("the cat is called Biscuit", "the dog is called Rex", "hello"))
    await service.forget(admin, ForgetRequest(ids=(str(receipts[0].id),)))
    assert [t["text"] for t in await transcript(service, admin)] == ["the dog is called Rex", "hello"]
    await service.forget(admin, ForgetRequest(session="s1"))
    with pytest.raises(NotFound):
        await transcript(service, admin)
    assert not any(b"Biscuit" in raw or b"Rex" in raw for raw in objects.objects.values())


async def test_an_altered_transcript_is_left_out(
    service: MemoryService, admin: Principal, objects: ObjectStoreInMemory
) -> None:
    await service.observe(admin, turns("the cat is called Biscuit"))
    [name] = [n for n in objects.objects if n.startswith("transcripts/")]
    objects.objects[name] = objects.objects[name].replace(b"Biscuit", b"Tiger99")
    with pytest.raises(NotFound):
        await transcript(service, admin)


async def test_a_repeat_with_its_key_is_answered_and_kept_once(service: MemoryService, admin: Principal) -> None:
    first = await service.observe(admin, turns("the cat is called Biscuit"), "key-1")
    again = await service.observe(admin, turns("the cat is called Biscuit"), "key-1")
    assert first == again
    assert len(await transcript(service, admin)) == 1
    with pytest.raises(InvalidInput):
        await service.observe(admin, turns("something else"), "key-1")


async def test_an_object_store_that_is_down_keeps_nothing_and_says_so(
    service: MemoryService, admin: Principal, objects: ObjectStoreInMemory, index: MemoryIndexInMemory
) -> None:
    objects.failing = True
    with pytest.raises(Unavailable):
        await service.observe(admin, turns("the cat is called Biscuit"))
    assert index.rows == {}
    with pytest.raises(Forbidden):
        await service.observe(Principal("default", Role.READER, id="r"), turns("x is 1"))


@pytest.mark.parametrize(
    ("request_", "field"),
    [
        ({"turns": [{"text": "x"}]}, "session"),
        ({"session": "s", "turns": []}, "turns"),
        ({"session": "s", "turns": [{"text": "x", "role": "robot"}]}, "turns[0].role"),
        ({"session": "s", "turns": [{"text": "x" * 16_385}]}, "turns[0].text"),
        ({"session": "s", "turns": [{"tool_calls": [{"arguments": {}}]}]}, "turns[0].tool_calls[0]"),
        ({"session": "s", "turns": [{"text": "x", "colour": "red"}]}, "turns[0].colour"),
    ],
)
def test_bad_observations_name_their_field(request_: dict[str, Any], field: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        parse(ObserveRequest, request_)
    assert field in [e.field for e in caught.value.errors]


def test_receipts_are_whole(service: MemoryService) -> None:
    assert set(Receipt.model_fields) >= {
        "id",
        "status",
        "reasons",
        "redactions",
        "version",
        "supersedes",
        "related",
        "after",
    }


async def test_the_task_is_scrubbed_too(service: MemoryService, admin: Principal) -> None:
    task = f"mail bob@corp.example, {SECRET}"
    await service.observe(admin, turns("I moved to Leeds last month.", task=task, task_type="call 13812345678"))
    [turn] = await transcript(service, admin)
    assert turn["task"] == "mail <EMAIL_ADDRESS>, my password is <SECRET:password>"
    assert turn["task_type"] == "call <PHONE_NUMBER>"


async def test_a_secret_in_a_name_is_refused(service: MemoryService, admin: Principal) -> None:
    with pytest.raises(InvalidInput, match="session"):
        await service.observe(
            admin, turns("I moved to Leeds.", session="gh" + "p_FaQPs7DbUFf3M08W0ZryAh2GKLHZuEJIKq7F")
        )


async def test_a_secret_in_a_tool_call_does_not_take_the_words_along(service: MemoryService, admin: Principal) -> None:
    token = "gh" + "p_FaQPs7DbUFf3M08W0ZryAh2GKLHZuEJIKq7F"
    turn = {
        "text": "We decided to ship the release on Tuesday.",
        "tool_calls": [{"name": "push", "arguments": {"t": token}}],
    }
    [receipt] = await service.observe(admin, parse(ObserveRequest, {"session": "s1", "turns": [turn]}))
    assert (receipt.status, "secret:github_token" in receipt.reasons) == (Status.STORED, True)
    assert token not in str(await transcript(service, admin))


async def test_names_of_any_length_are_kept_within_their_bounds(service: MemoryService, admin: Principal) -> None:
    turn = {
        "role": "tool",
        "text": "error: exit code 3 in step 7",
        "speaker": "a@b.co " * 18,
        "ref": "a@b.co " * 18,
        "tool_calls": [{"name": "n" * 900}],
    }
    [receipt] = await service.observe(admin, parse(ObserveRequest, {"session": "s1", "turns": [turn]}))
    assert receipt.status is Status.STORED


async def test_a_policy_that_rejects_rejects_turns_too(
    index: MemoryIndexInMemory,
    embedder: HashEmbedder,
    ring: KeyRing,
    clock: FakeClock,
    ledger: Ledger,
    objects: ObjectStoreInMemory,
    admin: Principal,
) -> None:
    scrubber, transcripts = Scrubber(Policy(actions={"EMAIL_ADDRESS": "reject"}), ring), Transcripts(objects, ring)
    writer = Writer(Tools(index, embedder, ring, clock, ledger, scrubber), transcripts)
    [receipt] = await writer.observe(admin, turns("I moved to Leeds, mail me at joe@example.com"))
    assert (receipt.status, receipt.reasons) == (Status.REJECTED, ("pii:EMAIL_ADDRESS",))
    assert not any(b"joe@" in raw for raw in objects.objects.values())
