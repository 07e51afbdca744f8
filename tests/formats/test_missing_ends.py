"""What is said of output that lacks the end which its tool always writes: benchmarks may be missing behind it."""

from __future__ import annotations

import json

import pytest
from tests.formats.files import HERE, by, only

from knickpoint.formats import read_report
from knickpoint.model.errors import FormatError
from knickpoint.model.report import Outcome, Problem, Report

_GOLDEN = HERE / "golden"
_LIBTEST = (_GOLDEN / "libtest-1.95.0.txt").read_text(encoding="utf-8")
_GO = (_GOLDEN / "go-1.19.8.txt").read_text(encoding="utf-8")
_CRITERION = (_GOLDEN / "criterion-0.3.6.txt").read_text(encoding="utf-8")
_CATCH2 = (_GOLDEN / "catch2-2.13.10-console.txt").read_text(encoding="utf-8")


def read(text: str) -> tuple[Report, tuple[Problem, ...]]:
    return read_report(text.encode(), name="bench.txt")


def before(text: str, line: str) -> str:
    """Return the lines of ``text`` that stand before the first one which begins with ``line``."""
    lines = text.splitlines(keepends=True)
    return "".join(lines[: next(index for index, each in enumerate(lines) if each.startswith(line))])


@pytest.mark.parametrize("text", [_LIBTEST, _GO, _CRITERION, _CATCH2], ids=["libtest", "go", "criterion", "catch2"])
def test_nothing_is_said_of_whole_output(text: str) -> None:
    assert read(text)[1] == read(text + text)[1] == ()


def test_libtest_that_ends_before_the_last_of_its_tests_is_refused_with_their_numbers() -> None:
    with pytest.raises(FormatError, match=r"line 2 says 'running 4 tests', and 3 of them follow.*truncated"):
        read(before(_LIBTEST, "test tests::sum"))


def test_libtest_without_its_last_line_is_whole_where_all_tests_are_there() -> None:
    assert read(before(_LIBTEST, "test result"))[1] == ()


def test_a_program_of_libtest_that_broke_off_before_another_one_is_a_warning() -> None:
    report, (problem,) = read(before(_LIBTEST, "test tests::sum") + _LIBTEST)
    assert len(by(report, benchmark="tests::sort_100").samples) == 2
    assert problem.sentence.startswith(
        "bench.txt, line 7: line 2 says 'running 4 tests', and 3 of them follow; then the next"
    )


def test_a_result_of_libtest_that_was_printed_over_is_a_warning() -> None:
    text = _LIBTEST.replace("test tests::sum      ... bench:", "test tests::sum      ... hello\n")
    _, (problem,) = read(text)
    assert problem.message == "2 benchmarks were measured, and 1 of them have no line with a result"


def test_dots_of_terse_libtest_count_as_tests() -> None:
    assert read("running 3 tests\nii\ntest a ... bench: 12 ns/iter (+/- 3)\n")[1] == ()


def test_catch2_without_its_totals_is_a_warning_with_the_line() -> None:
    text = before(_CATCH2, "====")
    _, (problem,) = read(text)
    last = max(number for number, line in enumerate(text.split("\n"), 1) if line.strip())
    assert problem.sentence.startswith(
        f"bench.txt, line {last}: Catch2's totals (test cases: …) are missing at the end"
    )


def test_go_without_a_word_after_its_results_is_a_warning_with_the_line() -> None:
    _, (problem,) = read(before(_GO, "PASS"))
    assert (problem.where, problem.message) == (
        "bench.txt, line 13",
        "no PASS, ok or FAIL follows this result; benchmarks may be missing",
    )


def test_a_package_of_go_that_was_cut_before_another_one_is_a_warning() -> None:
    assert [problem.where for problem in read(before(_GO, "PASS") + _GO)[1]] == ["bench.txt, line 13"]


def test_lines_that_were_picked_out_of_go_and_benchfmt_need_no_end() -> None:
    picked = "".join(line for line in _GO.splitlines(keepends=True) if line.startswith("Benchmark"))
    assert read(picked)[1] == read(f"goos: linux\ngoarch: arm64\npkg: a\nnote: by hand\n{picked}")[1] == ()


