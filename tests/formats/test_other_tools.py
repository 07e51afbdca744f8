"""JMH, BenchmarkDotNet, JUnit, k6, Vitest, LNT, Perfherder, Catapult, Bencher, Nyrkiö and Conbench."""

from __future__ import annotations

import json

import pytest
from tests.formats.files import HERE, by, golden, made, only

from knickpoint.formats import read_report
from knickpoint.model.errors import FormatError
from knickpoint.model.report import Outcome
from knickpoint.model.unit_names import Better


def test_jmh_gives_the_iterations_of_all_forks() -> None:
    result = by(made("jmh.json"), benchmark="org.example.Sort.quick", mode="avgt", metric="time", size="100")
    assert result.samples == (103.0, 105.0, 105.0, 109.0)
    assert (result.unit, result.better) == ("ns/op", Better.LOWER)


def test_the_unit_tells_the_direction_of_jmh() -> None:
    result = by(
        made("jmh.json"), benchmark="org.example.Sort.quick", mode="thrpt", metric="throughput", size="100", threads="4"
    )
    assert result.better is Better.HIGHER


def test_sampled_times_of_jmh_give_percentiles() -> None:
    params = {"benchmark": "org.example.Sort.merge", "mode": "sample", "metric": "time"}
    assert by(made("jmh.json"), **params).samples == (0.11,)
    assert by(made("jmh.json"), **params, stat="p99.9").samples == (0.5,)
    assert by(made("jmh.json"), **params, stat="mean").samples == (0.125,)


def test_secondary_metrics_of_jmh_have_their_own_names() -> None:
    result = by(
        made("jmh.json"), benchmark="org.example.Sort.quick", mode="avgt", metric="gc.alloc.rate.norm", size="100"
    )
    assert (result.samples, result.unit, result.better) == ((416.0, 416.0), "B/op", Better.LOWER)


def test_a_score_of_jmh_that_is_nan_is_a_failure() -> None:
    document = json.loads((HERE / "made" / "jmh.json").read_bytes())[:1]
    document[0]["primaryMetric"]["score"] = "NaN"
    report, _ = read_report(json.dumps(document).encode())
    assert report.runs[0].results[0].outcome is Outcome.FAILED


def test_benchmarkdotnet_tells_jobs_apart_without_their_made_up_names() -> None:
    report = made("benchmarkdotnet.json")
    first = by(report, benchmark="Demo.Bench.Decode", Size="64", metric="time")
    assert first.samples == (76.5, 77.25, 78.75)
    second = by(report, benchmark="Demo.Bench.Decode", Size="64", metric="time", job="Runtime=.NET 8.0")
    assert second.samples == (87.25,)


def test_benchmarkdotnet_tells_benchmarks_apart_whose_parameters_were_shortened() -> None:
    document = json.loads((HERE / "made" / "benchmarkdotnet.json").read_text(encoding="utf-8-sig"))
    first = document["Benchmarks"][0]
    document["Benchmarks"] = [{**first, "FullName": name} for name in ("Decode(S: one)", "Decode(S: two)")]
    report, _ = read_report(json.dumps(document).encode())
    assert {result.params["benchmark"] for result in report.runs[0].results} == {"Decode(S: one)", "Decode(S: two)"}


def test_benchmarkdotnet_gives_memory_and_counters() -> None:
    report = made("benchmarkdotnet.json")
    assert by(report, benchmark="Demo.Bench.Decode", Size="64", metric="allocated").unit == "B"
    assert by(report, benchmark="Demo.Bench.Decode", Size="64", metric="CacheMisses").better is Better.LOWER


def test_benchmarkdotnet_without_statistics_failed() -> None:
    assert by(made("benchmarkdotnet.json"), benchmark="Bench.Throws", metric="time").outcome is Outcome.FAILED


def test_junit_gives_durations_of_passed_tests_only() -> None:
    report = golden("junit-pytest-*.xml")
    outcomes = {result.params["benchmark"]: result.outcome for result in report.runs[0].results}
    assert outcomes == {
        "test_unit.test_quick": Outcome.MEASURED,
        "test_unit.test_names[a,b]": Outcome.MEASURED,
        "test_unit.test_names[c=d]": Outcome.MEASURED,
        "test_unit.test_breaks": Outcome.FAILED,
        "test_unit.test_skipped": Outcome.SKIPPED,
    }


def test_junit_reads_thousands_and_decimal_commas_where_they_are_clear() -> None:
    report = made("junit-surefire.xml")
    assert by(report, benchmark="org.example.IoTest.reads", suite="org.example.IoTest").samples == (1204.5,)
    assert by(report, benchmark="org.example.IoTest.writes", suite="org.example.IoTest").samples == (0.25,)


def test_a_comma_of_junit_that_could_be_either_is_a_failure() -> None:
    report, _ = read_report(b'<testsuite name="s"><testcase name="a" time="1,204"/></testsuite>')
    failed = by(report, benchmark="a", suite="s")
    assert (failed.outcome, failed.message) == (
        Outcome.FAILED,
        "expected seconds, got '1,204' at line 1",
    )


