"""Finding the format, and saying what is wrong with a file."""

from __future__ import annotations

import bz2
import gzip
import io
import json
import lzma
import tarfile
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

import pytest
from tests.formats.files import COMPANIONS, FILES, HERE, made

from knickpoint.formats import companion_of, read_found, read_mapped, read_report, sniff
from knickpoint.formats.toolbox.file_content import FileContent
from knickpoint.formats.toolbox.numbers import read_moment
from knickpoint.formats.toolbox.result_rows import Rows
from knickpoint.model.errors import FormatError
from knickpoint.model.report import Outcome, Severity

_PYTEST = (HERE / "golden" / "pytest-benchmark-5.3.1.json").read_bytes()


@pytest.mark.parametrize("data", [b"", b"  \n\t\n", gzip.compress(b"", mtime=0)])
def test_an_empty_file_is_refused(data: bytes) -> None:
    with pytest.raises(FormatError, match=r"r.json: the file is empty.*look at its log"):
        read_report(data, name="r.json")


def test_a_file_of_no_known_format_is_refused_with_the_remedy() -> None:
    with pytest.raises(FormatError, match=r"x.json: no format fits this file.*--as"):
        read_report(b'{"hello": "world"}', name="x.json")


def test_a_file_that_two_formats_fit_is_refused_naming_both() -> None:
    both: dict[str, object] = {"context": {"num_cpus": 8}, "machine_info": {}, "benchmarks": []}
    with pytest.raises(
        FormatError, match=r"more than one format fits: google-benchmark, pytest-benchmark.*--as google-"
    ):
        read_report(json.dumps(both).encode())


def test_truncated_json_says_where_it_ends() -> None:
    with pytest.raises(FormatError, match=r"r.json: truncated JSON.*line \d+ column \d+ \(byte \d+\)"):
        read_report(_PYTEST[:2000], name="r.json")


def test_invalid_json_says_what_is_wrong_and_where() -> None:
    with pytest.raises(FormatError, match=r"is not valid JSON: .* at line 2 column 6 \(byte 14\)"):
        read_report(b'{"a": 1,\n"b": nope, "c": [1, 2, 3, 4]}')


def test_what_is_no_json_after_a_document_is_refused() -> None:
    with pytest.raises(FormatError, match="extra content after the JSON document"):
        read_report(b'{"benchmarks": []} and more', format="pytest-benchmark")


def _bencher(**values: float) -> str:
    return json.dumps({name: {"latency": {"value": value}} for name, value in values.items()}, indent=1)


@pytest.mark.parametrize("format_name", ["", "bencher"])
@pytest.mark.parametrize("between", ["\n", "", "\r\n\r\n", " "])
def test_several_documents_in_one_file_are_runs_in_their_order(between: str, format_name: str) -> None:
    text = between.join([_bencher(a=1), _bencher(a=2, b=3), _bencher(a=4)])
    report, problems = read_report(text.encode(), format=format_name)
    assert [[result.samples for result in run.results] for run in report.runs] == [[(1.0,)], [(2.0,), (3.0,)], [(4.0,)]]
    assert problems == ()


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_every_json_file_twice_in_one_has_every_run_twice(path: Path) -> None:
    once, _ = read_report(path.read_bytes(), name=path.name, companions=COMPANIONS)
    if not isinstance(FileContent(path.read_bytes()).document, dict | list):
        return
    twice, _ = read_report(path.read_bytes().strip() * 2, name=path.name, companions=COMPANIONS)
    values = [list(map(tuple, (result.samples for result in run.results))) for run in once.runs]
    assert [list(map(tuple, (result.samples for result in run.results))) for run in twice.runs] == values * 2


@pytest.mark.parametrize("name", ["github-action-benchmark-custom.json", "nyrkio.json", "jmh.json"])
def test_json_lines_of_the_entries_of_a_list_are_that_list(name: str) -> None:
    data = (HERE / "made" / name).read_bytes()
    lines = "\n".join(json.dumps(entry) for entry in json.loads(data))
    assert _values(lines.encode()) == _values(data)


def _values(data: bytes) -> list[list[tuple[str, tuple[float, ...]]]]:
    report, _ = read_report(data)
    return [[(str(result.params), result.samples) for result in run.results] for run in report.runs]


def test_documents_of_two_formats_in_one_file_are_refused_with_the_line_of_the_first_that_differs() -> None:
    other = json.dumps({"results": [{"command": "a", "mean": 1, "times": [1]}]})
    with pytest.raises(FormatError, match=r"r.json, line 16: document 3 is not in the format of the first, Bencher"):
        read_report("\n".join([_bencher(a=1), _bencher(b=1), "", other]).encode(), name="r.json")