@pytest.mark.parametrize("end", ["exit status 2\nFAIL\texample.org/b\t0.2s\n", "FAIL\texample.org/b [build failed]\n"])
def test_a_package_of_go_that_failed_without_a_benchmark_that_did_is_a_warning(end: str) -> None:
    _, (problem,) = read(_GO + end)
    assert problem.message == "the package example.org/b failed; benchmarks of it may be missing"


def test_a_benchmark_of_go_that_panicked_failed_and_others_may_be_missing_also_after_one_that_failed() -> None:
    failed = "--- FAIL: BenchmarkFirst\n    a_test.go:4: no\n"
    text = (
        before(_GO, "PASS")
        + failed
        + "BenchmarkLast-2  \tpanic: out of range\n\ngoroutine 7\nexit status 2\nFAIL\tx\t.2s\n"
    )
    report, (problem,) = read(text)
    assert problem.message.startswith("the package x failed; benchmarks of it may be missing")
    assert [
        (result.params["benchmark"], result.message)
        for result in report.runs[0].results
        if result.outcome is Outcome.FAILED
    ] == [("BenchmarkFirst", "the benchmark failed"), ("BenchmarkLast", "panic: out of range")]


def test_a_panic_in_a_benchmark_of_go_is_a_warning() -> None:
    text = before(_GO, "PASS") + "BenchmarkLast-2  \tpanic: out of range\n\ngoroutine 7\nexit status 2\nFAIL\tx\t.2s\n"
    assert "the package x failed" in read(text)[1][0].message


def test_go_says_nothing_more_of_a_package_whose_benchmark_failed() -> None:
    assert read((_GOLDEN / "go-1.19.8-verbose.txt").read_text(encoding="utf-8"))[1] == ()


def test_events_of_go_without_their_end_are_a_warning() -> None:
    lines = (_GOLDEN / "go-1.19.8-events.json").read_text(encoding="utf-8").splitlines(keepends=True)
    last = max(number for number, line in enumerate(lines, 1) if "ns/op" in json.loads(line).get("Output", ""))
    _, (problem,) = read("".join(lines[:last]))
    assert "no PASS, ok or FAIL" in problem.message


def test_a_benchmark_of_criterion_that_began_and_has_no_result_failed() -> None:
    text = before(_CRITERION, "sums of many numbers that have a long name/xor/10")
    failed = by(read(text)[0], benchmark="sums of many numbers that have a long name/xor/10")
    assert failed.outcome is Outcome.FAILED
    assert failed.message == "it started at line 18 and has no result: it was aborted, or the file is truncated"
    assert len(only(read(text)[0])) == 2


def test_benchmarks_of_criterion_that_failed_are_a_warning() -> None:
    _, (problem,) = read(_CRITERION + "thread 'main' panicked at benches/a.rs:7:5\nerror: bench failed\n")
    assert problem.message == "cargo says that the benchmarks failed; some may be missing"


_GUNGRAUN = (HERE / "made" / "gungraun.txt").read_text(encoding="utf-8")
_RESULT = "\nGungraun result: Ok. 2 without regressions; 0 regressed; 0 filtered; 2 benchmarks finished in 0.49333s\n"


@pytest.mark.parametrize("text", [_GUNGRAUN, _GUNGRAUN + _RESULT, (_GUNGRAUN + _RESULT) * 2])
def test_nothing_is_said_of_whole_output_of_gungraun(text: str) -> None:
    assert read(text)[1] == ()


def test_a_benchmark_of_gungraun_without_counts_at_the_end_is_a_warning() -> None:
    _, (problem,) = read(_GUNGRAUN + "textmill::parsing::parse_none\n")
    assert (problem.where, problem.message) == (
        "bench.txt, line 20",
        "the benchmark textmill::parsing::parse_none has no counts; others may be missing behind it",
    )


def test_a_benchmark_of_gungraun_with_the_first_counts_of_others_alone_is_a_warning() -> None:
    *whole, _ = _GUNGRAUN.splitlines(keepends=True)
    _, (problem,) = read("".join(whole))
    assert problem.message.startswith("the benchmark textmill::parsing::parse_all has 1 of the 6 counts of others")


def test_a_program_of_gungraun_without_its_result_after_one_that_has_it_is_a_warning() -> None:
    _, (problem,) = read(_GUNGRAUN + _RESULT + _GUNGRAUN)
    assert problem.message.startswith(
        "the line with the result of the program is missing, which an earlier program has"
    )
