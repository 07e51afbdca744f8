"""Tables of results: CSV, TSV and Parquet, long and wide."""

from __future__ import annotations

import gzip
import io
from pathlib import Path

import pytest
from tests.formats.files import made

from knickpoint.formats import read_report, sniff
from knickpoint.model.errors import FormatError
from knickpoint.model.report import Outcome, Report, Severity
from knickpoint.model.unit import Better


def csv(text: str) -> Report:
    return read_report(text.encode(), name="t.csv", format="csv")[0]


def test_a_long_table_gives_a_run_for_every_commit() -> None:
    first, second = made("long.csv").runs
    assert first.results[0].params == {"benchmark": "decode", "metric": "time", "size": "1024"}
    assert first.results[0].samples == (3421.0, 3409.5)
    assert second.results[0].samples == (3500.0,)


def test_a_long_table_tells_commits_environment_and_links() -> None:
    report = made("long.csv")
    assert [commit.time.isoformat() for commit in report.commits] == [
        "2026-08-20T10:11:12+00:00",
        "2026-08-21T10:11:12+00:00",
    ]
    assert report.runs[0].environment == {"cpu": "a CPU"}
    assert report.runs[0].links == {"log": "https://ci.example.org/1"}


def test_a_row_that_failed_is_a_failure() -> None:
    assert made("long.csv").runs[0].results[1].outcome is Outcome.FAILED


def test_a_wide_table_gives_a_series_for_every_column_of_numbers() -> None:
    first, second = made("wide.csv").runs
    found = {result.params["metric"]: (result.samples, result.unit) for result in first.results}
    assert found == {"p50_ms": ((1.25,), "ms"), "p99_ms": ((9.75,), "ms"), "latency": ((12.0,), "us")}
    assert {result.params["metric"] for result in second.results} == {"p50_ms", "latency"}


def test_a_wide_table_takes_marked_columns_as_params() -> None:
    assert {result.params["size"] for result in made("wide.csv").runs[0].results} == {"64"}


def test_tabs_separate_too_and_directions_are_read() -> None:
    result = made("long.tsv").runs[0].results[0]
    assert (result.params, result.better) == ({"benchmark": "parse"}, Better.LOWER)


def test_a_decimal_comma_is_one_where_semicolons_separate() -> None:
    assert made("decimal-comma.csv").runs[0].results[0].samples == (12.5, 13.25)


def test_runs_of_one_commit_are_told_apart_by_their_id() -> None:
    report = csv("commit,run,benchmark,value\nabc,1,x,3\nabc,2,x,4\n")
    assert [(run.identity, run.results[0].samples) for run in report.runs] == [("1", (3.0,)), ("2", (4.0,))]


@pytest.mark.parametrize("cell", ["NaN", "inf", "1e400", "fast", '"1,234,567"', "1_000", "٣", "0x1f"])
def test_a_cell_that_is_no_number_is_a_failure_that_names_line_and_column(cell: str) -> None:
    measured, failed = csv(f"commit,benchmark,value\nabc,x,3\nabc,y,{cell}\n").runs[0].results
    assert (measured.samples, failed.params, failed.outcome) == ((3.0,), {"benchmark": "y"}, Outcome.FAILED)
    assert "in column 'value' is no finite number at line 3" in failed.message


@pytest.mark.parametrize("cells", [('"1,234"', '"5,678"'), ("12 ms", "13 ms"), ("fast", "NaN")])
def test_a_column_of_values_without_a_single_number_refuses_the_table(cells: tuple[str, str]) -> None:
    with pytest.raises(FormatError, match=r"t.csv, line 2: .* in column 'value' is no finite number \(benchmark 'x'\)"):
        csv("commit,benchmark,value\n" + "".join(f"abc,x,{cell}\n" for cell in cells))


def test_a_table_whose_every_value_is_nan_is_a_table_of_failures() -> None:
    report = csv("commit,benchmark,value\nabc,x,NaN\ndef,x,nan\n")
    assert [run.results[0].outcome for run in report.runs] == [Outcome.FAILED, Outcome.FAILED]


def test_a_table_comes_in_without_a_last_line_end_and_says_so() -> None:
    report, (problem,) = read_report(b"commit,benchmark,value\nabc,x,12", name="t.csv")
    assert report.runs[0].results[0].samples == (12.0,)
    assert (problem.where, problem.severity) == ("t.csv, line 2", Severity.WARNING)
    assert "'abc,x,12'" in problem.message