def test_a_last_document_that_breaks_off_refuses_the_file_with_the_place() -> None:
    text = _bencher(a=1) + "\n" + _bencher(a=2)[:-4]
    with pytest.raises(FormatError, match=r"r.json: truncated JSON: the value that begins at line \d+"):
        read_report(text.encode(), name="r.json")


def test_an_error_in_one_of_several_documents_names_document_and_line() -> None:
    with pytest.raises(FormatError, match=r"r.json, document 2 \(line 8\), a.latency.value"):
        read_report((_bencher(a=1) + "\n" + '{"a": {"latency": {"value": []}}}').encode(), name="r.json")


def test_json_lines_that_are_no_results_are_left_alone_in_folders_and_refused_by_name() -> None:
    lines = b'{"level": "info"}\n{"level": "warn"}\n'
    assert read_found(lines) is None
    with pytest.raises(FormatError, match="no format fits this file"):
        read_report(lines)


@pytest.mark.parametrize("text", ["[" * 100_000, '{"a":' * 100_000, "[" * 100_000 + "]" * 100_000])
def test_json_nested_without_end_is_refused_calmly(text: str) -> None:
    with pytest.raises(FormatError, match="nested too deeply"):
        read_report(text.encode(), format="skia")


def test_a_number_of_ten_thousand_digits_is_refused_calmly() -> None:
    with pytest.raises(FormatError, match="too many digits"):
        read_report(b'{"benchmarks": ' + b"9" * 10_000 + b"}", format="pytest-benchmark")


def test_text_that_is_not_utf_8_says_at_which_byte() -> None:
    with pytest.raises(FormatError, match=r"byte 9 \(line 3\) is not UTF-8.*Save the file as UTF-8"):
        read_report(b"a,b\n1,2\n3\xff", format="csv")


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16"])
def test_a_byte_order_mark_is_understood(encoding: str) -> None:
    text = "commit,benchmark,value\nabc,größe,3\n"
    report, _ = read_report(text.encode(encoding))
    assert report.runs[0].results[0].params == {"benchmark": "größe"}


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
def test_utf_16_without_a_byte_order_mark_is_called_so(encoding: str) -> None:
    with pytest.raises(FormatError, match=r"seems to be UTF-16 without a byte order mark.*Save it as UTF-8"):
        read_report('[{"name": "a", "unit": "ms", "value": 1}]'.encode(encoding), name="r.json")


@pytest.mark.parametrize(("pack", "name"), [(bz2.compress, "bzip2"), (lzma.compress, "XZ")])
def test_what_another_program_packed_is_named(pack: Callable[[bytes], bytes], name: str) -> None:
    with pytest.raises(FormatError, match=rf"is packed with {name}, which is not unpacked here\. Unpack it"):
        read_report(pack(_PYTEST), name="r.json")


def test_a_packed_archive_is_named() -> None:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as archive:
        archive.addfile(tarfile.TarInfo("r.json"), None)
    with pytest.raises(FormatError, match="is packed with tar"):
        read_report(packed.getvalue(), name="r.tgz")


def test_durations_below_zero_come_in_with_a_warning_that_names_them() -> None:
    rows = [{"name": f"b{n}", "unit": "ms", "value": n - 2} for n in range(4)]
    rows.append({"name": "left", "unit": "points", "value": -3})
    report, (problem,) = read_report(json.dumps(rows).encode(), name="r.json")
    assert [result.samples[0] for result in report.runs[0].results] == [-2, -1, 0, 1, -3]
    assert problem.severity is Severity.WARNING
    assert problem.message == "2 results are durations below zero (b0: -2 ms, b1: -1 ms)"


def test_gzip_is_unpacked() -> None:
    assert [found.name for found in sniff(gzip.compress(_PYTEST))] == ["pytest-benchmark"]


@pytest.mark.parametrize("cut", [5, 100, -1])
def test_truncated_gzip_is_refused(cut: int) -> None:
    with pytest.raises(FormatError, match="truncated gzip data"):
        read_report(gzip.compress(_PYTEST)[:cut], name="r.json.gz")


def test_damaged_gzip_is_refused() -> None:
    data = bytearray(gzip.compress(_PYTEST))
    data[60] ^= 0xFF
    with pytest.raises(FormatError, match="gzip data"):
        read_report(bytes(data))


