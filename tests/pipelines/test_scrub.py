"""Scrubbing: every field, every action, nothing of a value left, and nothing made worse by doing it twice."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rearview_pipelines.errors import PatternTooSlow
from rearview_pipelines.fields import MAX_TEXT_BYTES
from rearview_pipelines.memory import Draft
from rearview_pipelines.privacy.actions import revealed
from rearview_pipelines.privacy.policy import Policy, read_policy
from rearview_pipelines.privacy.scrub import Found, Scrubber
from rearview_pipelines.write.keys import KeyRing

RING = KeyRing(b"i" * 32, {"k1": b"m" * 32, "k2": b"n" * 32}, "k1")
SCRUBBER = Scrubber(Policy(), RING)
MAIL = "joe@example.com"


def scrub(text: str, tenant: str = "t", **policy: object) -> str:
    return Scrubber(read_policy(**policy), RING).text(text, tenant, Found())


@pytest.mark.parametrize(
    ("action", "expected"),
    [("replace", "mail <EMAIL_ADDRESS> now"), ("mask", "mail *************** now"), ("keep", f"mail {MAIL} now")],
)
def test_actions(action: str, expected: str) -> None:
    assert scrub(f"mail {MAIL} now", actions={"EMAIL_ADDRESS": action}) == expected


def test_a_hash_is_stable_in_a_tenant_and_means_nothing_outside() -> None:
    hashed = {tenant: scrub(MAIL, tenant, actions={"EMAIL_ADDRESS": "hash"}) for tenant in ("a", "b")}
    assert hashed["a"] == scrub(MAIL, "a", actions={"EMAIL_ADDRESS": "hash"})
    assert hashed["a"] != hashed["b"]
    assert "joe" not in hashed["a"]


def test_encrypted_values_come_back_in_their_tenant_whatever_becomes_of_the_signing_keys() -> None:
    sealed = scrub(f"mail {MAIL} now", actions={"EMAIL_ADDRESS": "encrypt"})
    assert "joe" not in sealed
    assert revealed(sealed, "t", RING) == f"mail {MAIL} now"
    assert revealed(sealed, "other", RING) == sealed
    rotated = KeyRing(RING.identity, RING.masters, "k2")
    assert revealed(sealed, "t", rotated) == f"mail {MAIL} now"
    revoked = KeyRing(RING.identity, RING.masters, "k2", frozenset({"k1"}))
    assert revealed(sealed, "t", revoked) == f"mail {MAIL} now"
    assert revealed(sealed, "t", KeyRing(b"j" * 32, RING.masters, "k1")) == sealed
    assert sealed == scrub(f"mail {MAIL} now", actions={"EMAIL_ADDRESS": "encrypt"})  # twice is one memory


def test_words_dressed_up_as_a_token_are_still_scrubbed() -> None:
    sneaked = "<KEY:enc:siv1:ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8>"
    assert revealed(sneaked, "t", RING) == sneaked
    assert "ghp_" not in scrub(sneaked)
    assert revealed("<AB:enc:siv1:" + "A" * 21 + ">", "t", RING) == "<AB:enc:siv1:" + "A" * 21 + ">"


def test_every_field_that_carries_words_is_scrubbed() -> None:
    draft = Draft(
        text=f"text {MAIL}",
        key=f"key {MAIL}",
        tags=(MAIL, "tea"),
        ref=MAIL,
        namespace=f"a/{MAIL}",
        task=MAIL,
        task_type=MAIL,
        metadata={"who": MAIL, MAIL: 1},
        data={"deep": [{"er": MAIL}]},
        source={"speaker": MAIL, "tool": MAIL},
    )
    done, found = Scrubber(Policy(), RING).draft(draft, "t")
    assert MAIL not in done.model_dump_json()
    assert found.redactions == {"EMAIL_ADDRESS": 12}
    assert done.tags == ("<EMAIL_ADDRESS>", "tea")


def test_what_would_grow_over_its_limit_is_masked_instead() -> None:
    text = ("a.person%d@example.com, " * 640) % tuple(range(640))
    done = scrub(text, actions={"EMAIL_ADDRESS": "encrypt"})
    assert "example.com" not in done
    assert len(done.encode()) <= MAX_TEXT_BYTES
    draft = Draft(text="x", tags=("a@b.example",), metadata={f"k{n}": "a@b.example" for n in range(80)})
    done_draft, _ = Scrubber(read_policy(actions={"EMAIL_ADDRESS": "encrypt"}), RING).draft(draft, "t")
    assert "a@b" not in done_draft.model_dump_json()
    Draft.model_validate(done_draft.model_dump())


def test_secrets_win_over_personal_data() -> None:
    found = Found()
    done = Scrubber(read_policy(secrets="redact"), RING).text("postgres://joe:Pixel!7904x@db.example.com/x", "t", found)
    assert "Pixel" not in done
    assert "<SECRET:url_password>" in done
    assert found.secrets == {"url_password": 1}


def test_a_slow_pattern_is_never_a_hole() -> None:
    policy = Policy(patterns=[{"entity": "ODD", "pattern": "(?:z|z)+y"}])
    scrubber = Scrubber(policy, RING)
    with pytest.raises(PatternTooSlow):
        scrubber.text("z" * 15_000, "t", Found())


@settings(max_examples=150, deadline=None)
@given(
    st.lists(st.sampled_from([MAIL, "13900001872", "hello ", "，", "🎉", " ", "4111 1111 1111 1111", "10.0.0.1", "a"])),
    st.sampled_from(["replace", "mask", "hash", "encrypt"]),
)
def test_twice_is_once(pieces: list[str], action: str) -> None:
    policy = read_policy(actions={e: action for e in ("EMAIL_ADDRESS", "PHONE_NUMBER", "CREDIT_CARD")})
    scrubber = Scrubber(policy, RING)
    once = scrubber.text("".join(pieces), "t", Found())
    again = Found()
    assert scrubber.text(once, "t", again) == once
    assert not again.redactions


@pytest.mark.parametrize(
    ("data", "hidden"),
    [
        ({"headers": {"Authorization": "Bearer Xk29vbnQ77pLqRtY"}}, "Xk29"),
        ({"api_key": "Xk29vbnQ77pLq"}, "Xk29"),
        ({"name": "password", "value": "correcthorse"}, "correcthorse"),
        ({"password": 12345678}, "12345678"),
        ({"phone": 13812345678, "card": 4111111111111111}, "1111"),
    ],
)
def test_a_field_is_judged_by_its_name(data: dict[str, Any], hidden: str) -> None:
    assert hidden not in str(SCRUBBER.json(data, "t", Found(), 9999))


@pytest.mark.parametrize(
    "data",
    [
        {
            "ts": 17145648001,
            "amount": 13912345678,
            "order": 4929000000006,
            "pin": 8080,
            "license": 12345,
            "passes": 12345678,
        },
        {"session_id": "550e8400-e29b-41d4-a716-446655440000", "cookie": "accepted-v2", "next_token": "page0002"},
        {"token": "2024-05-01T10:00:00", "credentials": "arn:aws:iam::123:role/x1", "max_tokens": 8192, "ratio": 0.25},
    ],
)
def test_other_fields_come_back_as_they_were(data: dict[str, Any]) -> None:
    assert SCRUBBER.json(data, "t", Found(), 9999) == data


def test_names_that_become_one_stay_two() -> None:
    done = SCRUBBER.json({"a@x.com": 1, "b@x.com": 2}, "t", Found(), 9999)
    assert done == {"<EMAIL_ADDRESS>": 1, "<EMAIL_ADDRESS> 2": 2}
