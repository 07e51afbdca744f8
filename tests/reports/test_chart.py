"""Charts of Mermaid: what they show, and that they stay within what GitHub and GitLab draw."""

from __future__ import annotations

import math
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from knickpoint.model.judged_benchmark import JudgedBenchmark
from knickpoint.model.step import Verdict
from knickpoint.reports.markdown import MOST_VALUES, mermaid_chart


def row(before: float, after: float) -> JudgedBenchmark:
    return JudgedBenchmark(",b=x,", "ms", Verdict.REGRESSED, "", before=before, after=after)


def lines_of(chart: list[str]) -> list[list[float]]:
    return [[float(each) for each in text.split(", ")] for text in re.findall(r"  line \[(.*)\]", "\n".join(chart))]


def ends_of(chart: list[str]) -> tuple[float, float]:
    found = re.search(r'y-axis "%" (\S+) --> (\S+)', "\n".join(chart))
    assert found is not None
    return float(found[1]), float(found[2])


_VALUES = st.floats(-1e300, 1e300) | st.just(math.nan)


@given(before=_VALUES, after=_VALUES, history=st.lists(_VALUES, max_size=60))
def test_any_chart_is_short_and_within_its_frame(before: float, after: float, history: list[float]) -> None:
    chart = mermaid_chart(row(before, after), history)
    if not chart:
        return
    assert len("\n".join(chart)) <= 2_000
    assert not re.search(r"\de[+-]?\d", "\n".join(chart[7:])), "Mermaid reads no exponents"
    low, high = ends_of(chart)
    drawn = lines_of(chart)
    assert low < high
    assert len({len(each) for each in drawn}) == 1
    assert all(low <= value <= high for each in drawn for value in each)


@pytest.mark.parametrize("given_row", [row(0.0, 1.0), row(math.nan, 1.0), row(1.0, math.nan)])
def test_what_has_no_change_in_percent_has_no_chart(given_row: JudgedBenchmark) -> None:
    assert mermaid_chart(given_row, [1.0, 2.0]) == []


def test_a_benchmark_without_history_has_no_chart() -> None:
    assert mermaid_chart(row(1.0, 2.0), [math.nan]) == []


def test_the_newest_values_are_shown() -> None:
    values, levels = lines_of(mermaid_chart(row(100.0, 120.0), [200.0, *[100.0] * MOST_VALUES]))
    assert values == [0.0] * MOST_VALUES + [20.0]
    assert levels == values


def test_one_far_value_does_not_flatten_the_others() -> None:
    chart = mermaid_chart(row(100.0, 110.0), [*[99.0, 101.0] * 19, 100_000.0])
    low, high = ends_of(chart)
    assert -2 < low < -1
    assert 10 < high < 12
    assert max(lines_of(chart)[0]) == high


def test_a_level_below_zero_rises_as_people_read_it() -> None:
    assert lines_of(mermaid_chart(row(-100.0, -90.0), [-100.0]))[1] == [0.0, 10.0]
