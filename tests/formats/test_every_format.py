"""What holds for every format, over the golden files and those made by hand."""

from __future__ import annotations

import gzip
import io
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.examples import examples
from tests.formats.files import COMPANIONS, FILES, HERE, format_of, read

from knickpoint.formats import FORMATS, Format, find_format, read_report, sniff
from knickpoint.formats.toolbox.file_content import FileContent
from knickpoint.model.errors import FormatError
from knickpoint.model.params import decode_key, encode_key
from knickpoint.model.report import Outcome, Problem, Report

each_file = pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
_MOST_CUTS = 16


_TOLD_BY_THE_REST = {"procs", "note"}
"""Params that a Go file needs only where one benchmark has several of them, so a part may do without."""


def values(report: Report) -> Counter[tuple[str, str, str, str, float]]:
    return Counter(
        (run.revision, encode_key(params), result.unit, result.outcome.value, sample)
        for run in report.runs
        for result in run.results
        if (params := {name: text for name, text in result.params.items() if name not in _TOLD_BY_THE_REST})
        for sample in result.samples
    )


def warned_of_the_end(problems: tuple[Problem, ...]) -> bool:
    return any("the last line has no line end" in problem.message for problem in problems)


def cuts(size: int) -> list[int]:
    step = max(1, size // _MOST_CUTS)
    return sorted({*range(1, size, step), *range(max(1, size - 8), size)})


@pytest.fixture(scope="module")
def reports() -> Mapping[Path, Report]:
    """Return each file as it is read."""
    return {path: read(path) for path in FILES}


def test_sniffing_finds_the_one_format() -> None:
    found = {path.name: [each.name for each in sniff(path.read_bytes())] for path in FILES}
    assert found == {path.name: [format_of(path)] for path in FILES}


def test_a_file_reads_the_same_when_its_format_is_named(reports: Mapping[Path, Report]) -> None:
    named = {
        path: read_report(path.read_bytes(), name=path.name, format=format_of(path), companions=COMPANIONS)[0]
        for path in FILES
    }
    assert [path.name for path in FILES if values(named[path]) != values(reports[path])] == []


@pytest.mark.parametrize(
    "path", [path for path in FILES if path.suffix in {".txt", ".csv"}], ids=lambda path: path.name
)
def test_a_text_with_the_line_ends_of_windows_reads_the_same(path: Path) -> None:
    data = path.read_bytes().replace(b"\r\n", b"\n").replace(b"\n", b"\r\n")
    assert [found.name for found in sniff(data)] == [format_of(path)]
    report, _ = read_report(data, name=path.name, companions=COMPANIONS)
    assert values(report) == values(read(path))


def test_a_file_gives_results_with_canonical_keys_that_differ(reports: Mapping[Path, Report]) -> None:
    assert [path.name for path, report in reports.items() if not any(len(run.results) for run in report.runs)] == []
    runs = [(path.name, run.results) for path, report in reports.items() for run in report.runs]
    assert [
        name for name, each in runs if len(set(zip(each.keys, each.unit_codes.tolist(), strict=True))) != len(each)
    ] == []
    assert [(name, key) for name, each in runs for key in each.keys if encode_key(decode_key(key)) != key] == []


def test_measured_results_have_samples_and_others_have_none(reports: Mapping[Path, Report]) -> None:
    wrong = [
        (path.name, result.params)
        for path, report in reports.items()
        for run in report.runs
        for result in run.results
        if bool(result.samples) != (result.outcome is Outcome.MEASURED)
    ]
    assert wrong == []


@each_file
def test_a_file_cut_anywhere_gives_no_value_that_the_whole_has_not_without_a_warning(path: Path) -> None:
    data = path.read_bytes()
    whole = values(read(path))
    for cut in cuts(len(data)):
        for name in ("", format_of(path)):
            try:
                report, problems = read_report(data[:cut], name=path.name, format=name, companions=COMPANIONS)
            except FormatError:
                continue
            assert values(report) <= whole or warned_of_the_end(problems), f"cut at byte {cut}"


@pytest.mark.long
@each_file
def test_a_file_cut_at_any_byte_at_all_gives_no_value_that_the_whole_has_not_without_a_warning(path: Path) -> None:
    data = path.read_bytes()
    whole = values(read(path))
    for cut in range(len(data)):
        try:
            report, problems = read_report(data[:cut], name=path.name, format=format_of(path), companions=COMPANIONS)
        except FormatError:
            continue
        assert values(report) <= whole or warned_of_the_end(problems), f"cut at byte {cut}"


@pytest.mark.long
def test_a_packed_file_cut_at_any_byte_is_refused() -> None:
    data = gzip.compress((HERE / "made" / "skia.json").read_bytes())
    for cut in range(len(data)):
        with pytest.raises(FormatError):
            read_report(data[:cut])


@pytest.mark.long
def test_a_parquet_file_cut_at_any_byte_is_refused() -> None:
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    written = io.BytesIO()
    parquet.write_table(pyarrow.table({"benchmark": ["a", "b"], "commit": ["c", "c"], "value": [1.5, 2.5]}), written)
    data = written.getvalue()
    for cut in range(len(data)):
        with pytest.raises(FormatError):
            read_report(data[:cut], format="parquet")


@pytest.mark.long
@each_file
def test_a_file_with_a_broken_byte_is_read_or_refused(path: Path) -> None:
    data = path.read_bytes()
    for place in cuts(len(data))[::4]:
        for byte in (0x00, 0x22, 0x2C, 0x39, 0xFF):
            broken = data[:place] + bytes([byte]) + data[place + 1 :]
            with suppress(FormatError):
                read_report(broken, name=path.name, format=format_of(path), companions=COMPANIONS)


@pytest.mark.thorough
@settings(max_examples=examples(60), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.binary(max_size=200))
def test_arbitrary_bytes_are_refused_by_every_format(data: bytes) -> None:
    for known in FORMATS:
        known.matches(data)
        with suppress(FormatError):
            known.read(data)


_json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from([
                "benchmarks", "context", "results", "name", "value", "unit", "stats", "data", "key", "measurement",
                "measurements", "version", "git_hash", "entries", "commit", "runs", "values", "metadata", "suites",
                "framework", "charts", "tests", "machine", "run", "files", "groups", "metrics", "primaryMetric", "tags",
                "run_id", "command", "mean", "start", "intervals", "end", "jobs", "fio version", "event", "counter-value", "benches", "result", "latency", "median(elapsed)", "BenchmarkTools", "Benchmarks", "HostEnvironmentInfo", "commit_hash", "benchmark", "unit",
                "diagnostics", "sampleValues", "attributes", "timestamp", "fullname", "id", "iters", "times", "params",
            ]),
            inner,
            max_size=6,
        )
    ),
    max_leaves=20,
)  # fmt: skip