def test_an_error_names_the_file_and_the_place_in_it() -> None:
    with pytest.raises(FormatError) as caught:
        read_report(b'[{"name": "a", "unit": "ms", "value": {}}]', name="out.json")
    assert caught.value.where == "out.json, [0].value"
    assert "benchmark 'a'" in caught.value.message


@pytest.mark.parametrize(
    ("data", "name", "format_name"),
    [
        ((HERE / "golden" / "asv-0.6.6-benchmarks.json").read_bytes(), "benchmarks.json", "asv"),
        (
            b'{"arch": "x86_64", "cpu": "", "machine": "ci", "num_cpu": "2", "os": "", "ram": "", "version": 1}',
            "m",
            "asv",
        ),
        ((HERE / "golden" / "criterion-0.3.6-benchmark.json").read_bytes(), "benchmark.json", "criterion"),
        (b"[1.5,2.5,3.5,4.5]", "tukey.json", "criterion"),
        ((HERE / "golden" / "criterion-0.3.6-sample.json").read_bytes(), "criterion/a/base/sample.json", "criterion"),
        ((HERE / "golden" / "criterion-0.3.6-sample.json").read_bytes(), "criterion/a/new/sample.json", ""),
        (b"{}", "x.json", ""),
    ],
)
def test_files_beside_results_are_known_as_such(data: bytes, name: str, format_name: str) -> None:
    assert companion_of(data, name=name) == format_name


def test_no_file_with_results_is_taken_for_one_beside_them() -> None:
    assert [path.name for path in FILES if companion_of(path.read_bytes(), name=path.name)] == []


def test_a_file_beside_results_is_refused_as_what_it_is() -> None:
    with pytest.raises(FormatError, match="holds no results: asv keeps it beside them"):
        read_report((HERE / "golden" / "asv-0.6.6-benchmarks.json").read_bytes())


def test_control_characters_in_names_become_spaces() -> None:
    report, _ = read_report(b'[{"name": " a\\n\\tb ", "unit": "ms", "value": 1}]')
    assert report.runs[0].results[0].params == {"benchmark": "a b"}


def test_a_nameless_benchmark_is_refused() -> None:
    with pytest.raises(FormatError, match="at least one param"):
        read_report(b'[{"name": " ", "unit": "ms", "value": 1}]')


def test_rows_of_one_name_and_two_units_stay_apart() -> None:
    rows = Rows()
    rows.add({"benchmark": "a"}, (1.0,), "ms")
    rows.add({"benchmark": "a"}, (2.0,), "MB")
    rows.add({"benchmark": "a"}, (3.0,), "ms")
    assert [(result.samples, result.unit) for result in rows.table()] == [((1.0, 3.0), "ms"), ((2.0,), "MB")]


def test_a_failure_does_not_hide_a_measurement_of_the_same_name() -> None:
    rows = Rows()
    rows.add({"benchmark": "a"}, (1.0,), "ms")
    rows.fail({"benchmark": "a"}, "boom")
    assert [result.outcome for result in rows.table()] == [Outcome.MEASURED, Outcome.FAILED]


@pytest.mark.parametrize(
    ("told", "expected"),
    [
        ("2026-08-20T10:11:12Z", "2026-08-20T10:11:12+00:00"),
        ("2026-08-20 10:11:12 +0200", "2026-08-20T08:11:12+00:00"),
        ("2026-08-20T10:11:12.123456789Z", "2026-08-20T10:11:12.123456+00:00"),
        ("Thu Aug 20 10:11:12 2026", "2026-08-20T10:11:12+00:00"),
        ("Thu, 20 Aug 2026 10:11:12 +0000", "2026-08-20T10:11:12+00:00"),
        ("2026-08-20", "2026-08-20T00:00:00+00:00"),
        (1786961600, "2026-08-17T10:13:20+00:00"),
        (1786961600123, "2026-08-17T10:13:20.123000+00:00"),
        ("1786961600", "2026-08-17T10:13:20+00:00"),
        (1786961600000000000, "2026-08-17T10:13:20+00:00"),
    ],
)
def test_points_in_time_are_read_however_they_are_written(told: str | float, expected: str) -> None:
    moment = read_moment(told)
    assert moment is not None
    assert moment.isoformat() == expected


@pytest.mark.parametrize("told", ["", "yesterday", "12", None, 0, -5, 1e40, "9999-12-31T23:59:59-12:00"])
def test_what_is_no_point_in_time_is_none(told: str | float | None) -> None:
    assert read_moment(told) is None


