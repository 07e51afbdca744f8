"""The trace key: one text for each set of params, and clear words for what is none."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from knickpoint.model.errors import ParamsError
from knickpoint.model.params import MAXIMUM_KEY_BYTES, decode_key, encode_key, values_in_key

_TEXT = st.text(
    st.characters(exclude_categories=("Cs", "Cc")) | st.sampled_from("%,="), min_size=1, max_size=20
).filter(lambda text: text == text.strip())
_PARAMS = st.dictionaries(_TEXT, _TEXT, min_size=1, max_size=6)


@given(_PARAMS)
def test_a_key_decodes_into_the_params_it_was_made_of(params: dict[str, str]) -> None:
    assert decode_key(encode_key(params)) == params


@given(_PARAMS, st.lists(_TEXT, max_size=4))
def test_single_values_are_those_of_the_whole_key(params: dict[str, str], others: list[str]) -> None:
    names = [*params, *others, *params.values()]
    assert values_in_key(encode_key(params), names) == tuple(params.get(name, "") for name in names)


@given(_PARAMS, _PARAMS)
def test_two_keys_are_equal_only_when_the_params_are(first: dict[str, str], other: dict[str, str]) -> None:
    assert (encode_key(first) == encode_key(other)) == (first == other)


@given(_PARAMS)
def test_the_order_in_which_params_are_given_does_not_matter(params: dict[str, str]) -> None:
    assert encode_key(dict(reversed(params.items()))) == encode_key(params)


@given(st.text(max_size=40) | st.text(",=%25ab é\x01", max_size=16).map(lambda text: f",{text},"))
def test_a_text_decodes_only_when_it_is_canonical(text: str) -> None:
    try:
        params = decode_key(text)
    except ParamsError:
        return
    assert encode_key(params) == text


def test_commas_equals_and_percent_signs_are_encoded() -> None:
    assert encode_key({"b": "50%", "a": "x=1,2"}) == ",a=x%3D1%2C2,b=50%25,"


@pytest.mark.parametrize(
    ("params", "named"),
    [
        ({}, "at least one param"),
        ({"": "x"}, "empty"),
        ({"x": ""}, "'x'"),
        ({"x": " y"}, "' y'"),
        ({"x": "a\nb"}, "control character"),
        ({"x": "a\ud800b"}, "lone surrogate"),
        ({"x": "y" * MAXIMUM_KEY_BYTES}, str(MAXIMUM_KEY_BYTES)),
    ],
)
def test_params_that_break_the_rules_are_refused_with_their_name(params: dict[str, str], named: str) -> None:
    with pytest.raises(ParamsError, match=named):
        encode_key(params)


@pytest.mark.parametrize("text", ["", ",", ",,", "a=1", ",a=1", ",a,", ",a=1=2,", ",b=1,a=1,", ",a=1,a=2,", ",a=%zz,"])
def test_a_text_that_is_no_key_is_refused(text: str) -> None:
    with pytest.raises(ParamsError):
        decode_key(text)
