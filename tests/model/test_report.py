"""Reports: results as columns, and back as objects."""

from __future__ import annotations

import pytest

from knickpoint.model.errors import ParamsError
from knickpoint.model.report import Outcome, Result, ResultTable
from knickpoint.model.unit_names import Better

_RESULTS = (
    Result({"benchmark": "parse", "size": "10"}, (1.5, 2.5), "ms", Better.LOWER, summary={"stddev": 0.5}),
    Result({"benchmark": "emit"}, (), "", Better.UNKNOWN, Outcome.FAILED, "boom"),
    Result({"benchmark": "scan"}, (9.0,), "ops/s", Better.HIGHER, links={"trace": "https://example.org/1"}),
    Result({"benchmark": "lint"}, (), "", Better.UNKNOWN, Outcome.SKIPPED, "not today"),
)


def test_results_come_back_from_the_columns_as_they_went_in() -> None:
    assert tuple(ResultTable.of(_RESULTS)) == _RESULTS


def test_columns_hold_the_samples_of_all_results_in_one_row() -> None:
    table = ResultTable.of(_RESULTS)
    assert table.samples.tolist() == [1.5, 2.5, 9.0]
    assert table.offsets.tolist() == [0, 2, 2, 3, 3]


def test_a_table_counts_its_results() -> None:
    assert len(ResultTable.of(_RESULTS)) == 4


def test_an_empty_table_has_no_results() -> None:
    assert tuple(ResultTable.of(())) == ()


def test_a_place_beyond_the_end_is_refused() -> None:
    with pytest.raises(IndexError):
        ResultTable.of(_RESULTS)[4]


def test_the_last_result_can_be_asked_for_from_the_end() -> None:
    assert ResultTable.of(_RESULTS)[-1] == _RESULTS[3]


def test_params_that_break_the_rules_of_keys_are_refused() -> None:
    with pytest.raises(ParamsError):
        ResultTable.of([Result({}, (1.0,))])
