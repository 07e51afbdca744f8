from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from knickpoint.model.errors import QueryError
from knickpoint.model.query import Query, QueryTerm, parse_query, parse_url_query

PARAMS = {"arch": "x86", "config": "gpu", "os": "Android"}


@pytest.mark.parametrize(
    "text",
    [
        "",
        "os=Android",
        "os=Android|iOS config=gpu",
        "os=iOS os=Android",
        "config!=8888",
        "sub!=x",
        "config~^g",
        "config!~^8",
        "config=g*",
        "config=*",
        "!sub",
        "sub=x|y|* os=Android !sub",
        'os="Android"',
        "os=Android&config=gpu",
        "os=Android&os=iOS&config=~^g",
        "config=!8888&sub=!x",
        "sub!=*",
    ],
)
def test_a_query_that_fits_matches(text: str) -> None:
    assert parse_query(text).matches(PARAMS)


@pytest.mark.parametrize(
    "text",
    ["os=iOS", "os=Android config=8888", "config!=gpu", "sub=x", "sub~.", "sub=*", "!os", "config!=g*", "os=Andro",
     "os=!Android&arch=x86", "arch=*&arch=!x86"],
)  # fmt: skip
def test_a_query_that_does_not_fit_does_not_match(text: str) -> None:
    assert not parse_query(text).matches(PARAMS)


@pytest.mark.parametrize(
    ("text", "column"),
    [("os=", 4), ("os", 1), ("a=b config~[", 12), ('os="x', 4), ("a=b&c=", 5), ("a=b&c=%zz", 7), ("!", 1), ("=x", 1)],
)
def test_an_error_points_at_the_column(text: str, column: int) -> None:
    with pytest.raises(QueryError, match=f"column {column}:"):
        parse_query(text)


TEXTS = st.text(st.characters(min_codepoint=32, max_codepoint=0x2FF), min_size=1, max_size=8).filter(
    lambda text: text == text.strip()
)
LISTS = st.lists(TEXTS, max_size=2, unique=True).map(tuple)
CONDITIONS = st.builds(QueryTerm, TEXTS, values=LISTS, refused=LISTS, present=st.booleans(), missing=st.booleans())
WANTED = CONDITIONS.filter(lambda each: bool(each.values or each.refused or each.present or each.missing))
QUERIES = st.lists(WANTED, min_size=1, max_size=3).map(lambda conditions: Query.of(*conditions))


@given(QUERIES)
def test_the_words_of_a_query_read_back(query: Query) -> None:
    assert parse_query(str(query)) == query


@given(QUERIES.filter(lambda query: not any(_unsayable(each) for each in query.terms)))
def test_the_address_of_a_query_reads_back(query: Query) -> None:
    assert parse_url_query(query.url()) == query


def _unsayable(condition: QueryTerm) -> bool:
    """An address has no way to quote: a value that looks like an operator is one."""
    signs = [*condition.values, *condition.refused, condition.name]
    return any(text[0] in "!~" or text == "*" for text in signs)


@given(st.text(max_size=30))
def test_any_text_is_a_query_or_a_query_error(text: str) -> None:
    for read in (parse_query, parse_url_query):
        try:
            read(text)
        except QueryError:
            continue
