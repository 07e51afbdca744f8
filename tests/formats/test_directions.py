"""Which direction is better of what formats read."""

from __future__ import annotations

import json
from typing import Any

import pytest

from knickpoint.formats import read_report
from knickpoint.model.report import Report, Result
from knickpoint.model.unit_names import Better


def parsed(content: object, name: str) -> Report:
    data = content if isinstance(content, str) else json.dumps(content)
    report, _ = read_report(data.encode(), name=name)
    assert report is not None
    return report


def measured(report: Report, **params: str) -> list[Result]:
    """Return the measured results of the only run that have ``params``."""
    (run,) = report.runs
    found = [one for one in run.results if one.samples]
    return [one for one in found if all(one.params.get(name) == value for name, value in params.items())]


def by(report: Report, **params: str) -> Result:
    """Return the only measured result that has ``params``."""
    (found,) = measured(report, **params)
    return found


def jmh(mode: str, unit: str, **secondary: str) -> Report:
    """Return a report of JMH with one benchmark, and profilers' metrics by name and unit."""

    def metric(written: str) -> dict[str, Any]:
        return {"score": 2.0, "scoreUnit": written, "rawData": [[1.0, 3.0]]}

    entry = {"benchmark": "Sort.quick", "mode": mode, "primaryMetric": metric(unit)}
    return parsed(
        [{**entry, "secondaryMetrics": {name: metric(written) for name, written in secondary.items()}}], "jmh.json"
    )


@pytest.mark.parametrize(
    ("name", "unit"),
    [
        ("·gc.alloc.rate", "MB/sec"),
        ("gc.alloc.rate.norm", "B/op"),
        ("gc.churn.G1_Eden_Space", "MB/sec"),
        ("gc.count", "counts"),
        ("gc.time", "ms"),
        ("class.load", "classes/sec"),
        ("L1-dcache-load-misses", "#/op"),
        ("CPI", "clks/insn"),
    ],
)
@pytest.mark.parametrize("mode", ["thrpt", "avgt"])
def test_what_profilers_of_jmh_count_is_better_when_lower(name: str, unit: str, mode: str) -> None:
    found = by(jmh(mode, "ops/s", **{name: unit}), metric=name.lstrip("·"))
    assert found.better is Better.LOWER


def test_instructions_per_cycle_of_jmh_are_better_when_higher() -> None:
    assert by(jmh("avgt", "ns/op", IPC="insns/clk"), metric="IPC").better is Better.HIGHER


@pytest.mark.parametrize(
    ("mode", "better"), [("thrpt", Better.HIGHER), ("avgt", Better.LOWER), ("sample", Better.LOWER)]
)
def test_the_mode_of_jmh_says_the_direction_of_a_score_in_another_unit(mode: str, better: Better) -> None:
    assert by(jmh(mode, "things")).better is better


def test_a_counter_of_google_benchmark_has_the_direction_of_its_name() -> None:
    counters = {"cache_misses": 3.0, "FPS": 60.0, "rows_per_second": 8.0, "p99_us": 4.0, "score": 1.0}
    entry = {"name": "BM_Draw", "run_type": "iteration", "real_time": 1.0, "cpu_time": 1.0, "time_unit": "ns"}
    report = parsed({"context": {"date": ""}, "benchmarks": [{**entry, **counters}]}, "google.json")
    found = {name: by(report, metric=name) for name in counters}
    assert {name: (one.unit, one.better) for name, one in found.items()} == {
        "cache_misses": ("", Better.LOWER),
        "FPS": ("FPS", Better.HIGHER),
        "rows_per_second": ("rows/second", Better.HIGHER),
        "p99_us": ("us", Better.LOWER),
        "score": ("", Better.UNKNOWN),
    }


def test_a_column_has_the_unit_and_the_direction_of_its_name() -> None:
    header = "commit,ms,requests_per_s,failed_per_s,latency_min,widgets"
    report = parsed(f"{header}\nc0ffee,1,2,3,4,5\n", "wide.csv")
    found = {name: by(report, metric=name) for name in header.split(",")[1:]}
    assert {name: (one.unit, one.better) for name, one in found.items()} == {
        "ms": ("ms", Better.LOWER),
        "requests_per_s": ("requests/s", Better.HIGHER),
        "failed_per_s": ("failed/s", Better.LOWER),
        "latency_min": ("", Better.LOWER),
        "widgets": ("", Better.UNKNOWN),
    }


def test_a_direction_that_the_file_states_goes_before_unit_and_name() -> None:
    text = "commit,benchmark,metric,unit,value,better\nc0ffee,a,errors,errors/s,1,higher\n"
    assert by(parsed(text, "long.csv"), benchmark="a").better is Better.HIGHER


def test_a_rate_of_something_unknown_has_no_direction_in_histories_of_go() -> None:
    entry = {
        "commit": {"id": "c0ffee", "timestamp": "2026-01-01T00:00:00Z", "message": "", "author": {"name": ""}},
        "date": 1767225600000,
        "tool": "go",
        "benches": [{"name": "a", "value": 1, "unit": "widgets/s"}, {"name": "b", "value": 1, "unit": "widgets"}],
    }
    report = parsed({"lastUpdate": 1, "repoUrl": "", "entries": {"Go": [entry]}}, "data.json")
    assert [one.better for one in report.runs[0].results] == [Better.UNKNOWN, Better.LOWER]


@pytest.mark.parametrize(
    ("tool", "unit", "contradicts"),
    [
        ("customBiggerIsBetter", "ms/ggas", True),
        ("customBiggerIsBetter", "MB/s", False),
        ("customBiggerIsBetter", "score", False),
        ("customSmallerIsBetter", "ops/s", True),
        ("pytest", "iter/sec", False),
    ],
)
def test_a_history_whose_tool_contradicts_its_unit_keeps_the_tools_direction_with_a_warning(
    tool: str, unit: str, *, contradicts: bool
) -> None:
    commit = {"id": "a" * 40, "message": "x", "timestamp": "2026-01-01T00:00:00Z", "url": "", "author": {"name": "A"}}
    benches = [{"name": "block", "value": 3, "unit": unit}, {"name": "other", "value": 4, "unit": unit}]
    entry = {"commit": commit, "date": 1767225600000, "tool": tool, "benches": benches}
    content = json.dumps({"lastUpdate": 1, "repoUrl": "", "entries": {"Chain": [entry]}})
    report, problems = read_report(content.encode(), name="data.json")
    assert report is not None
    expected = Better.LOWER if "Smaller" in tool else Better.HIGHER
    assert {result.better for result in report.runs[0].results} == {expected}
    assert [f"benchmark 'block': the tool {tool} says" in problem.sentence for problem in problems] == (
        [True] if contradicts else []
    )
