"""Google Benchmark, Catch2, hyperfine, Go, libtest and Criterion.rs."""

from __future__ import annotations

import json

import pytest
from tests.formats.files import HERE, by, golden, made, only

from knickpoint.formats import read_report
from knickpoint.formats.google_benchmark import split_name
from knickpoint.model.errors import FormatError
from knickpoint.model.report import Outcome, Problem, Report
from knickpoint.model.unit_names import Better

_ENCODE = {
    "benchmark": "BenchmarkEncode",
    "format": "json",
    "size": "16",
    "goos": "linux",
    "goarch": "amd64",
    "pkg": "example.org/codec",
}


def go(text: str) -> Report:
    return read_report(text.encode(), name="bench.txt")[0]


def test_google_benchmark_joins_repetitions_and_leaves_aggregates_out() -> None:
    report = golden("google-benchmark-1.7.1.json")
    assert len(by(report, benchmark="BM_Sort", size="64", metric="real_time").samples) == 3
    assert not any("stat=" in key for key in only(report))


def test_google_benchmark_with_aggregates_only_gives_the_median_and_the_mean() -> None:
    report = golden("google-benchmark-*-aggregates.json")
    median = by(report, benchmark="BM_Sort", size="64", metric="real_time")
    assert median.summary.keys() >= {"stddev", "cv", "repetitions"}
    assert by(report, benchmark="BM_Sort", size="64", metric="real_time", stat="mean").samples
    assert not any("stddev" in key or "stat=cv" in key for key in only(report))


def test_google_benchmark_knows_throughput_and_counters() -> None:
    report = golden("google-benchmark-1.7.1.json")
    assert by(report, benchmark="BM_Sort", size="64", metric="bytes_per_second").better is Better.HIGHER
    assert by(report, benchmark="BM_Sort", size="64", metric="swaps").samples == (12.0, 12.0, 12.0)


def test_google_benchmark_marks_errors_as_failed() -> None:
    result = by(golden("google-benchmark-1.7.1.json"), benchmark="BM_Broken", metric="real_time")
    assert (result.outcome, result.message) == (Outcome.FAILED, "no device")


def test_google_benchmark_marks_skips_as_skipped() -> None:
    result = by(made("google-benchmark-old.json"), benchmark="BM_Skip", metric="real_time")
    assert (result.outcome, result.message) == (Outcome.SKIPPED, "no GPU")


@pytest.mark.parametrize("fact", ["label", "family_index", "per_family_instance_index"])
def test_two_benchmarks_of_google_benchmark_with_one_name_are_refused_and_repetitions_are_not(fact: str) -> None:
    rows = [
        {"name": "BM_Copy", "real_time": 1.0, "cpu_time": 1.0, "time_unit": "ns", "repetition_index": 0, fact: value}
        for value in (8, 65536)
    ]
    with pytest.raises(
        FormatError, match=rf"benchmarks\[1\]: two benchmarks are called 'BM_Copy', and differ in {fact}"
    ):
        read_report(json.dumps({"context": {}, "benchmarks": rows}).encode())
    rows[1]["repetition_index"] = 1
    report, _ = read_report(json.dumps({"context": {}, "benchmarks": rows}).encode())
    assert by(report, benchmark="BM_Copy", metric="real_time").samples == (1.0, 1.0)


def test_google_benchmark_warns_of_a_debug_build() -> None:
    _, problems = read_report((HERE / "golden" / "google-benchmark-1.7.1.json").read_bytes())
    assert [problem.message for problem in problems] == ["the benchmark library is a debug build"]


@pytest.mark.parametrize(
    ("name", "params"),
    [
        ("BM_Copy", {"benchmark": "BM_Copy"}),
        ("BM_Copy/8/64", {"benchmark": "BM_Copy", "arg1": "8", "arg2": "64"}),
        ("BM_Copy/size:8/threads:2", {"benchmark": "BM_Copy", "size": "8", "threads": "2"}),
        ("BM_Copy<std::vector<int>>/8", {"benchmark": "BM_Copy<std::vector<int>>", "arg1": "8"}),
        ("Fixture/Method/8/repeats:3/min_time:2.0", {"benchmark": "Fixture/Method", "arg1": "8"}),
        ("BM_Copy/process_time/real_time", {"benchmark": "BM_Copy", "clock": "process-real"}),
        ("BM_Copy/metric:8", {"benchmark": "BM_Copy/metric:8"}),
    ],
)
def test_arguments_in_names_of_google_benchmark_are_params(name: str, params: dict[str, str]) -> None:
    assert split_name(name) == params


