"""Files that tools wrote for other projects: the values are the statistics that the tools computed."""

from __future__ import annotations

import json
from pathlib import Path
from statistics import mean
from typing import Any

import pytest
from tests.reference_data import skip_without_reference

from knickpoint.formats import read_report, sniff
from knickpoint.model.errors import FormatError
from knickpoint.model.report import Outcome, Report, Result
from knickpoint.model.unit_names import Better

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


# name → results with a value, one of them: params and value
_TEXTS: dict[str, tuple[int, dict[str, str], float]] = {
    "bencher-cpp_catch2_four.txt": (4, {"benchmark": "Fibonacci 20", "case": "Fibonacci"}, 41.731),
    "bencher-cpp_catch2_two.txt": (2, {"benchmark": "Fibonacci 20", "case": "Fibonacci"}, 1.0),
    "gab-catch2_output_v3.txt": (4, {"benchmark": "Fibonacci-15_bench", "case": "More Fibonacci"}, 3.789),
    "bencher-js_benchmark_four.txt": (4, {"benchmark": "benchmark with x 2 many things"}, 50.0),
    "gab-benchmarkjs_output.txt": (3, {"benchmark": "fib(10)"}, 1431759.0),
    "gab-julia_output.json": (8, {"benchmark": "fib/20", "metric": "time"}, 31028.0),
    "bencher-rust_gungraun_delta.txt": (
        12,
        {
            "benchmark": "rust_iai_callgrind::bench_fibonacci_group::bench_fibonacci",
            "id": "long",
            "metric": "Instructions",
        },
        26214734.0,
    ),
    "bencher-rust_gungraun_ansi-escapes.txt": (
        12,
        {
            "benchmark": "rust_iai_callgrind::bench_fibonacci_group::bench_fibonacci",
            "id": "short",
            "metric": "RAM Hits",
        },
        3.0,
    ),
    "bencher-rust_gungraun_json_one_callgrind_diff.txt": (
        2,
        {"benchmark": "play_game::bench_play_game_group::bench_play_game_100", "id": "some_id", "metric": "D1mr"},
        6.0,
    ),
    "bencher-rust_gungraun_json_one_dhat_all_metrics.txt": (
        13,
        {
            "benchmark": "play_game::bench_play_game_group::bench_play_game_100",
            "id": "some_id",
            "metric": "Total bytes",
            "tool": "dhat",
        },
        8.0,
    ),
}


def test_texts_and_summaries_of_libraries_come_in_whole(reference: Path) -> None:
    for name, (count, params, value) in _TEXTS.items():
        report, problems = read_report(_data(reference, name), name=name)
        assert problems == (), name
        found = _measured(report)
        assert len(found) == count, name
        assert [result.samples for result in found if result.params == params] == [(value,)], name


def test_every_output_of_gungraun_is_read_but_that_of_another_version(reference: Path) -> None:
    for path in sorted((reference / "data" / "formats").glob("bencher-rust_gungraun_*.txt")):
        if path.name.endswith("not_v6.txt"):
            with pytest.raises(FormatError, match="the summary has version 5"):
                read_report(path.read_bytes())
        else:
            report, _ = read_report(path.read_bytes())
            assert report.format == "gungraun"


def test_no_file_of_another_project_fits_two_formats(reference: Path) -> None:
    for folder in ("formats", "histories"):
        for path in sorted((reference / "data" / folder).iterdir()):
            assert len(sniff(path.read_bytes(), name=path.name)) <= 1, path.name
