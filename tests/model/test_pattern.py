from __future__ import annotations

import re
import warnings

import pytest
from hypothesis import HealthCheck, given, reject, settings
from hypothesis import strategies as st

from knickpoint.model.errors import QueryError
from knickpoint.model.pattern import Pattern, compile_pattern
from knickpoint.model.query import parse_query

ATOMS = ["a", "b", "c", ".", "[ab]", "[^a]", r"\w", r"\d", r"\b", "^", "$", "_", "[a-c1]", r"\.", r"[\d_]", r"\W", "é"]
COUNTS = ["*", "+", "?", "{2}", "{1,2}", "{,2}", "{1,}", "*?", "+?", "{0}"]

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
            return re.compile(pattern)
        except re.error:
            reject()


@given(pattern=patterns, text=st.text("abc_.1 é", max_size=8))
def test_a_pattern_occurs_where_the_standard_library_finds_it(pattern: str, text: str) -> None:
    assert compiled(pattern).occurs_in(text) is bool(theirs(pattern).search(text))


@settings(suppress_health_check=[HealthCheck.filter_too_much])
@given(pattern=st.text("ab|()[]{}*+?^$.\\dwsbB-,12:P<>i", max_size=12), text=st.text("ab12-,", min_size=1, max_size=6))
def test_what_is_not_refused_means_what_the_standard_library_says(pattern: str, text: str) -> None:
    assert compiled(pattern).occurs_in(text) is bool(theirs(pattern).search(text))


@given(pattern=st.text(max_size=20), text=st.text(max_size=10))
def test_any_text_is_a_pattern_or_refused(pattern: str, text: str) -> None:
    assert compiled(pattern).occurs_in(text) in {True, False}


@pytest.mark.parametrize("pattern", ["^(a+)+$", "(a|a)*b", "(.*)*x", "((a?){20})(a{20})c", "(x+x+)+y"])
def test_a_pattern_made_to_take_for_ever_does_not(pattern: str) -> None:
    assert not any(compile_pattern(pattern).occurs_in_each(["a" * 300 + "!", "y" * 300 + "!"]))


def test_a_pattern_that_needs_too_much_work_is_refused_in_words() -> None:
    texts = [f"{7**number:b}".replace("0", "a").replace("1", "b") for number in range(400, 500)]
    with pytest.raises(QueryError, match="takes too much work"):
        compile_pattern("(a|b)*a(a|b){90}[^ab]").occurs_in_each(texts)


@pytest.mark.parametrize(
    ("pattern", "told"),
    [
        (r"(a)\1", r"\\1 is not available \(character 5\)"),
        ("(?=a)", "looking around"),
        ("(?<!a)b", "looking around"),
        ("a**", "a repetition is repeated"),
        ("*a", "nothing to repeat"),
        ("(a", "a bracket is not closed"),
        ("a)", "a bracket is closed"),
        ("[a", r"a bracket \[ is not closed"),
        ("[b-a]", "ends before it begins"),
        ("a{3,2}", "at most fewer than at least"),
        ("(a{99}){99}", "too large"),
        ("(" * 60 + ")" * 60, "nested too deeply"),
        ("a" * 2000, "2,000 characters"),
        ("a\\", "backslash"),
        (r"\xg1", "2 hex digits"),
    ],
)
def test_what_cannot_be_used_is_refused_with_the_reason(pattern: str, told: str) -> None:
    with pytest.raises(QueryError, match=told):
        compile_pattern(pattern)


def test_capitals_count_unless_the_pattern_says_otherwise() -> None:
    assert not compile_pattern("gpu").occurs_in("GPU")
    assert compile_pattern("(?i)g[p-q]U").occurs_in("GPu")


def test_a_query_with_too_many_patterns_is_refused() -> None:
    with pytest.raises(QueryError, match="51 regular expressions"):
        parse_query(" ".join(f"name~a{number}" for number in range(51)))
