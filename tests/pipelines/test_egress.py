"""What leaves is scrubbed once more, and only its right reads what was encrypted."""

from rearview_pipelines.memory import Memory
from rearview_pipelines.privacy.egress import Egress
from rearview_pipelines.privacy.policy import read_policy
from rearview_pipelines.privacy.scrub import Found, Scrubber
from rearview_pipelines.testing import FakeClock
from rearview_pipelines.write.keys import KeyRing

RING = KeyRing(b"i" * 32, {"k1": b"m" * 32}, "k1")


def memory(text: str, **fields: object) -> Memory:
    now = FakeClock().now()
    return Memory.model_validate(
        {"id": "m_a", "tenant": "t", "text": text, "layer": "semantic", "created_at": now, "updated_at": now} | fields
    )


def test_a_memory_of_before_the_policy_is_masked_on_its_way_out() -> None:
    out = Egress(Scrubber(read_policy(), RING), RING).out(memory("mail joe@example.com", tags=("13900001872",)))
    assert out.text == "mail <EMAIL_ADDRESS>"
    assert out.tags == ("<PHONE_NUMBER>",)


def test_a_clean_memory_is_looked_at_once() -> None:
    egress = Egress(Scrubber(read_policy(), RING), RING)
    clean = memory("tea is green")
    assert egress.out(clean) is clean
    assert egress.out(clean) is clean
    assert egress.out(memory("mail joe@example.com")).text == "mail <EMAIL_ADDRESS>"


def test_reveal_reads_what_was_encrypted() -> None:
    scrubber = Scrubber(read_policy(actions={"EMAIL_ADDRESS": "encrypt"}), RING)
    sealed = scrubber.text("mail joe@example.com", "t", Found())
    egress = Egress(scrubber, RING)
    kept = memory(sealed, data={"a": [sealed]})
    assert egress.out(kept).text == sealed
    shown = egress.out(kept, reveal=True)
    assert shown.text == "mail joe@example.com"
    assert shown.data == {"a": ["mail joe@example.com"]}
