"""Terms, languages and token counts."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rearview_pipelines.text.analyse import terms_of
from rearview_pipelines.text.language import language_of
from rearview_pipelines.text.tokens import count_tokens


def test_english_is_stemmed_and_stop_words_go() -> None:
    assert terms_of("The user prefers running") == terms_of("users preferred the runs")


def test_chinese_becomes_characters_and_bigrams() -> None:
    assert terms_of("喜欢绿茶") == ["喜", "欢", "绿", "茶", "喜欢", "欢绿", "绿茶"]


def test_mixed_runs_are_parted_by_script() -> None:
    assert {"abc", "绿茶", "123"} <= set(terms_of("abc绿茶123"))


def test_full_width_equals_half_width() -> None:
    assert terms_of("ＡＢＣ１２３") == terms_of("abc123")


def test_emoji_are_terms() -> None:
    assert "u1f980" in terms_of("crab 🦀")


@pytest.mark.parametrize("text", ["\\", '"', "%_*", "{x}", "the", "!?", "🦀", "\u202e", "a'b\"c"])
def test_odd_texts_still_have_terms(text: str) -> None:
    assert terms_of(text)


@given(st.text(min_size=1).filter(lambda t: t.strip()))
def test_every_term_is_one_word_for_any_server(text: str) -> None:
    for term in terms_of(text):
        assert not re.search(r"\s", term)
        assert re.fullmatch(r"\w[\w']*", term), term


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("The user likes tea", "en"),
        ("用户喜欢绿茶", "zh"),
        ("台灯 HL-220 的中文说明书缺了第七页", "zh"),
        ("コーヒーが好きです", "ja"),
        ("커피를 좋아해요", "ko"),
        ("Привет", "und"),
        ("12345 !?", "und"),
    ],
)
def test_language_by_script(text: str, language: str) -> None:
    assert language_of(text) == language


@pytest.mark.parametrize(("text", "tokens"), [("", 0), ("a", 1), ("abcd", 1), ("abcde", 2), ("绿茶", 2), ("绿a茶", 3)])
def test_tokens_as_the_contract_counts(text: str, tokens: int) -> None:
    assert count_tokens(text) == tokens


@given(st.lists(st.text(max_size=40)))
def test_parts_never_count_less_than_the_whole(parts: list[str]) -> None:
    assert count_tokens("".join(parts)) <= sum(count_tokens(p) for p in parts)
