"""benchmark-ips, benchmark.js, BenchmarkTools, Catch2's console, Deno, GoogleTest, Gungraun, nanobench and tinybench."""

from __future__ import annotations

import json
from statistics import mean

import pytest
from tests.formats.files import HERE, by, golden, made, only

from knickpoint.formats import read_report
from knickpoint.model.errors import FormatError
from knickpoint.model.report import Outcome, Report
from knickpoint.model.unit_names import Better

_GOLDEN = HERE / "golden"


def read_text(text: str) -> Report:
    return read_report(text.encode())[0]


def test_tinybench_gives_the_median_in_milliseconds_where_it_kept_no_samples() -> None:
    (task, *_) = json.loads((_GOLDEN / "tinybench-6.2.3.json").read_text())
    report = golden("tinybench-6.2.3.json")
    result = by(report, benchmark="concat")
    assert (result.samples, result.unit, result.better) == ((task["result"]["latency"]["p50"],), "ms", Better.LOWER)
    assert by(report, benchmark="concat", stat="p99.9").samples == (task["result"]["latency"]["p999"],)


def test_samples_of_tinybench_make_the_series_where_they_were_kept() -> None:
    (task, *_) = json.loads((_GOLDEN / "tinybench-6.2.3-samples.json").read_text())
    report = golden("tinybench-*-samples.json")
    assert by(report, benchmark="concat").samples == tuple(task["result"]["latency"]["samples"])
    assert len(report.runs[0].results) == 3


def test_the_table_of_tinybench_gives_the_median_and_the_mean_printed_or_as_json() -> None:
    printed = golden("tinybench-*-table.txt")
    assert by(printed, benchmark="concat").unit == "ns"
    assert by(printed, benchmark="concat", stat="mean").better is Better.LOWER
    assert by(printed, benchmark="throws").message == "boom"
    rows = [{"Task name": "concat", "Latency avg (ns)": "69 ± 4.02%", "Latency med (ns)": "58 ± 15.00", "Samples": 9}]
    assert by(read_text(json.dumps(rows)), benchmark="concat").samples == (58.0,)


@pytest.mark.parametrize("name", ["tinybench-6.2.3.json", "tinybench-6.2.3-samples.json"])
def test_a_task_of_tinybench_that_threw_failed(name: str) -> None:
    assert by(golden(name), benchmark="throws").outcome is Outcome.FAILED


def test_older_tinybench_has_the_mean() -> None:
    report = made("tinybench-2.json")
    assert by(report, benchmark="sort").samples == (0.02,)
    assert by(report, benchmark="broken").message == "no input"


def test_results_that_stand_beside_the_name_are_tasks_too() -> None:
    tasks = json.loads((_GOLDEN / "tinybench-6.2.3.json").read_text())
    flat = json.dumps([{"name": task["name"], **task["result"]} for task in tasks])
    assert only(read_text(flat)).keys() == only(golden("tinybench-6.2.3.json")).keys()


def test_deno_gives_the_mean_in_nanoseconds_by_benchmark_group_and_file() -> None:
    report = golden("deno-*.json")
    document = json.loads((_GOLDEN / "deno-2.9.6.json").read_text())
    (bench,) = (bench for bench in document["benches"] if bench["name"] == "join")
    result = by(report, benchmark="join", suite="strings", file="strings.ts")
    assert (result.samples, result.unit) == ((bench["results"][0]["ok"]["avg"],), "ns")
    assert by(report, benchmark="throws", file="strings.ts").message == "boom"
    assert report.runs[0].environment["runtime"].startswith("Deno/2.9.6")


def test_benchmark_js_gives_operations_per_second() -> None:
    result = by(golden("benchmarkjs-*.txt"), benchmark="3 x 4")
    assert (result.unit, result.better) == ("ops/sec", Better.HIGHER)
    assert result.summary.keys() == {"range_percent", "samples"}


def test_a_line_of_benchmark_js_that_breaks_off_is_refused() -> None:
    text = (_GOLDEN / "benchmarkjs-2.1.4.txt").read_text(encoding="utf-8")
    with pytest.raises(FormatError, match="no line end and is incomplete"):
        read_text(text[:-10])


def test_the_text_of_benchmark_ips_says_what_its_json_says_but_rounded() -> None:
    exact, printed = golden("benchmark-ips-*.json"), golden("benchmark-ips-*.txt")
    assert only(exact).keys() == only(printed).keys()
    for key, result in only(exact).items():
        assert only(printed)[key].samples == pytest.approx(result.samples, rel=1e-3)
        assert (result.unit, result.better) == ("i/s", Better.HIGHER)


