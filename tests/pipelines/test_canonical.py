"""The fast canonical JSON writes what RFC 8785 asks for, byte for byte, whatever it is given."""

import pytest
import rfc8785
from hypothesis import given, settings
from hypothesis import strategies as st

from rearview_pipelines.write.canonical import canonical

TEXT = st.text(st.characters(exclude_categories=["Cs"]))
NUMBERS = st.integers(-(2**53) + 1, 2**53 - 1) | st.floats(allow_nan=False, allow_infinity=False)
VALUES = st.recursive(
    st.none() | st.booleans() | NUMBERS | TEXT,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXT, inner, max_size=4),
    max_leaves=20,
)


@given(st.dictionaries(TEXT, VALUES, max_size=6))
@settings(max_examples=400, deadline=None)
def test_it_is_the_librarys(value: dict[str, object]) -> None:
    assert canonical(value) == rfc8785.dumps(value)


@given(st.floats(allow_nan=False, allow_infinity=False))
@settings(max_examples=600, deadline=None)
def test_numbers_are_the_librarys(number: float) -> None:
    assert canonical([number]) == rfc8785.dumps([number])


@pytest.mark.parametrize(
    "value", [0.7, 1.0, -0.0, 0.0, 1e-7, 1e21, 0.0001, 123456.789, 5e-324, 1e15, 9007199254740991.0]
)
def test_single_numbers(value: float) -> None:
    assert canonical(value) == rfc8785.dumps(value)


def test_what_json_has_no_place_for_is_refused() -> None:
    for value in (float("nan"), 2**60, {1: 2}, object()):
        with pytest.raises((rfc8785.CanonicalizationError, ValueError, TypeError)):
            canonical(value)