def test_catch2_gives_the_mean_with_its_confidence_interval() -> None:
    result = by(golden("catch2-*.xml"), benchmark="fibonacci 12", case="Fibonacci", section="larger")
    assert (result.unit, result.better) == ("ns", Better.LOWER)
    assert result.summary["confidence_low"] <= result.samples[0] <= result.summary["confidence_high"]


def test_catch2_of_version_3_reads_the_same_way() -> None:
    assert by(made("catch2-3.xml"), benchmark="sort 20", case="Sort").samples == (26110.25,)


def test_catch2_keeps_the_message_of_a_failure() -> None:
    assert by(golden("catch2-*.xml"), benchmark="throws", case="Broken").message == "boom"


def test_a_mean_of_catch2_that_is_no_number_is_a_failure_with_its_line() -> None:
    data = (HERE / "made" / "catch2-3.xml").read_bytes().replace(b'"26110.25"', b'"nan"')
    report, _ = read_report(data)
    failed = by(report, benchmark="sort 20", case="Sort")
    assert (failed.outcome, failed.message) == (Outcome.FAILED, "expected the mean, got 'nan' at line 6")


def test_hyperfine_gives_its_times_and_parameters() -> None:
    result = by(golden("hyperfine-1.15.0.json"), benchmark="seq 100", count="1", metric="time")
    assert len(result.samples) == 4
    assert result.unit == "s"


def test_a_command_that_hyperfine_saw_failing_failed() -> None:
    result = by(golden("hyperfine-*-failure.json"), benchmark="exit 3", metric="time")
    assert (result.outcome, result.message) == (Outcome.FAILED, "4 of 4 executions ended with exit code 3")


def test_hyperfine_without_times_gives_its_statistics() -> None:
    report = made("hyperfine-stats.json")
    assert by(report, benchmark="make {target}", target="all", metric="time").samples == (1.2,)
    assert by(report, benchmark="make {target}", target="all", metric="time", stat="max").samples == (1.5,)
    assert by(report, benchmark="make {target}", target="all", metric="memory").samples == (4194304.0, 4202496.0)


@pytest.mark.parametrize("name", ["go-1.19.8.txt", "go-1.19.8-verbose.txt", "go-1.19.8-events.json"])
def test_go_gives_every_unit_as_a_metric_whatever_is_wrapped_around_it(name: str) -> None:
    report = golden(name)
    for metric, unit in (("time", "ns/op"), ("throughput", "MB/s"), ("memory", "B/op"), ("docs/op", "docs/op")):
        result = by(report, **_ENCODE, metric=metric)
        assert (len(result.samples), result.unit) == (3, unit)


@pytest.mark.parametrize("name", ["go-1.19.8-verbose.txt", "go-1.19.8-events.json"])
def test_go_keeps_failed_and_skipped_benchmarks(name: str) -> None:
    place = {"goos": "linux", "goarch": "amd64", "pkg": "example.org/codec", "metric": "time"}
    report = golden(name)
    assert by(report, benchmark="BenchmarkBroken", **place).outcome is Outcome.FAILED
    assert by(report, benchmark="BenchmarkSkipped", **place).outcome is Outcome.SKIPPED


def test_go_keeps_the_number_of_processors_out_of_the_series_and_in_the_environment() -> None:
    (run,) = golden("go-1.19.8.txt").runs
    assert run.environment["GOMAXPROCS"] == "2"
    assert not any("procs" in key for key in run.results.keys)


def test_go_tells_runs_with_several_numbers_of_processors_apart() -> None:
    report = go("BenchmarkScale 1 20 ns/op\nBenchmarkScale-4 1 8 ns/op\n")
    assert by(report, benchmark="BenchmarkScale", metric="time", procs="1").samples == (20.0,)
    assert by(report, benchmark="BenchmarkScale", metric="time", procs="4").samples == (8.0,)


