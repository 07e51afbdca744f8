"""What changed from one distribution to another, in words."""

from __future__ import annotations

import pytest

from knickpoint.model.distribution import Distribution, distribution_text

ONE = Distribution(9.8, 10.3, ((10.0, 1.0),))


@pytest.mark.parametrize(
    ("before", "after", "words"),
    [
        (ONE, Distribution(9.6, 12.9, ((10.0, 1.0),)), "10 to 90 %: 9.8–10.3 → 9.6–12.9 ms"),
        (
            ONE,
            Distribution(9.6, 12.9, ((10.0, 0.7), (12.8, 0.3))),
            "10 to 90 %: 9.8–10.3 → 9.6–12.9 ms; a second mode at 12.8 ms with 30 % of the values",
        ),
        (
            ONE,
            Distribution(7.9, 12.9, ((8.0, 0.2), (10.0, 0.5), (12.8, 0.3))),
            "10 to 90 %: 9.8–10.3 → 7.9–12.9 ms; further modes at 8 ms (20 %), 12.8 ms (30 %)",
        ),
        (
            ONE,
            Distribution(8.9, 11.2, ((9.0, 0.4), (11.1, 0.6))),
            "10 to 90 %: 9.8–10.3 → 8.9–11.2 ms; two modes where one was: 9 ms (40 %), 11.1 ms (60 %)",
        ),
        (
            Distribution(9.6, 12.9, ((10.0, 0.7), (12.8, 0.3))),
            ONE,
            "10 to 90 %: 9.6–12.9 → 9.8–10.3 ms; two modes before, one now",
        ),
        (
            Distribution(9.6, 12.9, ((10.0, 0.7), (12.8, 0.3))),
            Distribution(9.6, 12.9, ((10.0, 0.4), (12.8, 0.6))),
            "10 to 90 %: 9.6–12.9 → 9.6–12.9 ms; modes: 10 ms (70 %), 12.8 ms (30 %) → 10 ms (40 %), 12.8 ms (60 %)",
        ),
    ],
    ids=["spread", "second mode", "two further modes", "two new modes", "one mode left", "other shares"],
)
def test_ranges_and_modes_are_named_where_they_changed(before: Distribution, after: Distribution, words: str) -> None:
    assert distribution_text(before, after, "ms") == words


def test_a_narrow_range_has_the_digits_that_show_it() -> None:
    narrow = Distribution(1000.12, 1000.18, ((1000.15, 1.0),))
    wide = Distribution(999.9, 1000.4, ((1000.15, 1.0),))
    assert distribution_text(narrow, wide, "") == "10 to 90 %: 1,000.12–1,000.18 → 999.9–1,000.4"


def test_equal_values_have_a_range_without_extent() -> None:
    equal = Distribution(5.0, 5.0, ((5.0, 1.0),))
    assert distribution_text(equal, Distribution(4.1, 5.8, ((5.0, 1.0),)), "s") == "10 to 90 %: 5–5 → 4.1–5.8 s"