def test_custom_entries_keep_what_they_say_beside_the_value() -> None:
    first, second = made("github-action-benchmark-custom.json").runs[0].results
    assert (first.samples, first.summary, first.message) == ((412.0,), {"range": 9.0}, "runs: 20")
    assert (second.samples, second.summary) == ((96.5,), {"range_percent": 2.5})


def test_entries_of_one_commit_are_runs_of_their_own() -> None:
    report = made("github-action-benchmark.js")
    assert len({run.entry for run in report.runs}) == len(report.runs) == 3
    assert [commit.subject for commit in report.commits] == ["Add it", "Shrink"]
    assert report.commits[0].time.isoformat() == "2026-08-20T08:11:12+00:00"


def test_memory_that_a_history_of_go_keeps_in_the_unit_splits_no_series() -> None:
    entries = [
        {"name": "BenchmarkAdd", "value": 3, "unit": f"ns/op\t    {size} B/op\t  12 allocs/op"} for size in (8, 16)
    ]
    report, _ = read_report(json.dumps(entries).encode())
    (result,) = report.runs[0].results
    assert (result.samples, result.unit, result.message) == ((3.0, 3.0), "ns/op", "16 B/op 12 allocs/op")


def test_two_equal_entries_of_a_history_are_told_apart() -> None:
    entry = {"commit": {"id": "abc"}, "date": 1786961600000, "tool": "go", "benches": []}
    text = json.dumps({"lastUpdate": 1, "entries": {"S": [entry, entry]}})
    report, _ = read_report(text.encode())
    assert [run.entry for run in report.runs] == ["S/abc/1786961600000", "S/abc/1786961600000~2"]


_RALLY = json.dumps({
    "meta": {"commit": "4f2c9e1d0b", "when": "2026-08-20T10:11:12Z", "host": "ci-7"},
    "tracks": [
        {"name": "http_logs", "tasks": {"bulk": {"rate": [900.5, 910], "p": {"99.9": 12.5}}, "term": {"rate": None, "error": True}}},
        {"name": "geonames", "tasks": {"bulk": {"rate": ["100.25"]}}},
    ],
}).encode()  # fmt: skip
_MAPPING = b"""
name = "rally"
[run]
revision = "meta.commit"
time = "meta.when"
environment = { host = "meta.host", kind = "=nightly" }
[[results]]
each = ["tracks[*]", "tasks.*"]
params = { benchmark = "@", track = "^.name", host = "$.meta.host", metric = "=rate" }
value = "rate"
unit = "=docs/s"
better = "=higher"
failed = "error"
message = "=it failed"
[[results]]
each = ["tracks[*]", "tasks.*"]
params = { benchmark = "@", stat = "=p99.9" }
value = 'p."99.9"'
unit = "=ms"
optional = true
"""


def test_a_mapping_reads_each_document_as_a_run_or_lines_as_one_list() -> None:
    lines = b'{"commit": "4f2c9e1", "name": "a", "ms": 1}\n{"commit": "5a2c9e1", "name": "a", "ms": 2}\n'
    mapping = b'[run]\nrevision = "commit"\n[[results]]\nparams = { benchmark = "name" }\nvalue = "ms"\n'
    report, _ = read_mapped(lines, mapping)
    assert [(run.revision, run.results[0].samples) for run in report.runs] == [("4f2c9e1", (1.0,)), ("5a2c9e1", (2.0,))]
    entries = mapping.replace(b'"commit"', b'"[1].commit"').replace(b"[[results]]", b'[[results]]\neach = "[*]"')
    (run,) = read_mapped(lines, entries)[0].runs
    assert (run.revision, run.results[0].samples) == ("5a2c9e1", (1.0, 2.0))
    with pytest.raises(FormatError, match=r"document 2 \(line 2\), .*leads to no value"):
        read_mapped(lines.replace(b'"ms": 2', b'"s": 2'), mapping)


def test_a_mapping_reads_any_json() -> None:
    report, _ = read_mapped(_RALLY, _MAPPING)
    (run,) = report.runs
    assert [(result.params, result.samples, result.unit) for result in run.results] == [
        ({"benchmark": "bulk", "track": "http_logs", "host": "ci-7", "metric": "rate"}, (900.5, 910.0), "docs/s"),
        ({"benchmark": "term", "track": "http_logs", "host": "ci-7", "metric": "rate"}, (), ""),
        ({"benchmark": "bulk", "track": "geonames", "host": "ci-7", "metric": "rate"}, (100.25,), "docs/s"),
        ({"benchmark": "bulk", "stat": "p99.9"}, (12.5,), "ms"),
    ]
    assert (run.revision, run.environment) == ("4f2c9e1d0b", {"host": "ci-7", "kind": "nightly"})
    assert run.results[1].message == "it failed"


