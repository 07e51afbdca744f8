from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from knickpoint.model.errors import QueryError
from knickpoint.model.query import FreeWord, Query, QueryTerm, parse_query, parse_url_query

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
        "gp",
        "ANDRO x8",
        '-windows "gpu"',
        "-config=8888|x",
        "-config~^8",
        "-sub=*",
        "-sub=x*",
        "gpu&-windows&os=Android",
    ],
)
def test_a_query_that_fits_matches(text: str) -> None:
    assert parse_query(text).matches(PARAMS)


@pytest.mark.parametrize(
    "text",
    ["os=iOS", "os=Android config=8888", "config!=gpu", "sub=x", "sub~.", "sub=*", "!os", "config!=g*", "os=Andro", "os", "-gpu", "gpu ios",
     "-os=Android", "-config=*", "-config~^g", "gpu&-andro",
     "os=!Android&arch=x86", "arch=*&arch=!x86"],
)  # fmt: skip
def test_a_query_that_does_not_fit_does_not_match(text: str) -> None:
    assert not parse_query(text).matches(PARAMS)


@pytest.mark.parametrize(
    ("text", "column"),
    [
        ("os=", 4),
        ("os|ios", 1),
        ("a - b", 3),
        ("x -a!=b", 3),
        ("-!a", 1),
        ("ab*", 3),
        ('x ""', 3),
        ("-=x", 2),
        ("a=b config~[", 12),
        ('os="x', 4),
        ("a=b&c=", 5),
        ("a=b&c=%zz", 7),
        ("!", 1),
        ("=x", 1),
    ],
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
WORDS = st.lists(st.builds(FreeWord, TEXTS, st.booleans()), max_size=2)
QUERIES = st.builds(lambda terms, words: Query.of(*terms, words=words), st.lists(WANTED, max_size=3), WORDS)


@given(QUERIES)
def test_the_words_of_a_query_read_back(query: Query) -> None:
    assert parse_query(str(query)) == query


@given(QUERIES.filter(lambda query: query != Query() and not _unsayable(query)))
def test_the_address_of_a_query_reads_back(query: Query) -> None:
    assert parse_url_query(query.url()) == query


def _unsayable(query: Query) -> bool:
    """An address has no way to quote: a value or a word that looks like an operator is one."""
    signs = [sign for term in query.terms for sign in (*term.values, *term.refused, term.name)]
    return any(text[0] in "!~" or text == "*" for text in signs) or any(word.text[0] in "!-" for word in query.words)


NAMED = st.dictionaries(st.sampled_from("abc"), st.text("xyXY", min_size=1, max_size=3), min_size=1)


@given(NAMED, st.text("xyXY", min_size=1, max_size=2))
def test_a_free_word_is_in_the_value_of_any_param_and_its_negation_in_none(params: dict[str, str], word: str) -> None:
    found = parse_query(word).matches(params)
    assert found == any(word.upper() in value.upper() for value in params.values())
    assert parse_query(f"-{word}").matches(params) != found


@given(NAMED, st.sampled_from(["a=x", "a=x|y", "a~x", "a=x*", "a=*", '"a"="x"', "a=x|y*"]))
def test_a_minus_sign_negates_a_term(params: dict[str, str], term: str) -> None:
    assert parse_query(f"-{term}").matches(params) != parse_query(term).matches(params)


def test_a_name_that_begins_with_a_minus_sign_is_quoted() -> None:
    assert parse_query('"-O"=2').matches({"-O": "2"})
    assert str(parse_query('"-O"=2 "-x"')) == '"-O"=2 "-x"'


def test_too_many_words_are_refused() -> None:
    with pytest.raises(QueryError, match="21 free words"):
        parse_query(" ".join(f"w{number}" for number in range(21)))


@given(st.text(max_size=30))
def test_any_text_is_a_query_or_a_query_error(text: str) -> None:
    for read in (parse_query, parse_url_query):
        try:
            read(text)
        except QueryError:
            continue
