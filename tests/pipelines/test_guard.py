"""What the guard keeps out of memory, through the whole write path, and that nothing of it asks a network."""

import socket
from typing import Any

import pytest

from rearview_pipelines.ledger.ledger import Ledger
from rearview_pipelines.principal import Principal
from rearview_pipelines.privacy.policy import read_policy
from rearview_pipelines.privacy.scrub import Found, Scrubber
from rearview_pipelines.receipts import Receipt
from rearview_pipelines.requests import WriteRequest, parse
from rearview_pipelines.service import MemoryService
from rearview_pipelines.testing import FakeClock, HashEmbedder, MemoryIndexInMemory
from rearview_pipelines.write.admit import admit
from rearview_pipelines.write.item import Tools
from rearview_pipelines.write.keys import KeyRing
from rearview_pipelines.write.writer import Writer

MAIL, SECRET = "joe@example.com", "my password is Summer2024!"


async def write(service: MemoryService, who: Principal, text: str, **fields: Any) -> Receipt:
    [receipt] = await service.write(who, parse(WriteRequest, {"memories": [{"text": text} | fields]}))
    return receipt


@pytest.mark.parametrize(
    ("text", "fields", "reasons"),
    [
        (f"{MAIL}, 13900001872", {}, ("pii:nothing_left",)),
        (SECRET, {}, ("secret:password",)),
        ("tea is green", {"metadata": {"note": SECRET}}, ("secret:password",)),
        ("tea is green", {"session": SECRET}, ("secret:password",)),
        ("tea is green", {"user": SECRET}, ("secret:password",)),
    ],
)
async def test_nothing_is_kept_and_the_receipt_says_why(
    service: MemoryService,
    admin: Principal,
    index: MemoryIndexInMemory,
    text: str,
    fields: dict[str, Any],
    reasons: tuple[str, ...],
) -> None:
    receipt = await write(service, admin, text, **fields)
    assert (receipt.id, receipt.reasons) == (None, reasons)
    assert index.rows == {}
    assert "Summer2024" not in receipt.model_dump_json()
    assert MAIL not in receipt.model_dump_json()


async def test_a_text_full_of_addresses_is_kept_without_them(
    service: MemoryService, admin: Principal, index: MemoryIndexInMemory
) -> None:
    receipt = await write(service, admin, "Write to " + " or ".join(f"u{n}@ex.com" for n in range(1000)))
    assert receipt.redactions == {"EMAIL_ADDRESS": 1000}
    [(memory, _)] = index.rows.values()
    assert "@ex.com" not in memory.text


async def test_what_the_policy_rejects_is_named_with_the_secret_beside_it(
    index: MemoryIndexInMemory,
    embedder: HashEmbedder,
    ring: KeyRing,
    clock: FakeClock,
    ledger: Ledger,
    admin: Principal,
) -> None:
    scrubber = Scrubber(read_policy(actions={"EMAIL_ADDRESS": "reject"}), ring)
    writer = Writer(Tools(index, embedder, ring, clock, ledger, scrubber))
    drafts = parse(WriteRequest, {"memories": [{"text": f"mail {MAIL}"}, {"text": f"mail {MAIL}, {SECRET}"}]}).memories
    receipts = await writer.write(admin, admit(admin, drafts))
    assert [r.reasons for r in receipts] == [("pii:EMAIL_ADDRESS",), ("secret:password", "pii:EMAIL_ADDRESS")]
    assert index.rows == {}


@pytest.mark.parametrize("preset", ["patterns", "strict"])
def test_nothing_touches_the_network(preset: str, ring: KeyRing, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_: object, **__: object) -> None:
        raise AssertionError("asked the network")

    for name in ("connect", "connect_ex", "sendto"):
        monkeypatch.setattr(socket.socket, name, refused)
    monkeypatch.setattr(socket, "getaddrinfo", refused)
    scrubber = Scrubber(read_policy(preset=preset), ring)
    assert scrubber.text(f"Ask Maria Lopez, {MAIL}, +44 20 7946 0958", "t", Found()).count("<") >= 2
