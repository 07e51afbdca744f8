from __future__ import annotations

import re
import warnings

import pytest
from hypothesis import given, reject
from hypothesis import strategies as st

from knickpoint.model.errors import QueryError
from knickpoint.model.query import Pattern, compile_pattern, parse_query

ATOMS = [
    "a",
    "b",
    "c",
    ".",
    "[ab]",
    "[^a]",
    r"\w",
    r"\d",
    r"\b",
    "^",
    "$",
    "_",
    "[a-c1]",
    r"\.",
    r"[\d_]",
    r"\W",
    "[é]",
]
COUNTS = ["*", "+", "?", "{2}", "{1,2}", "{1,}", "*?", "+?", "{0}"]

patterns = st.recursive(
    st.sampled_from(ATOMS),
    lambda inner: st.one_of(
        st.tuples(inner, inner).map("".join),
        st.tuples(inner, inner).map(lambda pair: f"(?:{pair[0]}|{pair[1]})"),
        st.tuples(inner, st.sampled_from(COUNTS)).map(lambda pair: f"({pair[0]}){pair[1]}"),
    ),
    max_leaves=8,
)


def compiled(pattern: str) -> Pattern:
    try:
        return compile_pattern(pattern)
    except QueryError:
        reject()


def theirs(pattern: str) -> re.Pattern[str]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return re.compile(pattern, re.ASCII)
        except re.error:
            reject()


@given(pattern=patterns, text=st.text("abc_.1 é", max_size=8))
def test_a_pattern_occurs_where_the_standard_library_finds_it(pattern: str, text: str) -> None:
    assert compiled(pattern).occurs_in_each([text]) == [bool(theirs(pattern).search(text))]


@given(pattern=st.text(max_size=20), text=st.text(max_size=10))
def test_any_text_is_a_pattern_or_refused(pattern: str, text: str) -> None:
    assert compiled(pattern).occurs_in_each([text]) in ([True], [False])


@given(text=st.text(max_size=20))
def test_what_is_escaped_stands_for_itself(text: str) -> None:
    assert compile_pattern(f"^{re.escape(text)}$").occurs_in_each([text]) == [True]


@pytest.mark.parametrize("pattern", ["^(a+)+$", "(a|a)*b", "(.*)*x", "((a?){20})(a{20})c", "(x+x+)+y"])
def test_a_pattern_made_to_take_for_ever_does_not(pattern: str) -> None:
    assert not any(compile_pattern(pattern).occurs_in_each(["a" * 300 + "!", "y" * 300 + "!"]))


@pytest.mark.parametrize(
    ("pattern", "message"),
    [
        (r"(a)\1", r"invalid escape sequence: \1"),
        ("(?=a)", "invalid perl operator"),
        ("a**", "bad repetition operator"),
        ("(a", "missing"),
        ("[b-a]", "invalid character class range"),
        ("(a{99}){99}", "invalid repetition size"),
        ("((a{30}){30}|(b{30}){30}|(c{30}){30}|[^a]{900}|\\w{900}){1}" * 15, "too large"),
        ("a" * 2000, "2,000 characters"),
        ("a\\", "trailing"),
        ("\ud800", "surrogate"),
    ],
)
def test_what_cannot_be_used_is_refused_with_the_reason(pattern: str, message: str) -> None:
    with pytest.raises(QueryError) as refused:
        compile_pattern(pattern)
    assert message in str(refused.value)


def test_capitals_count_unless_the_pattern_says_otherwise() -> None:
    assert compile_pattern("gpu").occurs_in_each(["GPU"]) == [False]
    assert compile_pattern("(?i)g[p-q]U").occurs_in_each(["GPu"]) == [True]


def test_a_query_with_too_many_patterns_is_refused() -> None:
    with pytest.raises(QueryError, match="51 regular expressions"):
        parse_query(" ".join(f"name~a{number}" for number in range(51)))