@pytest.mark.thorough
@settings(max_examples=examples(80), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(document=_json, known=st.sampled_from(FORMATS))
def test_arbitrary_json_is_read_or_refused(document: object, known: Format) -> None:
    source = FileContent(b"{}")
    source.__dict__["_parsed"] = (document, None)
    source.__dict__["strict_json"] = document
    known.fits(source)
    with suppress(FormatError):
        known.read(source)


def test_formats_are_sorted_and_have_names_of_their_own() -> None:
    names = [known.name for known in FORMATS]
    assert names == sorted(set(names))


def test_every_format_that_calls_itself_verified_has_a_golden_file_or_a_published_one() -> None:
    elsewhere = {
        "benchmarkdotnet",
        "benchmarktools",
        "csv",
        "github-action-benchmark",
        "gungraun",
        "jmh",
        "json",
        "parquet",
    }
    has_golden = {format_of(path) for path in FILES if path.parent.name == "golden"}
    assert {known.name for known in FORMATS if known.verified} == has_golden | elsewhere


def test_every_format_has_a_file_that_the_tests_read() -> None:
    assert {known.name for known in FORMATS} - {format_of(path) for path in FILES} == {"parquet"}


def test_every_format_has_its_section_in_the_guide() -> None:
    guide = (HERE.parent.parent / "docs" / "guide" / "formats.md").read_text(encoding="utf-8")
    headings = [
        line.removeprefix("### ").split(":")[0].strip("` ") for line in guide.splitlines() if line.startswith("### ")
    ]
    assert [known.name for known in FORMATS] == headings


def test_looking_at_the_list_of_formats_loads_none_of_them() -> None:
    script = (
        "import sys, knickpoint.formats\n"
        "print([m for m in sys.modules if m in ('knickpoint.formats.skia', 'knickpoint.formats.delimited', 'pyarrow')])"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_a_format_is_found_by_name_however_it_is_written() -> None:
    assert find_format("Pytest_Benchmark").name == "pytest-benchmark"


def test_an_unknown_format_is_refused_with_the_list_of_known_ones() -> None:
    with pytest.raises(FormatError, match=r"no format is called 'gprof'.*Choose one of apache-bench, asv, "):
        find_format("gprof")


def test_the_guide_calls_unverified_what_the_list_of_formats_does() -> None:
    guide = (HERE.parents[1] / "docs" / "guide" / "formats.md").read_text(encoding="utf-8")
    sections = dict(re.findall(r"^### `([\w-]+)`:[^\n]*\n(.*?)(?=^##|\Z)", guide, re.MULTILINE | re.DOTALL))
    marked = {name for name, text in sections.items() if re.search(r"\*unverified", text, re.IGNORECASE)}
    assert marked == {known.name for known in FORMATS if not known.verified}
