"""What personal data looks like, in the forms that people write it, and what only looks like it."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rearview_pipelines.privacy.engine import Finder
from rearview_pipelines.privacy.normalise import normalised
from rearview_pipelines.privacy.policy import Policy

PATTERNS = Finder(Policy())


def found(text: str, finder: Finder = PATTERNS) -> list[tuple[str, str]]:
    return [(span.kind, text[span.start : span.end]) for span in finder.find(text)]


@pytest.mark.parametrize(
    ("text", "entity", "value"),
    [
        ("mail joe.bloggs+x@mail.example.com today", "EMAIL_ADDRESS", "joe.bloggs+x@mail.example.com"),
        ("邮箱joe＠example.com。", "EMAIL_ADDRESS", "joe＠example.com"),
        ("joe [at] example [dot] com", "EMAIL_ADDRESS", "joe [at] example [dot] com"),
        ("joe at example dot com", "EMAIL_ADDRESS", "joe at example dot com"),
        ("call +44 7700 900123 now", "PHONE_NUMBER", "+44 7700 900123"),
        ("(212) 555-0147", "PHONE_NUMBER", "(212) 555-0147"),
        ("07700 900123", "PHONE_NUMBER", "07700 900123"),
        ("手机１３９００００１８７２。", "PHONE_NUMBER", "１３９００００１８７２"),
        ("0086 13800007615", "PHONE_NUMBER", "0086 13800007615"),
        ("1390 0001 611", "PHONE_NUMBER", "1390 0001 611"),
        ("座机(0571) 60006139转335", "PHONE_NUMBER", "(0571) 60006139转335"),
        ("card 4111 1111 1111 1111.", "CREDIT_CARD", "4111 1111 1111 1111"),
        ("3782 822463 10005", "CREDIT_CARD", "3782 822463 10005"),
        ("卡号6299996579939073236", "BANK_CARD", "6299996579939073236"),
        ("IBAN GB82 WEST 1234 5698 7654 32", "IBAN_CODE", "GB82 WEST 1234 5698 7654 32"),
        ("身份证 11010519491231002X", "CN_ID_CARD", "11010519491231002X"),
        ("420106 1903 1224 6838", "CN_ID_CARD", "420106 1903 1224 6838"),
        ("税号91110000600037341L，", "CN_USCC", "91110000600037341L"),
        ("护照号：E12345678", "PASSPORT", "E12345678"),
        ("passport no. 992983995, arrives", "PASSPORT", "992983995"),
        ("Her licence X6374527 and", "DRIVER_LICENSE", "X6374527"),
        ("车牌沪A·12345停在", "LICENSE_PLATE", "沪A·12345"),
        ("京AD12345", "LICENSE_PLATE", "京AD12345"),
        ("他微信是lu-dwywj7607。", "WECHAT_ID", "lu-dwywj7607"),
        ("QQ号是1000952921", "QQ_ID", "1000952921"),
        ("SSN 814-73-7994 on file", "US_SSN", "814-73-7994"),
        ("from 203.0.113.7 port 22", "IP_ADDRESS", "203.0.113.7"),
        ("http://198.51.100.9/login", "IP_ADDRESS", "198.51.100.9"),
        ("2001:db8:48b::4a6a", "IP_ADDRESS", "2001:db8:48b::4a6a"),
    ],
)
def test_a_value_is_found_whole(text: str, entity: str, value: str) -> None:
    assert (entity, value) in found(text)


@pytest.mark.parametrize(
    "text",
    [
        "git clone git@github.com:octo/billing.git",
        "pin react@18.2.0 and numpy==1.26.4",
        "PO-6759828518 replaces PO-6511244029.",
        "流水号110105199109268834重复了",
        "Tracking number 1Z0889827433503115",
        "commit 68df61d623dc57a87daf96a1b11ac045d73ea5e5",
        "时间戳1643651795996对应的任务",
        "ISBN 978-0-41-575085-9 is out of print",
        "pi is 3.14159265358979",
        "listen on 127.0.0.1 and 0.0.0.0, gateway 192.168.5.1, mask 255.255.255.0",
        "Use 8.8.8.8 or 1.1.1.1 as the resolver, fe80::1 on the link.",
        "Upgrade from 1.25.5.1 to 10.10.14.8 before Friday.",
        "固件版本3.11.18.37有内存泄漏",
        "Chrome/121.0.200.178 fails",
        "Bind to ::1:8388, std::move and a::b",
        "报警打110，客服10086",
        "The SSN column was dropped; passport.js needs a token; set the license header to MIT.",
        "微信支付回调需要验签，护照模块下个版本再做。",
        "Deployed 2026-01-17T20:43:40Z, 99.95 % up",
    ],
)
def test_what_only_looks_like_it_is_left(text: str) -> None:
    assert found(text) == []


def test_strict_finds_names_places_addresses_and_births() -> None:
    strict = Finder(Policy(preset="strict"))
    kinds = {kind for kind, _ in found("Maeve Jankowski lives in Paris at 12 Oxbow Street, born 3 June 1980", strict)}
    assert {"PERSON", "LOCATION", "ADDRESS", "DATE_OF_BIRTH"} <= kinds
    assert ("PERSON", "欧阳晓") in found("联系人：欧阳晓，请回电", strict)
    assert any(kind == "ADDRESS" for kind, _ in found("用户住在西安市云栖区枫林渡路286号", strict))


def test_an_entity_inside_emoji_is_cut_at_its_own_edges() -> None:
    text = "👨‍👩‍👧 joe@example.com🎉 1️⃣3️⃣9️⃣0️⃣0️⃣0️⃣0️⃣1️⃣8️⃣7️⃣2️⃣!"
    assert found(text) == [
        ("EMAIL_ADDRESS", "joe@example.com"),
        ("PHONE_NUMBER", "1️⃣3️⃣9️⃣0️⃣0️⃣0️⃣0️⃣1️⃣8️⃣7️⃣2️⃣"),
    ]


def test_overlapping_finds_are_one_span() -> None:
    spans = PATTERNS.find("passport 4111111111111111 SSN 814-73-7994 814-73-7994")
    assert all(a.end <= b.start for a, b in pairwise(spans))


@given(st.text(max_size=200))
def test_spans_point_into_the_text_as_written(text: str) -> None:
    for span in PATTERNS.find(text):
        assert 0 <= span.start < span.end <= len(text)
    plain = normalised(text)
    assert len(plain.text) == len(plain.origin)


@pytest.mark.parametrize("piece", ["1 ", "a@", "0 1", "+1 ", "1.2.3.4 ", "电话", "[at] ", "a at b dot ", "京A", "ab:"])
def test_no_pattern_backtracks_on_repetition(piece: str) -> None:
    PATTERNS.find((piece * 16_000)[:16_000])  # pytest's own limit of time fails it