def test_newer_benchmark_ips_prints_the_time_of_an_iteration_too() -> None:
    text = (
        "Calculating ----\n            addition     35.118M (± 0.5%) i/s   (28.47 ns/i) -    175.612M in   5.000785s\n"
    )
    assert by(read_text(text), benchmark="addition").samples == (35_118_000.0,)


def test_times_of_a_trial_of_benchmarktools_are_samples_and_groups_are_joined() -> None:
    report = made("benchmarktools.json")
    assert by(report, benchmark="sort/quick", metric="time").samples == (1200.0, 1250.0, 1300.0)
    assert by(report, benchmark="sort/quick", metric="memory").unit == "B"
    assert by(report, benchmark="sort/merge", metric="time").samples == (1500.5,)
    assert {result.params["benchmark"] for result in report.runs[0].results} == {"sort/quick", "sort/merge"}


def test_catch2_prints_the_mean_with_its_interval_by_case_and_section() -> None:
    report = golden("catch2-*-console.txt")
    result = by(
        report,
        benchmark="sum 100000 with a name so long that it has to be broken over several lines",
        case="sums",
        section="large",
    )
    assert (result.unit, result.better) == ("us", Better.LOWER)
    assert result.summary["confidence_low"] <= mean(result.samples) <= result.summary["confidence_high"]
    assert by(report, benchmark="throws", case="failing").message == "boom"


def test_what_a_benchmark_of_catch2_prints_among_the_results_is_refused() -> None:
    text = (_GOLDEN / "catch2-2.13.10-console.txt").read_text(encoding="utf-8")
    head, row, rest = text.partition("sum 100 ")
    first, line_end, more = rest.partition("\n")
    with pytest.raises(FormatError, match=r"is not a benchmark result.*use the XML reporter"):
        read_text(head + row + first + line_end + "debug: 7\n" + more)


def test_times_of_googletest_are_those_of_junit() -> None:
    report = golden("junit-gtest-*.xml")
    result = by(report, benchmark="Small/Sizes.Rests/0", suite="Small/Sizes")
    assert (result.unit, result.better) == ("s", Better.LOWER)
    assert result.samples[0] >= 0.02
    outcomes = {result.params["benchmark"]: result.outcome for result in report.runs[0].results}
    assert outcomes["Quick.Fails"] is Outcome.FAILED
    assert outcomes["Quick.DISABLED_Later"] is outcomes["Quick.Skips"] is Outcome.SKIPPED


def test_gungraun_gives_the_new_counts_of_each_tool() -> None:
    report = made("gungraun.txt")
    params = {"benchmark": "textmill::parsing::parse", "id": "short"}
    instructions = by(report, **params, metric="Instructions")
    assert (instructions.samples, instructions.better) == ((1734.0,), Better.LOWER)
    assert by(report, **params, metric="Total bytes", tool="dhat").unit == "B"
    assert by(report, **params, metric="L1 Hits").better is Better.UNKNOWN


def test_summaries_of_gungraun_give_the_same_series_as_its_lines() -> None:
    summaries, lines = only(made("gungraun.json")), only(made("gungraun.txt"))
    shared = ",benchmark=textmill::parsing::parse,id=short,metric=Instructions,"
    assert summaries[shared].samples == lines[shared].samples
    assert "Ge" not in {result.params["metric"] for result in made("gungraun.json").runs[0].results}


def test_summaries_of_another_version_are_refused() -> None:
    text = (HERE / "made" / "gungraun.json").read_text().replace('"version":"6"', '"version":"5"')
    with pytest.raises(FormatError, match="the summary has version 5, and 6 is read"):
        read_text(text)


def test_epochs_of_nanobench_are_samples_of_the_time_of_one_unit() -> None:
    report = made("nanobench.json")
    result = by(report, benchmark="base64", suite="Decoding", metric="time")
    assert result.samples == pytest.approx((2.5e-9, 2.6e-9, 2.4e-9))
    assert (result.unit, result.better) == ("s/byte", Better.LOWER)
    assert by(report, benchmark="std::sort", suite="Sorting", n="100", metric="time").samples == (1.25e-6,)
    assert by(report, benchmark="base64", suite="Decoding", metric="instructions").samples == (9.0,)


def test_the_tables_of_nanobench_give_the_same_series_rounded() -> None:
    report = made("nanobench.txt")
    result = by(report, benchmark="base64", suite="Decoding", metric="time")
    assert (result.samples, result.unit) == ((2.5,), "ns/byte")
    assert by(report, benchmark="base85", suite="Decoding", metric="cycles").samples == (11.0,)
    assert by(report, benchmark="std::stable_sort", metric="time").samples == (2500.0,)