_NAMES = {
    "one core, shown by a name without a number": ("Read/size-1024 Read/size Add", "Read/size-1024 Read/size Add"),
    "one core, shown by a function": ("Read/size-1024 Add", "Read/size-1024 Add"),
    "one core, with parts alone": ("Read/size-64 Read/size-1024", "Read/size-64 Read/size-1024"),
    "two cores": ("Read/size-1024-2 Read/size-2 Add-2", "Read/size-1024 Read/size Add"),
    "parts alone on two cores": ("Read/size-64-2 Read/size-1024-2", "Read/size-64 Read/size-1024"),
    "one part on eight cores": ("Read/small-8", "Read/small"),
    "several numbers": (
        "Add Add-2 Add-4 Read/n-2 Read/n-2-2 Read/n-2-4",
        "Add Add@2 Add@4 Read/n-2 Read/n-2@2 Read/n-2@4",
    ),
    "several numbers, parts alone": ("R/a R/a-2 R/b R/b-2", "R/a R/a@2 R/b R/b@2"),
    "several numbers or one core": ("R/a R/a-2", "R/a R/a-2"),
    "no number is 1": ("Add-2 Add-8 R/n-4-2 R/n-4-8", "Add@2 Add@8 R/n-4@2 R/n-4@8"),
}


@pytest.mark.parametrize(("printed", "expected"), _NAMES.values(), ids=_NAMES)
def test_all_names_of_a_package_decide_which_numbers_are_of_processors(printed: str, expected: str) -> None:
    (run,) = go("".join(f"Benchmark{name} 1 20 ns/op\n" for name in printed.split())).runs
    found = [(row.params["benchmark"].removeprefix("Benchmark"), row.params.get("procs", "1")) for row in run.results]
    assert [f"{name}@{count}".removesuffix("@1") for name, count in found] == expected.split()


def test_packages_decide_apart_which_numbers_are_of_processors() -> None:
    (run,) = go("pkg: a\nBenchmarkR/n-4 1 20 ns/op\nBenchmarkA 1 20 ns/op\npkg: b\nBenchmarkR/n-4 1 20 ns/op\n").runs
    assert [row.params["benchmark"] for row in run.results] == ["BenchmarkR/n-4", "BenchmarkA", "BenchmarkR/n"]


def test_benchfmt_tells_commits_and_directions() -> None:
    report = made("benchfmt.txt")
    assert [run.revision[:4] for run in report.runs] == ["9a1f", "0b1f"]
    assert report.runs[0].results[1].better is Better.HIGHER


def test_configuration_that_differs_for_one_benchmark_tells_series_apart() -> None:
    keys = made("benchfmt.txt").runs[0].results.keys
    assert {"note=first" in key for key in keys} == {True, False}


@pytest.mark.parametrize(
    "line",
    ["BenchmarkA-2 100 NaN ns/op", "BenchmarkA-2 100 +Inf ns/op", "BenchmarkA-2 100 x1 ns/op", "BenchmarkA-2 100 1.5"],
)
def test_a_line_of_go_that_has_no_number_is_a_failure_of_its_benchmark_alone(line: str) -> None:
    measured, failed = go(f"BenchmarkB-2 100 1.5 ns/op\n{line}\n").runs[0].results
    assert measured.samples == (1.5,)
    assert (failed.params["benchmark"], failed.outcome) == ("BenchmarkA", Outcome.FAILED)
    assert line.split()[2] in failed.message
    assert "line 2" in failed.message


def test_a_metric_of_go_that_is_no_number_leaves_the_others_of_its_line() -> None:
    report = go("BenchmarkA-2 100 1.5 ns/op NaN docs/op\n")
    assert by(report, benchmark="BenchmarkA", metric="time").samples == (1.5,)
    assert by(report, benchmark="BenchmarkA", metric="docs/op").outcome is Outcome.FAILED


def test_go_ignores_log_lines_and_colours() -> None:
    report = go("BenchmarkA-2   some log\n\x1b[32mBenchmarkB-2 100 1.5 ns/op\x1b[0m\nBenchmarkC\nok  x 1s\n")
    assert list(only(report)) == [",benchmark=BenchmarkB,metric=time,"]


@pytest.mark.parametrize("end", ["BenchmarkB-2 100 1", "BenchmarkB-2 100", "BenchmarkB-2 100 1.5 ns/o", "Benchm"])
def test_go_refuses_a_last_line_that_breaks_off(end: str) -> None:
    text = f"BenchmarkB-2 100 1.5 ns/op\n{end}"
    if end == "Benchm":
        assert len(go(text).runs[0].results) == 1
        return
    with pytest.raises(FormatError, match=r"line 2\) has no line end and is incomplete"):
        go(text)


