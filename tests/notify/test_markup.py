"""Markdown of messages shows values as they are, with as few backslashes as that takes, also where a service has none."""

from __future__ import annotations

import re
from html import unescape

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from knickpoint.notify.markup import code_span, escape_markdown, link_target, plain_text, wiki_text

_SIGNS = r"""\`*_{}[]()<>#+-.!|~&;=^"'/:@"""
_VALUES = st.text(st.sampled_from(f"{_SIGNS} ab01"), min_size=1, max_size=12).map(str.strip).filter(bool)


def _shown(markdown: str) -> str:
    """Return the text that CommonMark shows, without the marks that break mentions."""
    commonmark = pytest.importorskip("markdown_it").MarkdownIt("commonmark", {"html": True}).enable("strikethrough")
    html = str(commonmark.render(markdown))
    assert re.sub(r"</?(?:p|strong)>", "", html).count("<") == 0, html
    return unescape(re.sub(r"<[^>]+>", "", html)).replace("\N{ZERO WIDTH SPACE}", "").removesuffix("\n")


@pytest.mark.parametrize(
    "value",
    [
        "19.95 ms",
        "1.5",
        "+22.8 %",
        "-5 ms",
        "2. Sort",
        "− 3",
        "test_parse_all",
        "p99 (main)",
        "a{b}!",
        "20 ms → 22 ms",
        "3) x",
    ],
)
def test_a_number_a_name_and_an_amount_have_no_backslash(value: str) -> None:
    lists = value in {"2. Sort", "3) x"}  # these would begin a list
    assert (escape_markdown(value) == value) is not lists
    assert _shown(escape_markdown(value)) == value


@given(_VALUES)
@example("__init__")
@example("1.")
@example("~~a~~")
@example("---")
@example("&amp;")
def test_markdown_shows_any_value_as_it_is(value: str) -> None:
    one_line = re.sub(" +", " ", value)
    escaped = escape_markdown(one_line)
    for markdown, shown in (
        (escaped, one_line),
        (f"Worst: {escaped}, by 3", f"Worst: {one_line}, by 3"),
        (f"**It is {escaped} now**", f"It is {one_line} now"),
        (f"Text\n{escaped}", f"Text\n{one_line}"),
    ):
        assert _shown(markdown) == shown


@given(_VALUES)
def test_a_service_without_markup_gets_any_value_as_it_is(value: str) -> None:
    shown = plain_text(f"- **{escape_markdown(value)}** in {code_span(value)}").replace("\N{ZERO WIDTH SPACE}", "")
    assert shown == f"- {value} in {value}"


def test_markup_becomes_text_where_a_service_has_none() -> None:
    markdown = "## What\n**sort\\_** is [slo\\[w\\]er](https://x.example/1)\n  - see ``a`b``"
    assert plain_text(markdown) == "What\nsort_ is slo[w]er (https://x.example/1)\n  - see a`b"


def test_markdown_becomes_the_notation_of_jira() -> None:
    markdown = "## What\n**sort** is [slower](https://x.example/1), see `a[1]`.\n- one\n  - two"
    assert wiki_text(markdown) == "h2. What\n*sort* is [slower|https://x.example/1], see {{a\\[1\\]}}.\n* one\n** two"


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ("19.95 ms", "19.95 ms"),
        ("1. Sort", "1. Sort"),
        ("a < b & c", "a < b & c"),
        ("x=1 (y)", "x=1 (y)"),
        ("&lt;", "&amp;lt;"),
        ("f[0]*2", "f\\[0\\]\\*2"),
        ("{code}!x!", "\\{code\\}\\!x\\!"),
        ("a\\b", "a&#92;b"),
    ],
)
def test_jira_escapes_its_own_signs_and_no_others(value: str, shown: str) -> None:
    assert wiki_text(escape_markdown(value)) == shown


def test_an_address_cannot_end_its_link() -> None:
    assert link_target("https://x.example/a b)[c]") == "https://x.example/a%20b%29%5Bc%5D"