def test_a_document_type_is_refused() -> None:
    bomb = b'<?xml version="1.0"?><!DOCTYPE x [<!ENTITY a "aaaa">]><testsuite><testcase name="&a;"/></testsuite>'
    with pytest.raises(FormatError, match="document type"):
        read_report(bomb, format="junit")


def test_elements_nested_too_deeply_are_refused() -> None:
    with pytest.raises(FormatError, match="nested more than 200 deep"):
        read_report(b"<testsuite>" * 5000 + b"</testsuite>" * 5000)


def test_k6_gives_the_median_of_a_trend_and_its_percentiles() -> None:
    for file in ("k6.json", "k6-old.json"):
        report = made(file)
        assert by(report, metric="http_req_duration").samples == (250.0,)
        assert by(report, metric="http_req_duration", stat="p90").samples == (400.5,)
        assert by(report, metric="http_req_duration", stat="mean").unit == "ms"


def test_a_trend_of_k6_without_a_median_gives_its_mean() -> None:
    report, _ = read_report(b'{"root_group": {}, "metrics": {"http_req_duration": {"avg": 2.5, "p(95)": 9}}}')
    assert by(report, metric="http_req_duration").samples == (2.5,)


def test_tags_of_a_submetric_of_k6_are_params() -> None:
    assert by(made("k6.json"), metric="http_req_duration", kind="static").samples == (80.0,)


@pytest.mark.parametrize("what", ["", "-export"])
def test_files_of_k6_itself_give_medians_rates_and_tagged_trends(what: str) -> None:
    report = golden(f"k6-1.1.0{what}.json")
    assert by(report, metric="http_req_duration", kind="page").unit == "ms"
    assert (
        by(report, metric="http_req_duration", stat="p99.9").samples >= by(report, metric="http_req_duration").samples
    )
    assert by(report, metric="documents", stat="count").samples == (20.0,)
    assert by(report, metric="checks").samples == (0.5,)
    assert by(report, metric="document_size").samples == (8.0,)


def test_how_long_a_run_of_k6_took_is_no_fact_about_its_machine() -> None:
    assert golden("k6-1.1.0.json").runs[0].environment == {}


def test_k6_knows_which_of_its_rates_are_good() -> None:
    assert by(made("k6.json"), metric="http_reqs").better is Better.HIGHER
    assert by(made("k6.json"), metric="http_req_failed").better is Better.LOWER


@pytest.mark.parametrize("version", ["2.1.9", "3.2.7", "4.1.12"])
def test_vitest_gives_the_median_and_percentiles_in_milliseconds(version: str) -> None:
    report = golden(f"vitest-{version}.json")
    main = by(report, benchmark="numbers", suite="sort.bench.js > sorting")
    assert main.unit == "ms"
    assert by(report, benchmark="numbers", suite="sort.bench.js > sorting", stat="p99").samples > main.samples


def test_vitest_5_gives_the_benchmarks_of_its_tests() -> None:
    report = golden("vitest-5.1.1.json")
    suite = "sort.bench.js > sorting > three numbers"
    main = by(report, benchmark="numbers", suite=suite)
    assert (main.unit, main.summary["samples"] > 1) == ("ms", True)
    assert by(report, benchmark="with a comparer", suite=suite, stat="p99").samples


def test_vitest_5_tells_which_tests_failed_and_were_skipped() -> None:
    found = {dict(result.params)["benchmark"]: result.outcome for result in golden("vitest-5.1.1.json").runs[0].results}
    assert (found["breaks"], found["left out"]) == (Outcome.FAILED, Outcome.SKIPPED)


def reported(*tests: tuple[str, dict[str, object]]) -> bytes:
    """Write the report of Vitest 5 about files, each with one test that ran one benchmark."""
    files = [
        {
            "name": name,
            "assertionResults": [
                {
                    "title": "t",
                    "status": "passed",
                    "ancestorTitles": [],
                    "benchmarks": [{"name": "t", "tasks": [{"name": "b", **task}]}],
                }
            ],
        }
        for name, task in tests
    ]
    return json.dumps({"testResults": files}).encode()


def test_files_of_vitest_5_with_one_name_are_told_apart_by_their_folders() -> None:
    latency: dict[str, object] = {"latency": {"p50": 1.0, "mean": 1.0}}
    data = reported(("/home/a/x/sort.bench.ts", latency), ("/home/a/y/sort.bench.ts", latency))
    report, _ = read_report(data)
    suites = {dict(result.params)["suite"] for result in report.runs[0].results}
    assert suites == {"x/sort.bench.ts > t", "y/sort.bench.ts > t"}


def test_numbers_that_vitest_5_read_from_a_former_run_are_not_measured_again() -> None:
    data = reported(("/a.bench.ts", {"latency": {"p50": 1.0, "mean": 1.0}, "fromStore": True}))
    assert len(read_report(data)[0].runs[0].results) == 0