@pytest.mark.parametrize("end", ["BenchmarkB-2 100 1.5 ns/op", "PASS", "ok  example.org/codec 1.2s"])
def test_go_reads_a_last_line_that_is_whole_without_a_line_end(end: str) -> None:
    report, problems = read_report(f"BenchmarkB-2 100 1.5 ns/op\n{end}".encode())
    assert (set(report.runs[0].results[0].samples), problems) == ({1.5}, ())


def test_go_warns_of_a_last_line_whose_unit_does_not_say_that_it_is_whole() -> None:
    report, (problem,) = read_report(b"BenchmarkB-2 100 1.5 ns/op 12 docs")
    assert by(report, benchmark="BenchmarkB", metric="docs").samples == (12.0,)
    assert "has no line end" in problem.message


def test_libtest_gives_the_median_and_its_spread() -> None:
    result = by(golden("libtest-*.txt"), benchmark="tests::sort_100")
    assert result.unit == "ns/iter"
    assert result.summary["spread"] > 0


def test_libtest_reads_thousands_and_other_units() -> None:
    report = made("libtest-nightly.txt")
    assert by(report, benchmark="codec::decode_1024").samples == (3421.25,)
    assert by(report, benchmark="codec::encode").unit == "ms/iter"


def test_libtest_keeps_ignored_and_failed_benchmarks() -> None:
    report = made("libtest-nightly.txt")
    assert by(report, benchmark="codec::flaky").message == "needs a network"
    assert by(report, benchmark="codec::broken").outcome is Outcome.FAILED


def test_a_line_of_libtest_that_was_printed_into_is_a_failure() -> None:
    report, _ = read_report(b"test a::b ... bench: hello\ntest c ... bench: 12 ns/iter (+/- 3)\n")
    failed = by(report, benchmark="a::b")
    assert (failed.outcome, failed.message) == (Outcome.FAILED, "'hello' is not a result at line 1")
    assert by(report, benchmark="c").samples == (12.0,)


def test_a_rate_of_libtest_is_read_with_its_unit() -> None:
    report, _ = read_report(b"test upload ... bench: 1911 MB/s (+/- 420)\n")
    assert (by(report, benchmark="upload").unit, by(report, benchmark="upload").better) == ("MB/s", Better.HIGHER)


def test_libtest_reads_a_last_line_that_is_whole_without_a_line_end() -> None:
    report, problems = read_report(b"test a ... bench: 12 ns/iter (+/- 3)")
    assert (by(report, benchmark="a").samples, problems) == ((12.0,), ())


@pytest.mark.parametrize("end", ["test a ... bench: 1", "test a ... bench: 12 ns/iter", "test a ... be"])
def test_libtest_refuses_a_last_line_that_breaks_off(end: str) -> None:
    with pytest.raises(FormatError, match=r"line 2\) has no line end and is incomplete"):
        read_report(f"test b ... bench: 12 ns/iter (+/- 3)\n{end}".encode())


def test_the_surfaces_of_criterion_make_one_series() -> None:
    name = "sums of many numbers that have a long name/xor/100"
    for file in ("-bencher.txt", ".txt", "-estimates.json", "-sample.json", "-raw.csv"):
        assert f",benchmark={name}," in only(golden(f"criterion-0.3.6{file}")), file


def test_criterion_samples_are_times_by_iteration() -> None:
    from_files = by(golden("criterion-*-sample.json"), benchmark="sums of many numbers that have a long name/xor/100")
    assert len(from_files.samples) == 10
    assert by(made("cargo-criterion.json"), benchmark="codec/decode/1024").samples == (50.5, 51.0, 51.5)


def test_criterion_names_its_files_by_their_path_where_nothing_stands_beside_them() -> None:
    data = (HERE / "golden" / "criterion-0.3.6-sample.json").read_bytes()
    report, _ = read_report(data, name="target/criterion/sums/xor/100/new/sample.json")
    assert list(only(report)) == [",benchmark=sums/xor/100,"]


