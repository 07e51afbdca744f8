"""What apps and pages are measured with: Jetpack Benchmark, XCTest and Lighthouse."""

from __future__ import annotations

import json
from typing import Any

import pytest
from tests.formats.files import HERE, by, golden, made

from knickpoint.formats import read_report
from knickpoint.model.errors import FormatError
from knickpoint.model.report import Outcome, Severity
from knickpoint.model.unit_names import Better

_STARTUP = {"suite": "org.example.notes.StartupBenchmark", "compilationMode": "Partial", "startupMode": "COLD"}
_SCROLL = {"suite": "org.example.notes.ScrollBenchmark", "benchmark": "scroll"}
_DECODE = {"suite": "NotesTests.CodecTests", "benchmark": "testDecode"}
_PAGE = {"benchmark": "http://127.0.0.1:8733/", "form_factor": "mobile"}


def _jetpack() -> dict[str, Any]:
    found: dict[str, Any] = json.loads((HERE / "made" / "jetpack-benchmark.json").read_bytes())
    return found


def test_the_runs_of_jetpack_are_samples_and_its_parameters_are_params() -> None:
    result = by(made("jetpack-benchmark.json"), **_STARTUP, benchmark="startup", metric="timeToInitialDisplayMs")
    assert (result.samples, result.unit, result.better) == ((342.75, 310.5, 301.25), "ms", Better.LOWER)


@pytest.mark.parametrize(
    ("metric", "unit", "better"),
    [
        ("timeNs", "ns", Better.LOWER),
        ("allocationCount", "allocs", Better.LOWER),
        ("memoryRssAnonMaxKb", "KiB", Better.LOWER),
        ("energyTotalUws", "uJ", Better.LOWER),
        ("powerCategoryCpuUw", "uW", Better.LOWER),
        ("frameCount", "", Better.UNKNOWN),
        ("Vector.firstSumMs", "ms", Better.LOWER),
        ("Items", "", Better.UNKNOWN),
    ],
)
def test_the_end_of_the_name_of_a_metric_of_jetpack_is_its_unit(metric: str, unit: str, better: Better) -> None:
    document = _jetpack()
    document["benchmarks"][0]["metrics"] = {metric: {"median": 2.5, "runs": [2.0, 3.0]}}
    result = read_report(json.dumps(document).encode())[0].runs[0].results[0]
    assert (result.params["metric"], result.unit, result.better) == (metric, unit, better)


def test_the_median_of_the_frames_of_jetpack_is_the_value_of_a_sampled_metric() -> None:
    report = made("jetpack-benchmark.json")
    assert by(report, **_SCROLL, metric="frameDurationCpuMs").samples == (5.25,)
    assert by(report, **_SCROLL, metric="frameDurationCpuMs", stat="p99").samples == (12.25,)


def test_frames_that_met_their_deadline_are_no_durations_below_zero() -> None:
    data = (HERE / "made" / "jetpack-benchmark.json").read_bytes()
    report, problems = read_report(data)
    assert by(report, **_SCROLL, metric="frameOverrunMs").samples == (-9.5,)
    assert problems == ()


def test_a_benchmark_of_jetpack_with_params_of_reserved_names_keeps_its_whole_name() -> None:
    document = _jetpack()
    document["benchmarks"] = [{**document["benchmarks"][0], "name": "read[metric=rows]", "params": {"metric": "rows"}}]
    params = [result.params for result in read_report(json.dumps(document).encode())[0].runs[0].results]
    assert {each["benchmark"] for each in params} == {"read[metric=rows]"}


def test_a_benchmark_of_jetpack_without_metrics_and_an_odd_run_are_failures() -> None:
    document = _jetpack()
    document["benchmarks"][1] |= {"metrics": {}, "sampledMetrics": {}}
    document["benchmarks"][2]["metrics"]["timeNs"]["runs"][1] = None
    report, _ = read_report(json.dumps(document).encode())
    failed = {result.params["benchmark"] for result in report.runs[0].results if result.outcome is Outcome.FAILED}
    assert failed == {"scroll", "parse"}


