"""Files that JMH and BenchmarkDotNet wrote for other projects: the values are the statistics that the tools computed."""

from __future__ import annotations

import json
from pathlib import Path
from statistics import mean
from typing import Any

import pytest
from tests.reference_data import skip_without_reference

from knickpoint.formats import read_report
from knickpoint.model.errors import FormatError
from knickpoint.model.report import Outcome, Report, Result
from knickpoint.model.unit import Better

skip_without_reference()

_PROFILED = "jmh-kcrypt-scala-blake3-prof-gc.json"
_FAILING = "bdn-publisher-failing-benchmark-TodoApp.OpenApiBenchmarks-report-full-compressed.json"

# name → benchmarks, samples of each, direction
_JMH = {
    "jmh-develar-kv-store-benchmark.json": (4, 40, Better.LOWER),
    _PROFILED: (24, 5, Better.LOWER),
    "bencher-java_jmh_latency.json": (1, 3, Better.LOWER),
    "bencher-java_jmh_throughput.json": (1, 3, Better.HIGHER),
    "gab-jmh_output.json": (1, 3, Better.HIGHER),
    "gab-jmh_output_2.json": (1, 3, Better.HIGHER),
}
# name → benchmarks with a time
_FULL = {
    "bdn-analyser-BaselinedBenchmark-report-full.json": 2,
    "bdn-publisher-existing-benchmark-MartinCostello.ProjectEuler.Benchmarks.PuzzleBenchmarks-report-full-compressed.json": 1,
    _FAILING: 2,
    "bencher-c_sharp_dot_net_memory.json": 2,
    "gab-benchmarkdotnet.json": 2,
}
_BRIEF = ("bencher-c_sharp_dot_net_two.json", "bencher-c_sharp_dot_net_null_namespace.json")
_BESIDE_RESULTS = (
    "bdn-publisher-existing-benchmark.json",
    "bdn-publisher-failing-benchmark.json",
    "bdn-publisher-jobs-benchmark.json",
)


def _data(reference: Path, name: str) -> bytes:
    return (reference / "data" / "formats" / name).read_bytes()


def _real(reference: Path, name: str) -> tuple[Any, Report]:
    """Return the document of a real file, and the report that is read from it."""
    data = _data(reference, name)
    report, problems = read_report(data, name=name)
    assert problems == (), name
    return json.loads(data), report


def _measured(report: Report, *metrics: str) -> list[Result]:
    (run,) = report.runs
    return [result for result in run.results if result.samples and (not metrics or result.params["metric"] in metrics)]


def test_scores_of_jmh_are_the_means_of_their_samples(reference: Path) -> None:
    for name, (benchmarks, samples, better) in _JMH.items():
        document, report = _real(reference, name)
        found = _measured(report, "time", "throughput")
        assert [(len(result.samples), result.better) for result in found] == [(samples, better)] * benchmarks, name
        scores = [entry["primaryMetric"]["score"] for entry in document]
        assert [mean(result.samples) for result in found] == pytest.approx(scores), name
    document, report = _real(reference, _PROFILED)
    counted = [result for result in _measured(report) if result.params["metric"].startswith("gc.")]
    assert {result.better for result in counted} == {Better.LOWER}
    assert len(counted) == sum(len(entry["secondaryMetrics"]) for entry in document)


def test_times_of_benchmarkdotnet_are_its_means_or_in_brief_files_its_medians(reference: Path) -> None:
    for name, times in _FULL.items():
        document, report = _real(reference, name)
        found = _measured(report, "time")
        means = [entry["Statistics"]["Mean"] for entry in document["Benchmarks"] if entry["Statistics"]]
        assert len(found) == times, name
        assert [mean(result.samples) for result in found] == pytest.approx(means), name
        assert {result.better for result in _measured(report)} == {Better.LOWER}, name
    for name in _BRIEF:
        document, report = _real(reference, name)
        medians = [(entry["Statistics"]["Median"],) for entry in document["Benchmarks"]]
        found = [result for result in _measured(report, "time") if "stat" not in result.params]
        assert [result.samples for result in found] == medians, name


def test_what_benchmarkdotnet_did_not_measure_is_a_failure_or_refused(reference: Path) -> None:
    _, report = _real(reference, _FAILING)
    failed = [result.params["benchmark"] for result in report.runs[0].results if result.outcome is Outcome.FAILED]
    assert failed == ["TodoApp.OpenApiBenchmarks.Swashbuckle"]
    for name in _BESIDE_RESULTS:
        with pytest.raises(FormatError, match="format"):
            read_report(_data(reference, name), name=name)