def test_a_file_of_criterion_that_nothing_names_is_refused() -> None:
    data = (HERE / "golden" / "criterion-0.3.6-sample.json").read_bytes()
    with pytest.raises(FormatError, match=r"does not say which benchmark it belongs to.*Import it under its path"):
        read_report(data, name="sample.json")


def test_the_text_of_criterion_gives_the_middle_estimate_in_its_unit() -> None:
    result = by(golden("criterion-0.3.6.txt"), benchmark="sum 1000")
    assert result.unit == "ns"
    assert result.summary["confidence_low"] <= result.samples[0] <= result.summary["confidence_high"]


def test_a_run_without_results_is_read_with_a_warning() -> None:
    _, problems = read_report(json.dumps({"context": {"num_cpus": 8}, "benchmarks": []}).encode(), name="empty.json")
    assert isinstance(problems[0], Problem)
    assert "holds no results" in problems[0].message


def test_a_go_benchmark_that_fails_after_its_line_began_is_a_failure_of_its_series() -> None:
    text = "BenchmarkGood-8   \t 100\t 12.5 ns/op\nBenchmarkBad-8    \t--- FAIL: BenchmarkBad-8\n    x_test.go:12: boom\nFAIL\n"
    good, bad = read_report(text.encode())[0].runs[0].results
    assert (good.params, good.outcome) == ({"benchmark": "BenchmarkGood", "metric": "time"}, Outcome.MEASURED)
    assert (bad.params, bad.outcome) == ({"benchmark": "BenchmarkBad", "metric": "time"}, Outcome.FAILED)


def test_a_counter_of_google_benchmark_without_a_number_failed() -> None:
    rows = [
        {
            "name": "a",
            "run_name": "a",
            "real_time": 1.0,
            "cpu_time": 1.0,
            "time_unit": "ns",
            "ipc": None,
            "hits": "n/a",
        },
        {
            "name": "b",
            "run_name": "b",
            "real_time": 1.0,
            "cpu_time": 1.0,
            "time_unit": "ns",
            "ipc": 2.5,
            "rate": "fast",
        },
        {"name": "c", "run_name": "c", "real_time": 1.0, "cpu_time": 1.0, "time_unit": "ns", "rate": 3, "tune": "wide"},
    ]
    report, _ = read_report(json.dumps({"context": {}, "benchmarks": rows}).encode())
    found = {f"{result.params['benchmark']}/{result.params['metric']}": result for result in report.runs[0].results}
    assert {name for name, result in found.items() if result.outcome is Outcome.FAILED} == {"a/ipc", "a/hits", "b/rate"}
    assert (found["b/ipc"].samples, found["c/rate"].samples, "c/tune" in found) == ((2.5,), (3.0,), False)


def test_divan_names_benchmarks_by_their_branches_and_threads() -> None:
    report = made("divan.txt")
    leaf = by(report, suite="codec", benchmark="decode/4096", metric="time")
    assert (leaf.samples, leaf.unit, leaf.better) == ((13.02,), "µs", Better.LOWER)
    assert leaf.summary == {"samples": 100.0, "iters": 100.0}
    assert by(report, suite="codec", benchmark="insert", threads="4", metric="time", stat="mean").samples == (1.782,)
    assert by(report, suite="text", benchmark="words", metric="time").unit == "s"
    assert by(report, suite="codec", benchmark="flaky").outcome is Outcome.SKIPPED


def test_the_allocations_that_divan_counts_are_metrics_of_their_benchmark() -> None:
    report = made("divan.txt")
    assert by(report, suite="codec", benchmark="parse", metric="alloc_count").samples == (5.0,)
    assert by(report, suite="codec", benchmark="parse", metric="max_alloc_bytes").unit == "B"


def test_times_of_divan_are_read_behind_what_the_benchmark_printed() -> None:
    text = (HERE / "made" / "divan.txt").read_text(encoding="utf-8")
    text = text.replace("╰─ parse                  499.4", "╰─ parse                  hello\nagain\n499.4")
    report, problems = read_report(text.encode())
    assert by(report, suite="codec", benchmark="parse", metric="time").samples == (516.1,)
    assert problems == ()


def test_a_tree_of_divan_without_its_last_branch_is_a_warning() -> None:
    text = (HERE / "made" / "divan.txt").read_text(encoding="utf-8")
    _, (problem,) = read_report(text[: text.index("╰─ parse")].encode())
    assert "ends before its last branch" in problem.message
