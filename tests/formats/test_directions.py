"""Which direction is better of what formats read, and the real files of JMH and BenchmarkDotNet."""

from __future__ import annotations

import json
from pathlib import Path
from statistics import mean
from typing import Any

import pytest

from knickpoint.formats import read_report
from knickpoint.model.errors import FormatError
from knickpoint.model.report import Outcome, Report, Result
from knickpoint.model.unit import Better

BLAKE = "jmh-kcrypt-scala-blake3-prof-gc.json"
PUBLISHER = "bdn-publisher-"
ENDING = "-report-full-compressed.json"
FAILING = f"{PUBLISHER}failing-benchmark-TodoApp.OpenApiBenchmarks{ENDING}"


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


def real(reference: Path, name: str) -> tuple[Any, Report]:
    """Return the document of a real file, and what is read of it."""
    data = (reference / "data" / "formats" / name).read_bytes()
    report, problems = read_report(data, name=name)
    assert (report is not None, problems) == (True, ())
    assert report is not None
    return json.loads(data), report


@pytest.mark.parametrize(
    ("name", "benchmarks", "samples", "better"),
    [
        ("jmh-develar-kv-store-benchmark.json", 4, 40, Better.LOWER),
        (BLAKE, 24, 5, Better.LOWER),
        ("bencher-java_jmh_latency.json", 1, 3, Better.LOWER),
        ("bencher-java_jmh_throughput.json", 1, 3, Better.HIGHER),
        ("gab-jmh_output.json", 1, 3, Better.HIGHER),
        ("gab-jmh_output_2.json", 1, 3, Better.HIGHER),
    ],
)
def test_scores_of_real_files_of_jmh_are_the_means_of_their_samples(
    reference: Path, name: str, benchmarks: int, samples: int, better: Better
) -> None:
    document, report = real(reference, name)
    found = [one for one in measured(report) if one.params["metric"] in {"time", "throughput"}]
    assert [(len(one.samples), one.better) for one in found] == [(samples, better)] * benchmarks
    scores = [entry["primaryMetric"]["score"] for entry in document]
    assert [mean(one.samples) for one in found] == pytest.approx(scores)


def test_profilers_of_a_real_file_of_jmh_count_what_is_better_when_lower(reference: Path) -> None:
    document, report = real(reference, BLAKE)
    found = [one for one in measured(report) if one.params["metric"].startswith("gc.")]
    assert {one.better for one in found} == {Better.LOWER}
    assert len(found) == sum(len(entry["secondaryMetrics"]) for entry in document)


@pytest.mark.parametrize(
    ("name", "times"),
    [
        ("bdn-analyser-BaselinedBenchmark-report-full.json", 2),
        (f"{PUBLISHER}existing-benchmark-MartinCostello.ProjectEuler.Benchmarks.PuzzleBenchmarks{ENDING}", 1),
        (FAILING, 2),
        ("bencher-c_sharp_dot_net_memory.json", 2),
        ("gab-benchmarkdotnet.json", 2),
    ],
)
def test_times_of_real_files_of_benchmarkdotnet_are_its_own_values(reference: Path, name: str, times: int) -> None:
    document, report = real(reference, name)
    found = measured(report, metric="time")
    statistics = [entry["Statistics"] for entry in document["Benchmarks"] if entry["Statistics"]]
    assert len(found) == times
    assert [mean(one.samples) for one in found] == pytest.approx([each["Mean"] for each in statistics])
    assert {one.better for one in measured(report)} == {Better.LOWER}


@pytest.mark.parametrize("name", ["bencher-c_sharp_dot_net_two.json", "bencher-c_sharp_dot_net_null_namespace.json"])
def test_brief_files_of_benchmarkdotnet_give_the_median(reference: Path, name: str) -> None:
    document, report = real(reference, name)
    medians = [entry["Statistics"]["Median"] for entry in document["Benchmarks"]]
    values = [one.samples for one in measured(report, metric="time") if "stat" not in one.params]
    assert values == [(median,) for median in medians]


def test_a_benchmark_without_statistics_in_a_real_file_failed(reference: Path) -> None:
    _, report = real(reference, "bdn-publisher-failing-benchmark-TodoApp.OpenApiBenchmarks-report-full-compressed.json")
    assert [one.params["benchmark"] for one in report.runs[0].results if one.outcome is Outcome.FAILED] == [
        "TodoApp.OpenApiBenchmarks.Swashbuckle"
    ]


@pytest.mark.parametrize(
    "name",
    [
        "bdn-publisher-existing-benchmark.json",
        "bdn-publisher-failing-benchmark.json",
        "bdn-publisher-jobs-benchmark.json",
    ],
)
def test_a_file_beside_results_that_holds_none_is_refused(reference: Path, name: str) -> None:
    data = (reference / "data" / "formats" / name).read_bytes()
    with pytest.raises(FormatError, match="format"):
        read_report(data, name=name)