def test_samples_of_vitest_5_make_no_statistics() -> None:
    data = reported(("/a.bench.ts", {"latency": {"p50": 1.0, "mean": 2.0, "samples": [1.0, 3.0]}}))
    assert [result.samples for result in read_report(data)[0].runs[0].results] == [(1.0, 3.0)]


def test_a_report_of_ordinary_tests_is_no_benchmark_of_vitest() -> None:
    test = {"title": "t", "status": "passed", "ancestorTitles": [], "benchmarks": []}
    with pytest.raises(FormatError, match="no format fits"):
        read_report(json.dumps({"testResults": [{"name": "/a.test.ts", "assertionResults": [test]}]}).encode())


def test_vitest_prefers_samples() -> None:
    report = made("vitest-samples.json")
    assert by(report, benchmark="numbers", suite="sort.bench.ts > sorting").samples == (0.25, 0.5, 0.375)


def test_lnt_reads_lists_as_samples_and_leaves_texts_out() -> None:
    report = made("lnt.json")
    result = by(report, benchmark="SingleSource/fib", machine="a53-O3", metric="execution_time")
    assert (result.samples, result.unit) == ((0.125, 0.1875), "s")
    assert not any("hash" in key for key in only(report))
    assert report.runs[0].revision == "265649"


def test_a_status_of_lnt_marks_a_failure() -> None:
    result = by(made("lnt.json"), benchmark="SingleSource/queens", machine="a53-O3", metric="execution_time")
    assert result.outcome is Outcome.FAILED


def test_perfherder_has_options_in_the_series_and_tags_in_the_environment() -> None:
    report = made("perfherder.json")
    params = {"framework": "browsertime", "application": "firefox", "benchmark": "speedometer"}
    options = {"options": "fission webrender"}
    assert by(report, **params, **options).better is Better.HIGHER
    assert by(report, **params, **options, test="Todo/total").samples == (31.0, 31.25, 33.5)
    assert by(report, **params, **options, test="Chart").better is Better.LOWER
    assert report.runs[0].environment["tags.speedometer"] == "nightly"


def test_perfherder_is_found_in_a_log() -> None:
    report = made("perfherder.log")
    assert by(report, framework="build_metrics", benchmark="compile").samples == (1201.5,)


def test_catapult_charts_give_stories_summaries_and_failures() -> None:
    report = made("catapult-chart.json")
    place = {"master": "Perf", "bot": "linux-release", "benchmark": "page_cycler"}
    assert by(report, **place, metric="warm", story="http://example.org/").samples == (9.0, 8.5, 8.0)
    assert by(report, **place, metric="score").better is Better.HIGHER
    assert by(report, **place, metric="score", story="broken").message == "the page did not load"
    assert report.runs[0].revision == "123456"


def test_histogram_sets_give_sample_values_with_what_diagnostics_tell() -> None:
    report = made("catapult-histograms.json")
    result = by(report, benchmark="loading", bot="linux-perf", story="browse:news", metric="timeToFirstPaint")
    assert (result.samples, result.unit, result.better) == ((101.5, 99.75), "ms", Better.LOWER)
    assert report.runs[0].revision == "987654"


def test_a_histogram_without_samples_gives_its_running_statistics() -> None:
    report = made("catapult-histograms.json")
    assert by(report, story="browse:news", metric="memory").samples == (2048.0,)
    assert by(report, story="browse:news", metric="memory", stat="max").samples == (4096.0,)


def test_bencher_knows_its_own_measures() -> None:
    report = made("bencher.json")
    assert by(report, benchmark="sort::quick", metric="latency").unit == "ns"
    assert by(report, benchmark="sort::quick", metric="throughput").better is Better.HIGHER
    assert by(report, benchmark="sort::quick", metric="latency").summary == {"lower": 80.25, "upper": 99.75}


def test_the_ignore_mark_of_bencher_is_no_part_of_a_name() -> None:
    assert by(made("bencher.json"), benchmark="target/release/demo", metric="pages").samples == (512.0,)


def test_a_name_that_comes_twice_in_one_object_is_refused() -> None:
    with pytest.raises(FormatError, match="has the name 'a' twice"):
        read_report(b'{"a": {"latency": {"value": 1}}, "a": {"latency": {"value": 2}}}')


def test_nyrkio_gives_a_run_and_a_commit_for_every_entry() -> None:
    report = made("nyrkio.json")
    assert [run.branch for run in report.runs] == ["main", "main"]
    assert [commit.hash for commit in report.commits] == [run.revision for run in report.runs]
    assert report.repository == "https://github.com/org/repo"
    assert report.runs[0].results[1].better is Better.HIGHER


def test_conbench_gives_a_run_with_identity_and_repository() -> None:
    report = golden("conbench-*.json")
    (run,) = report.runs
    assert (run.identity, report.repository) == ("run-7", "https://github.com/org/repo")
    assert run.results[0].params == {"benchmark": "file-read", "format": "parquet", "rows": "1000"}
    assert run.results[1].outcome is Outcome.FAILED