def test_a_table_that_breaks_off_within_its_last_row_is_refused() -> None:
    with pytest.raises(FormatError, match="line 3: the row has 2 cells, the header 3"):
        csv("commit,benchmark,value\nabc,x,12\nabc,y")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("commit,benchmark,value\nabc,x\n", "line 2: the row has 2 cells, the header 3"),
        ('commit,benchmark,value\nabc,"x,3\n', "line 2: the row is not whole"),
        ("commit,value,value\nabc,1,2\n", "two columns are called 'value'"),
        ("commit,benchmark\nabc,x\n", "no column holds values"),
        ("commit,time,benchmark,value\nabc,soon,x,1\n", "'soon' in column 'time' is no point in time"),
        ("commit,benchmark,value,better\nabc,x,1,sideways\n", "'sideways' is no direction"),
        ("commit,benchmark,value,status\nabc,x,1,odd\n", "the status 'odd' is none of"),
        ("repo,commit,benchmark,value\na,1,x,1\nb,2,x,1\n", "the rows belong to 2 repositories"),
        ("# only a comment\n", "the table has no header"),
    ],
)
def test_a_table_with_an_error_says_what_and_where(text: str, said: str) -> None:
    with pytest.raises(FormatError, match=said):
        csv(text)


def test_quoted_cells_may_hold_delimiters_and_line_ends() -> None:
    report = csv('commit,benchmark,value\nabc,"a, b",3\nabc,"c\nd",4\n')
    assert [result.params["benchmark"] for result in report.runs[0].results] == ["a, b", "c d"]


def test_empty_cells_are_missing() -> None:
    assert len(csv("commit,benchmark,value\nabc,x,\nabc,y,n/a\nabc,z,1\n").runs[0].results) == 1


def test_lower_is_better_may_be_a_column_of_its_own() -> None:
    report = csv("commit,benchmark,value,lower_is_better\nabc,x,1,true\nabc,y,1,false\n")
    assert [result.better for result in report.runs[0].results] == [Better.LOWER, Better.HIGHER]


@pytest.mark.parametrize("text", ["a,b\n1,2\n", "hello\n", "1,2\n3,4\n", "{}", "name,size\nx,1\n", "# note: a, b\n"])
def test_other_text_is_not_taken_for_a_table(text: str) -> None:
    assert sniff(text.encode()) == ()


def test_a_published_table_of_many_histories_comes_in(reference: Path) -> None:
    data = gzip.decompress((reference / "data" / "dev-series" / "real.csv.gz").read_bytes())
    whole = data[: data.index(b"\nr0020,") + 1]
    report, problems = read_report(whole)
    assert problems == ()
    assert sum(len(run.results.samples) for run in report.runs) == whole.count(b"\n") - 1


def parquet(**columns: object) -> bytes:
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet as writer  # type: ignore[import-untyped]

    sink = io.BytesIO()
    writer.write_table(pyarrow.table(columns), sink)
    return sink.getvalue()


_LONG: dict[str, object] = {
    "commit": ["abc", "abc"],
    "benchmark": ["x", "y"],
    "values": [[1.5, 2.5], [3.0]],
    "unit": ["ms", "ms"],
}


def test_a_list_in_parquet_is_samples() -> None:
    report, _ = read_report(parquet(**_LONG))
    assert report.format == "parquet"
    assert [result.samples for result in report.runs[0].results] == [(1.5, 2.5), (3.0,)]


def test_a_wide_parquet_table_gives_a_series_for_every_column_of_numbers() -> None:
    report, _ = read_report(parquet(commit=["abc", "def"], p50_ms=[1.5, None], note=["a", "b"]))
    assert [len(run.results) for run in report.runs] == [1, 0]
    assert report.runs[0].results[0].params == {"metric": "p50_ms", "note": "a"}


def test_nan_in_parquet_is_a_failure() -> None:
    report, _ = read_report(parquet(commit=["abc"], benchmark=["x"], value=[float("nan")]))
    (result,) = report.runs[0].results
    assert (result.outcome, result.message) == (
        Outcome.FAILED,
        "'nan' in column 'value' is no finite number at row 1",
    )


def test_truncated_parquet_is_refused() -> None:
    data = parquet(**_LONG)
    for cut in range(4, len(data), 37):
        with pytest.raises(FormatError, match="no whole Parquet file"):
            read_report(data[:cut])
