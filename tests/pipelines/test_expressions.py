"""No value ever becomes query syntax: literals are read back as they were, by the real parser too."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from milvus_lite.search.filter.parser import parse_expr
from milvus_lite.search.filter.tokens import TokenKind, tokenize

from rearview_pipelines.ports import Condition, Where
from rearview_pipelines.stores.expressions import condition, expression, literal

# What the fields admit: no NUL, no lone surrogates.
TEXT = st.text(st.characters(exclude_categories=("Cs",), exclude_characters="\x00"))
HOSTILE = st.lists(
    st.sampled_from(['"', "'", "\\", "%", "_", "*", "{x}", " or ", "==", "\n", "\r", "\t", "]", ")", "🦀", "\u202e"])
).map("".join)


@settings(max_examples=500)
@given(TEXT | HOSTILE)
def test_a_string_is_one_token_with_that_value(value: str) -> None:
    tokens = tokenize(literal(value))
    assert [t.kind for t in tokens] == [TokenKind.STRING, TokenKind.EOF]
    assert tokens[0].value == value


@given(st.integers(-(2**53), 2**53) | st.floats(0, 1))
def test_a_number_is_read_back(value: float) -> None:
    tokens = [t for t in tokenize(literal(value)) if t.kind not in (TokenKind.SUB, TokenKind.EOF)]
    assert abs(value) == tokens[0].value


@settings(suppress_health_check=[HealthCheck.too_slow])
@given(TEXT | HOSTILE, TEXT | HOSTILE, st.lists(TEXT | HOSTILE, min_size=1, max_size=4))
def test_a_whole_filter_parses_whatever_is_in_it(tenant: str, value: str, many: list[str]) -> None:
    where = Where(
        (
            Condition("agent", "eq", value),
            Condition("tags", "has_all", tuple(many)),
            Condition("state", "in", tuple(many)),
        ),
        ((Condition("visibility", "eq", value), Condition("importance", "ge", 0.5)),),
    )
    text = expression(tenant, where)
    parse_expr(text)
    assert text.startswith(f"tenant == {literal(tenant)} and ")


def test_a_field_name_is_never_taken_from_outside() -> None:
    with pytest.raises(ValueError, match="not an indexed field"):
        condition(Condition('agent == "" or tenant', "eq", "x"))
