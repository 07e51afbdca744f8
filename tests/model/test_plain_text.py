from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from knickpoint.model.plain_text import plain_line


@given(st.text(st.characters(exclude_categories=())), st.integers(1, 50))
def test_what_comes_out_is_printable_and_bounded(text: str, longest: int) -> None:
    shown = plain_line(text, longest)
    assert shown.isprintable()
    assert len(shown) <= longest


def test_printable_text_stays_as_it_is() -> None:
    assert plain_line("Ærø 東京 – naïve", 50) == "Ærø 東京 – naïve"


def test_what_a_terminal_or_a_page_would_obey_is_escaped() -> None:
    assert plain_line("a\tb\r\n\x1b[2J\u202e\u2028\x00", 80) == r"a\tb\r\n\x1b[2J\u202e\u2028\x00"


def test_a_text_that_is_cut_says_so() -> None:
    assert plain_line("abcdef", 4) == "abc…"
