"""Skia Perf's formats: units, directions, samples, and the quick way beside the careful one."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.formats.files import made

from knickpoint.formats import read_report
from knickpoint.formats.skia import careful_table, quick_table, skia_better, skia_unit
from knickpoint.formats.toolbox.json_node import Node
from knickpoint.model.errors import FormatError
from knickpoint.model.report import Outcome, Report, ResultTable
from knickpoint.model.unit_names import Better


def test_a_unit_is_a_param_or_the_name_of_a_group() -> None:
    report = made("skia.json")
    units = {result.params["test"]: result.unit for result in report.runs[0].results}
    assert units == {"draw_circle": "ms", "tiles": "ms", "score": "points"}


def test_results_of_a_patch_are_warned_about() -> None:
    _, (problem,) = read_report(
        b'{"version": 1, "git_hash": "abc", "issue": "7", "results": [{"key": {"t": "x"}, "measurement": 1}]}'
    )
    assert "patch 7" in problem.message


def test_repeated_keys_are_samples_of_one_result() -> None:
    result = {"key": {"t": "x"}, "measurement": 1.5}
    report = _report([result, {**result, "measurement": 2.5}])
    assert report.runs[0].results[0].samples == (1.5, 2.5)


def test_what_follows_after_the_end_of_a_file_refuses_it() -> None:
    text = json.dumps({"version": 1, "git_hash": "abc", "results": [{"key": {"t": "x"}, "measurement": 1}]})
    with pytest.raises(FormatError, match="extra content after the JSON document"):
        read_report((text + " garbage").encode(), format="skia")


def test_a_result_without_params_refuses_the_file() -> None:
    with pytest.raises(FormatError, match="at least one param"):
        _report([{"key": {}, "measurement": 1.0}])


def test_a_file_without_results_gives_none_and_a_warning() -> None:
    report, problems = read_report(b'{"version": 1, "git_hash": "abc", "results": []}', format="skia")
    assert sum(len(run.results) for run in report.runs) == 0
    assert any("no results" in problem.message for problem in problems)


def test_a_commit_position_is_a_number() -> None:
    text = b'{"version": 1, "git_hash": "CP:12345", "results": [{"key": {"t": "x"}, "measurement": 1}]}'
    assert read_report(text)[0].runs[0].revision == "12345"


def test_links_of_a_measurement_stay_with_it_and_those_of_the_file_with_the_run() -> None:
    singles = [
        {"value": "min", "measurement": 1.0, "links": {"log": "https://example.org/min"}},
        {"value": "max", "measurement": 2.0},
    ]
    content = {
        "version": 1,
        "git_hash": "abc",
        "links": {"job": "https://example.org/job"},
        "results": [{"key": {"t": "x"}, "measurements": {"ms": singles}}],
    }
    (run,) = read_report(json.dumps(content).encode())[0].runs
    assert {result.params["ms"]: dict(result.links) for result in run.results} == {
        "min": {"log": "https://example.org/min"},
        "max": {},
    }
    assert run.links == {"job": "https://example.org/job"}


@pytest.mark.parametrize("value", ['"1"', "true", "null", "NaN", "1e400"])
def test_a_measurement_that_is_no_number_is_a_failure_that_names_its_place(value: str) -> None:
    text = (
        '{"version": 1, "git_hash": "a", "results": ['
        '{"key": {"t": "x"}, "measurement": HERE}, {"key": {"t": "y"}, "measurement": 2}]}'
    )
    report, _ = read_report(text.replace("HERE", value).encode())
    failed, measured = report.runs[0].results
    assert failed.outcome is Outcome.FAILED
    assert "results[0]" in failed.message
    assert measured.samples == (2.0,)


def test_an_object_in_place_of_a_measurement_refuses_the_file() -> None:
    with pytest.raises(FormatError, match=r"results\[0\].measurement"):
        _report([{"key": {"t": "x"}, "measurement": {}}])


def _report(results: list[dict[str, object]]) -> Report:
    return read_report(json.dumps({"version": 1, "git_hash": "abc", "results": results}).encode())[0]


_names = st.text("abe%,= ü", min_size=1, max_size=3) | st.sampled_from(["units", "unit", "improvement_direction"])
_texts = st.text("abms%,=. ", max_size=3) | st.sampled_from(["ms", "up", "down"])
_keys = st.dictionaries(_names, _texts, max_size=3)
_single = st.fixed_dictionaries({"value": _texts, "measurement": st.integers(-9, 9) | st.floats(-1e9, 1e9)})
_results = st.lists(
    st.fixed_dictionaries({"key": _keys, "measurement": st.floats(-1e9, 1e9)})
    | st.fixed_dictionaries({"key": _keys, "measurement": st.integers(-9, 9), "more": st.none()})
    | st.fixed_dictionaries({
        "key": _keys,
        "measurements": st.dictionaries(_names, st.lists(_single, min_size=1, max_size=3), min_size=1, max_size=2),
    }),
    min_size=1,
    max_size=5,
)  # fmt: skip


def _traits(params: Mapping[str, str], group: str) -> tuple[str, Better]:
    unit = skia_unit(params, group)
    return unit, skia_better(params, unit)


def _columns(table: ResultTable) -> list[tuple[str, tuple[float, ...], str, str]]:
    return sorted(
        (key, result.samples, result.unit, result.better.value) for key, result in zip(table.keys, table, strict=True)
    )


@pytest.mark.long
@settings(max_examples=200)
@given(common=_keys, results=_results)
def test_the_quick_way_gives_what_the_careful_way_gives(common: dict[str, str], results: list[dict[str, Any]]) -> None:
    quick = quick_table(results, common, _traits)
    if quick is not None:
        assert _columns(quick) == _columns(careful_table(Node({"results": results}), common))


def test_a_regular_file_goes_the_quick_way() -> None:
    results = [{"key": {"test": f"t{number}"}, "measurement": number} for number in range(50)]
    table = quick_table(results, {"arch": "x86"}, _traits)
    assert table is not None
    assert table.keys[7] == ",arch=x86,test=t7,"


def test_names_that_need_encoding_go_the_quick_way_too() -> None:
    results = [{"key": {"test": f"t[a=1,b={number}%]"}, "measurement": number} for number in range(5)]
    table = quick_table(results, {"a,b": "50%"}, _traits)
    assert table is not None
    assert table.keys[3] == ",a%2Cb=50%25,test=t[a%3D1%2Cb%3D3%25],"
