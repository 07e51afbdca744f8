"""Counters beyond the whole numbers that floats have are named."""

from __future__ import annotations

import pytest

from knickpoint.formats import read_report

_HEADER = "benchmark,unit,value\n"


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        (
            "parse,instructions,9007199254740993\n",
            "1 result is 2^53 or more (parse), where whole numbers are rounded",
        ),
        ("a,B,1\nb,B,-9007199254740995\nc,B,1e16\n", "2 results are 2^53 or more (b, …)"),
    ],
)
def test_numbers_that_floats_round_are_named(rows: str, words: str) -> None:
    _, (problem,) = read_report((_HEADER + rows).encode(), name="t.csv")
    assert (words in problem.message, problem.where) == (True, "t.csv")


@pytest.mark.parametrize("number", ["9007199254740991", "1e300", "123456789.5", "18446744073709551616"])
def test_numbers_that_are_exact_or_no_counter_are_not(number: str) -> None:
    _, problems = read_report(f"{_HEADER}parse,instructions,{number}\n".encode())
    assert problems == ()