@pytest.mark.parametrize(
    ("mapping", "said"),
    [
        (b"x = ", "not valid TOML"),
        (b"name = 'x'", r"no \[\[results\]\]"),
        (b"[[results]]\nvalue = 'a'", "no params or no value"),
        (b"[[results]]\nparams = {b = 'a'}\nvalue = 'a'\nvalu = 'b'", "unknown options: valu"),
        (b"[[results]]\nparams = {b = '=x'}\nvalue = 'meta[x].y'", "cannot be read at column 5"),
        (b"[[results]]\nparams = {b = '=x'}\nvalue = 'nowhere'", r"leads to no value \(benchmark"),
        (b"[[results]]\nparams = {b = '=x'}\nvalue = 'meta'", "expected a finite number"),
        (b"[[results]]\nparams = {b = '^.x'}\nvalue = 'meta'", "goes up beyond the root"),
        (
            b"[[results]]\nparams = {b = '=x'}\nvalue = 'tracks[0].tasks.bulk.rate'\nbetter = '=fast'",
            "is not a direction",
        ),
    ],
)
def test_a_mapping_with_an_error_says_what_is_wrong(mapping: bytes, said: str) -> None:
    with pytest.raises(FormatError, match=said):
        read_mapped(_RALLY, mapping)


@pytest.mark.parametrize("value", ["20260403101112", " 20260403101112 ", 20260403101112, 20260403101112.0])
def test_a_date_and_time_without_anything_between_is_no_number_of_microseconds(value: str | float) -> None:
    assert read_moment(value) == datetime(2026, 4, 3, 10, 11, 12, tzinfo=UTC)
    assert read_moment("202604031011") == datetime(2026, 4, 3, 10, 11, tzinfo=UTC)


@pytest.mark.parametrize("value", ["20261303101112", "20260431101112", "202604032560"])
def test_a_date_that_no_calendar_has_is_no_time(value: str) -> None:
    assert read_moment(value) is None


@pytest.mark.parametrize("text", ["nan", "-nan", "inf", "-inf", "+Inf", "-nan(ind)", "Infinity"])
def test_a_number_that_is_not_finite_as_c_prints_it_fails_one_result_and_refuses_no_file(text: str) -> None:
    row = f'{{"name": "a, inf", "real_time": 1.5, "cpu_time": {text}, "time_unit": "ns"}}'
    report, _ = read_report(f'{{"context": {{}},\n"benchmarks": [{row}]}}'.encode())
    real, cpu = report.runs[0].results
    assert (real.params["benchmark"], real.samples) == ("a, inf", (1.5,))
    assert "expected a finite number" in cpu.message


_JSON: Final = '{"context": {}, "benchmarks": [{"name": "a", "real_time": 1.5, "cpu_time": 1.0}]}'


@pytest.mark.parametrize(
    "before", ["> bench\n> node bench.js\n\n", "[INFO] Scanning\n***WARNING*** {x}\n", '{"not": "it"}\nread 5\n']
)
@pytest.mark.parametrize("after", ["", "\n", "\nnpm notice [1]\n"])
def test_json_among_the_lines_of_a_log_is_read_with_a_warning(before: str, after: str) -> None:
    report, (warning,) = read_report(f"{before}{_JSON}{after}".encode(), name="log.txt")
    assert report.runs[0].results[0].samples == (1.5,)
    line = before.count("\n") + 1
    assert warning.sentence.startswith(
        f"log.txt, line {line}: JSON begins on line {line}; the other lines were left out"
    )


def test_several_documents_among_the_lines_of_a_log_are_several_runs() -> None:
    report, (warning,) = read_report(f"run 1\n{_JSON}\nrun 2\n{_JSON}\n".encode())
    assert len(report.runs) == 2
    assert warning.where == "line 2 and line 4"


@pytest.mark.parametrize(
    ("text", "where"),
    [
        (f"a\nb\n{_JSON[:-9]}", "the JSON that begins on line 3 is incomplete"),
        ('a\n{"b": 1}\n', "a JSON document begins on line 2"),
    ],
)
def test_the_refusal_of_a_log_says_on_which_line_json_begins(text: str, where: str) -> None:
    with pytest.raises(FormatError, match=where):
        read_report(text.encode())
