"""Skia Perf's formats, against what the original does with the same files."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.formats.files import by, made

from knickpoint.formats import read_report
from knickpoint.formats.skia import careful_table, skia_better, skia_unit
from knickpoint.formats.skia_columns import quick_table
from knickpoint.formats.toolbox.json_node import Node
from knickpoint.model.errors import FormatError
from knickpoint.model.report import Outcome, Report, ResultTable
from knickpoint.model.unit import Better

_WE_REFUSE = {
    "made_up/trailing_garbage": "more follows after the end",
    "made_up/empty_key": "at least one param",
}
"""What the original lets in (as 0, unread, or without a key) and we do not."""
_WE_FAIL = {"made_up/no_measurement", "made_up/measurement_string"}
"""What is a failure of that result alone for us, where the original keeps 0 or refuses the file."""
_WE_READ = {*_WE_FAIL, "made_up/too_large_number", "version_1/unknown_branch.json", "legacy/unknown_branch.json"}
"""What the original leaves out for its float32, or by a filter of the instance."""


def vectors(reference: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((reference / "vectors" / "skia_ingest.json").read_bytes())
    return found


def data_of(case: dict[str, Any]) -> bytes:
    text = case.get("content_text")
    return (text if text is not None else json.dumps(case["content"])).encode()


def sanitised(params: dict[str, str], invalid: str) -> frozenset[tuple[str, str]]:
    pattern = re.compile(invalid or r"[^a-zA-Z0-9._\-]")
    return frozenset((pattern.sub("_", name), pattern.sub("_", text)) for name, text in params.items())


def format_of(case: dict[str, Any]) -> str:
    return "skia-legacy" if "legacy" in case["file"] else "skia"


def test_files_that_the_original_reads_give_the_same_traces_and_values(reference: Path) -> None:
    checked = 0
    for case in vectors(reference)["parse_cases"]:
        if case["result"] != "ok" or case["file"] in _WE_REFUSE or case["file"] in _WE_FAIL:
            continue
        report, _ = read_report(data_of(case), name=case["file"], format=format_of(case))
        invalid = case["invalid_param_char_regex"]
        values = {
            (sanitised(dict(result.params), invalid), np.float32(_one(result.samples, result.summary)))
            for result in report.runs[0].results
        }
        expected = {
            (frozenset(pair for pair in row["params"].items() if pair[1] != "_"), np.float32(row["value"]))
            for row in case["rows_sorted"]
        }
        assert values == expected, case["file"]
        checked += 1
    assert checked > 40


def _one(samples: tuple[float, ...], summary: Any) -> float:
    return float(summary["value"]) if "value" in summary else samples[0]


def test_files_that_the_original_refuses_are_refused(reference: Path) -> None:
    for case in vectors(reference)["parse_cases"]:
        if case["result"] == "error" and case["file"] not in _WE_READ and ("content_text" in case or case["content"]):
            with pytest.raises(FormatError):
                read_report(data_of(case), format=format_of(case))


def test_what_the_original_lets_in_silently_is_refused_with_a_reason(reference: Path) -> None:
    for case in vectors(reference)["parse_cases"]:
        if case["file"] in _WE_REFUSE:
            with pytest.raises(FormatError, match=_WE_REFUSE[case["file"]]):
                read_report(data_of(case), format="skia")


def test_files_without_results_give_none(reference: Path) -> None:
    for case in vectors(reference)["parse_cases"]:
        if case["result"] == "skip" and case["file"] not in _WE_READ:
            report, problems = read_report(data_of(case), format=format_of(case))
            assert sum(len(run.results) for run in report.runs) == 0
            assert any("no results" in problem.message for problem in problems)


def test_the_form_of_a_file_is_judged_as_by_the_original(reference: Path) -> None:
    for case in vectors(reference)["format_parse"]:
        if case["parse_error"]:
            with pytest.raises(FormatError):
                read_report(case["text"].encode(), format="skia")
        else:
            read_report(case["text"].encode(), format="skia")


def test_commit_positions_become_numbers(reference: Path) -> None:
    for case in vectors(reference)["parse_cases"]:
        if case["result"] == "ok" and isinstance(case["commit_number_from_git_hash"], int):
            report, _ = read_report(data_of(case), format=format_of(case))
            assert report.runs[0].revision == str(case["commit_number_from_git_hash"])


def test_links_of_a_measurement_stay_with_it(reference: Path) -> None:
    report, _ = read_report(json.dumps(vectors(reference)["links"]["content"]).encode())
    links = {result.params.get("ms"): result.links for result in report.runs[0].results}
    assert links == {"min": {"l1": "http://myfirstlink"}, "max": {}, "median": {}}
    assert report.runs[0].links == {"l2": "http://mygloballink"}


def test_samples_of_the_older_format_are_those_of_the_original(reference: Path) -> None:
    (first, _) = vectors(reference)["legacy_samples"]
    case = next(case for case in vectors(reference)["parse_cases"] if case["file"] == first["file"])
    report, _ = read_report(data_of(case), format="skia-legacy")
    for expected in first["samples"].values():
        found = by(report, **expected["params"])
        assert list(found.samples) == pytest.approx(expected["values"])


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


def test_a_result_without_a_number_is_a_failure_of_its_own(reference: Path) -> None:
    for case in vectors(reference)["parse_cases"]:
        if case["file"] in _WE_FAIL:
            report, _ = read_report(data_of(case), format="skia")
            assert [result.outcome for result in report.runs[0].results] == [Outcome.FAILED]


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