def test_the_values_of_a_test_of_xctest_are_samples_in_its_unit() -> None:
    report = made("xctest.txt")
    time = by(report, **_DECODE, metric="Clock Monotonic Time")
    assert (time.samples[0], len(time.samples), time.unit, time.better) == (0.158417, 4, "s", Better.LOWER)
    assert time.summary == {"stddev_percent": 6.521}
    assert by(report, **_DECODE, metric="Memory Peak Physical").unit == "kB"


def test_a_test_of_xctest_on_linux_has_another_form_of_name() -> None:
    assert by(made("xctest.txt"), suite="SortTests", benchmark="testMerge", metric="Time").samples[0] == 0.002137


def test_xctest_says_which_way_is_better() -> None:
    text = (HERE / "made" / "xctest.txt").read_text(encoding="utf-8").replace("prefers smaller", "prefers larger", 1)
    report, _ = read_report(text.encode())
    assert by(report, **_DECODE, metric="Clock Monotonic Time").better is Better.HIGHER


def test_an_odd_value_of_xctest_fails_its_metric_and_a_missing_name_is_a_loss() -> None:
    text = (HERE / "made" / "xctest.txt").read_text(encoding="utf-8").replace("0.131659", "inf", 1)
    text = text.replace("Test Case 'SortTests.testMerge' measured", "measured")
    report, (problem,) = read_report(text.encode())
    assert by(report, **_DECODE, metric="Clock Monotonic Time").outcome is Outcome.FAILED
    assert (problem.severity, problem.where) == (Severity.LOSS, "line 7")


def test_lighthouse_measures_the_page_and_scores_it() -> None:
    report = golden("lighthouse-*.json")
    score = by(report, **_PAGE, metric="score", category="performance")
    assert (score.samples, score.better) == ((1.0,), Better.HIGHER)
    paint = by(report, **_PAGE, metric="largest-contentful-paint")
    assert (paint.samples, paint.unit, paint.better) == ((760.6331,), "ms", Better.LOWER)
    assert by(report, **_PAGE, metric="total-byte-weight").unit == "B"


def test_what_lighthouse_estimates_that_a_change_would_save_is_no_result() -> None:
    metrics = {result.params["metric"] for result in golden("lighthouse-*.json").runs[0].results}
    assert "unused-javascript" not in metrics
    assert {"total-blocking-time", "cumulative-layout-shift"} <= metrics


def test_an_answer_of_pagespeed_insights_has_the_result_of_lighthouse_in_it() -> None:
    inner = json.loads(next((HERE / "golden").glob("lighthouse-*.json")).read_bytes())
    answer, _ = read_report(json.dumps({"captchaResult": "OK", "id": "x", "lighthouseResult": inner}).encode())
    assert len(answer.runs[0].results) == len(golden("lighthouse-*.json").runs[0].results)


def test_a_page_that_lighthouse_could_not_load_and_an_audit_with_an_error_failed() -> None:
    document = json.loads(next((HERE / "golden").glob("lighthouse-*.json")).read_bytes())
    document["runtimeError"] = {"code": "NO_FCP", "message": "The page did not paint any content."}
    document["audits"]["speed-index"] = {"id": "speed-index", "scoreDisplayMode": "error", "errorMessage": "no trace"}
    report, _ = read_report(json.dumps(document).encode())
    assert by(report, **_PAGE, metric="score", category="performance").message.startswith("The page did not paint")
    assert by(report, **_PAGE, metric="speed-index").message == "no trace"


def test_a_last_line_of_xctest_that_breaks_off_refuses_the_file() -> None:
    data = (HERE / "made" / "xctest.txt").read_bytes()
    with pytest.raises(FormatError, match="no line end and is incomplete"):
        read_report(data[: data.index(b"0.001989")])
