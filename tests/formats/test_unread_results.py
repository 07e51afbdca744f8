"""A result that cannot be read never vanishes: it is a failed result with its name, a warning, or a refusal."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Final

import pytest
from tests.formats.files import COMPANIONS, FILES, HERE, format_of

from knickpoint.formats import read_report
from knickpoint.model.errors import FormatError
from knickpoint.model.report import Report, Severity

_NOTATIONS: Final = (
    *("", "-", "inf", "-inf", "nan", "N/A", "1e5", "2.84217e-14"),
    *("1,250", "1.234,5", "1.2k", "0x10", "<0.01", "\u22121.5", "1 250"),
)
"""What tools, locales and tidy hands write in place of a plain number."""
_NUMBER: Final = re.compile(r"(?<![\w.])\d+(?:[.,]\d+)*")
_TEXTS: Final = [path for path in FILES if path.suffix != ".json" and format_of(path) != "csv"]


def _weight(report: Report) -> int:
    """Return the number of samples, and of results without any."""
    return sum(max(1, len(result.samples)) for run in report.runs for result in run.results)


def _without_value(report: Report) -> int:
    return sum(not result.samples for run in report.runs for result in run.results)


@pytest.mark.long
@pytest.mark.parametrize("path", _TEXTS, ids=lambda path: path.name)
def test_no_series_disappears_unnoticed_whatever_stands_in_place_of_one_number(path: Path) -> None:
    text = path.read_bytes().decode()
    whole, before = read_report(text.encode(), name=path.name, companions=COMPANIONS)
    lost: list[tuple[str, str]] = []
    for place in _NUMBER.finditer(text):
        for notation in _NOTATIONS:
            data = f"{text[: place.start()]}{notation}{text[place.end() :]}".encode()
            try:
                report, problems = read_report(data, name=path.name, format=format_of(path), companions=COMPANIONS)
            except FormatError:
                continue
            noticed = len(problems) > len(before) or _without_value(report) > _without_value(whole)
            if _weight(report) < _weight(whole) and not noticed:
                line = data[data.rfind(b"\n", 0, place.start()) + 1 :].partition(b"\n")[0].decode()
                lost.append((notation, line))
    assert not lost


def _outcomes(text: str) -> dict[str, tuple[float, ...] | str]:
    """Return the benchmark, with its metric where there are several, → its samples, or why it has none."""
    report, _ = read_report(text.encode())
    (run,) = report.runs
    return {
        "/".join(filter(None, (result.params["benchmark"], result.params.get("metric", "")))): result.samples
        or f"{result.outcome.value}: {result.message}"
        for result in run.results
    }


def _losses(text: str) -> list[str]:
    return [problem.where for problem in read_report(text.encode())[1] if problem.severity is Severity.LOSS]


def test_benchmark_ips_below_a_thousand_has_no_letter_before_its_error() -> None:
    text = "              render    523.400  (± 1.0%) i/s -      2.650k in   5.063000s\n"
    assert _outcomes(text) == {"render": (523.4,)}


def test_benchmark_ips_may_leave_out_the_time_and_add_that_of_an_iteration() -> None:
    text = "                fast     36.215M (± 0.3%) i/s   (27.61 ns/i) -    182.234M\n"
    assert _outcomes(text) == {"fast": (36_215_000.0,)}


def test_benchmark_ips_compares_what_it_has_printed_and_that_is_no_result() -> None:
    text = (
        "                fast     36.215M (± 0.3%) i/s -    182.234M in   5.0s\n\nComparison:\n"
        "                fast: 36215000.1 i/s\n                slow:  1092686.8 i/s - 33.1x  (± 0.00) slower\n"
    )
    assert _outcomes(text) == {"fast": (36_215_000.0,)}
    assert not _losses(text)


@pytest.mark.parametrize("value", ["inf", "NaN", "", "1.2e", "12 k"])
@pytest.mark.parametrize(
    ("line", "name"),
    [
        ("              render    {}  (± 1.0%) i/s -      2.650k in   5.063000s", "render"),
        ("join x parse x {} ops/sec ±0.74% (93 runs sampled)", "join x parse"),
        ("SET: {} requests per second", "SET/requests"),
        ("BenchmarkA-2 \t 100\t {} ns/op", "BenchmarkA/time"),
        ("test a ... bench: {} ns/iter (+/- 3)", "a"),
        ("sum of all              time:   [1.0 ns {} ns 2.0 ns]", "sum of all"),
    ],
    ids=["benchmark-ips", "benchmark.js", "redis", "go", "libtest", "criterion"],
)
def test_a_line_with_the_mark_of_a_result_and_no_number_is_a_failed_result_with_its_name(
    line: str, name: str, value: str
) -> None:
    sound = line.replace(name.partition("/")[0], "BenchmarkSound").format("12.5")
    text = f"{sound}\n{line.format(value)}\n"
    failed = {key: why for key, why in _outcomes(text).items() if isinstance(why, str)}
    ((key, why),) = failed.items()
    assert key.startswith(name)
    assert why.startswith("failed: ")


@pytest.mark.parametrize(
    "text",
    [
        "20727379\t         1.474 ns/op\nBenchmarkB-2 \t 100\t 2 ns/op\n",
        "a x 12 ops/sec ±0.74% (93 runs sampled)\n ops/sec ±0.74% (93 runs sampled)\n",
        "           9.1  (± 1.0%) i/s -  2.6k\n",
        "                        time:   [1.0 ns 1.5 ns 2.0 ns]\n",
    ],
    ids=["go", "benchmark.js", "benchmark-ips", "criterion"],
)
def test_a_result_without_a_name_that_can_be_read_is_a_loss_with_its_line(text: str) -> None:
    (where,) = _losses(text)
    assert where == f"line {text.count(chr(10)) if 'ops/sec' in text else 1}"


_SERVER: Final = """goos: linux
goarch: amd64
pkg: example.org/server
BenchmarkServer-2   \t2026/11/28 08:09:29 starting server
listen: 8080
BENCH 5 requests
20727379\t         1.474 ns/op\t  12 B/op
BenchmarkHalf-2   \tno line end 100\t  2.5 ns/op
BenchmarkQuiet-2   \t100\t  3.5 ns/op
PASS
ok  \texample.org/server\t1.0s
"""


def test_a_result_of_go_is_read_behind_the_lines_that_its_benchmark_printed() -> None:
    assert _outcomes(_SERVER) == {
        "BenchmarkServer/time": (1.474,),
        "BenchmarkServer/memory": (12.0,),
        "BenchmarkHalf/time": (2.5,),
        "BenchmarkQuiet/time": (3.5,),
    }
    report, problems = read_report(_SERVER.encode())
    assert "listen" not in report.runs[0].environment
    assert problems == ()


def test_a_result_of_go_is_read_behind_printed_lines_where_it_is_the_only_one_and_in_events() -> None:
    lines = "".join(_SERVER.splitlines(keepends=True)[:4] + _SERVER.splitlines(keepends=True)[6:7])
    events = "".join(
        json.dumps({"Action": "output", "Package": "p", "Output": line}, separators=(",", ":")) + "\n"
        for line in lines.splitlines(keepends=True)
    )
    assert _outcomes(lines)["BenchmarkServer/time"] == _outcomes(events)["BenchmarkServer/time"] == (1.474,)


def test_a_benchmark_of_go_that_printed_and_has_no_result_failed() -> None:
    text = "BenchmarkA-2 \t 100\t 2 ns/op\nBenchmarkB-2 \tbye\nexit status 1\nFAIL\texample.org/b\t0.1s\n"
    assert _outcomes(text) == {
        "BenchmarkA/time": (2.0,),
        "BenchmarkB/time": "failed: it began and has no result at line 2",
    }


def test_one_odd_number_of_a_line_of_go_fails_its_metric_only() -> None:
    text = "BenchmarkA-2 \t 100\t 2 ns/op\t n/a docs/op\t 3 B/op\n"
    found = _outcomes(text)
    assert (found["BenchmarkA/time"], found["BenchmarkA/memory"]) == ((2.0,), (3.0,))
    assert "'n/a'" in found["BenchmarkA/docs/op"]


def test_a_result_of_libtest_is_read_behind_the_lines_that_its_benchmark_printed() -> None:
    text = (
        "running 2 tests\ntest a ... hello\nagain\nbench:       1,234 ns/iter (+/- 56)\n"
        "test b ... bench:          12 ns/iter (+/- 1)\n\n"
        "test result: ok. 0 passed; 0 failed; 0 ignored; 2 measured; 0 filtered out\n"
    )
    assert _outcomes(text) == {"a": (1234.0,), "b": (12.0,)}
    assert read_report(text.encode())[1] == ()


def test_the_console_of_catch2_writes_small_times_with_an_exponent() -> None:
    text = (HERE / "golden" / "catch2-2.13.10-console.txt").read_text(encoding="utf-8")
    (name, before) = next(iter(_outcomes(text).items()))
    mean = next(line for line in text.splitlines() if re.match(r" +[\d.]+ .?s +[\d.]+ .?s", line))
    assert isinstance(before, tuple)
    small = mean.replace(mean.split()[0], "2.84217e-14", 1)
    assert _outcomes(text.replace(mean, small, 1))[name] == (2.84217e-14,)


def test_a_heading_that_begins_as_names_of_go_do_is_no_benchmark() -> None:
    text = "Benchmark\ttime\nBenchmarks\t of 3 MB/s\nBenchmarkA-2 \t 100\t 2 ns/op\nPASS\n"
    assert _outcomes(text) == {"BenchmarkA/time": (2.0,)}


def test_a_test_case_of_junit_with_an_empty_time_failed() -> None:
    text = '<testsuite name="s"><testcase name="a" time=""/><testcase name="b" time="1.5"/><testcase name="c"/></testsuite>'
    assert {name: str(why)[:7] for name, why in _outcomes(text).items()} == {"a": "failed:", "b": "(1.5,)"}
