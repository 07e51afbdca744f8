"""Tables of results: CSV, TSV and Parquet, long and wide."""

from __future__ import annotations

import io
import json
import re

import pytest
from tests.formats.files import by, made

from knickpoint.formats import read_report, sniff
from knickpoint.model.errors import FormatError
from knickpoint.model.report import Outcome, Report, Severity
from knickpoint.model.unit_names import Better


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


@pytest.mark.parametrize(
    ("column", "cell", "outcome", "message"),
    [
        ("status", "failed", Outcome.FAILED, ""),
        ("status", "skipped", Outcome.SKIPPED, ""),
        ("exit_code", "3", Outcome.FAILED, "exit code 3"),
        ("returncode", "-9", Outcome.FAILED, "exit code -9"),
    ],
)
def test_a_row_of_a_wide_table_that_failed_has_no_value(column: str, cell: str, outcome: Outcome, message: str) -> None:
    good = "0" if message else "ok"
    report = csv(f"commit,benchmark,{column},time_ms\nabc,x,{good},12\ndef,x,{cell},0.1\n")
    assert [
        (result.outcome, result.samples, result.message, result.params["metric"])
        for run in report.runs
        for result in run.results
    ] == [(Outcome.MEASURED, (12.0,), "", "time_ms"), (outcome, (), message, "time_ms")]


def test_an_exit_code_is_no_param_of_a_long_table() -> None:
    report = csv("commit,benchmark,exit_code,value\nabc,x,0,12\nabc,y,1,0.1\n")
    assert [(dict(result.params), result.outcome) for result in report.runs[0].results] == [
        ({"benchmark": "x"}, Outcome.MEASURED),
        ({"benchmark": "y"}, Outcome.FAILED),
    ]


@pytest.mark.parametrize("column", ["iteration", "trial", "repeat", "Repetition"])
@pytest.mark.parametrize("value", ["value", "time_ms"])
def test_rows_that_a_column_numbers_are_samples(column: str, value: str) -> None:
    report = csv(f"commit,benchmark,{column},{value}\nabc,x,1,12\nabc,x,2,13\n")
    assert [result.samples for result in report.runs[0].results] == [(12.0, 13.0)]


def test_a_wide_table_gives_a_series_for_every_column_of_numbers() -> None:
    first, second = made("wide.csv").runs
    found = {result.params["metric"]: (result.samples, result.unit) for result in first.results}
    assert found == {"p50_ms": ((1.25,), "ms"), "p99_ms": ((9.75,), "ms"), "latency": ((12.0,), "us")}
    assert {result.params["metric"] for result in second.results} == {"p50_ms", "latency"}


@pytest.mark.parametrize(
    "column",
    ["StdDev", "std_dev", "Standard deviation [ms]", "time_stddev_ms", "stderr", "ci_low", "Runs", "iterations"],
)
def test_what_says_how_exact_a_measurement_is_makes_no_series(column: str) -> None:
    (result,) = csv(f"commit,benchmark,time_ms,{column}\n{'a' * 40},parse,3.42,0.5\n").runs[0].results
    assert result.params == {"benchmark": "parse", "metric": "time_ms"}


@pytest.mark.parametrize(
    "column", ["metric:Runs", "iterations_per_s", "runs_total", "error_rate", "variance_of_frames"]
)
def test_what_is_named_as_a_metric_is_a_series(column: str) -> None:
    assert len(csv(f"commit,benchmark,time_ms,{column}\n{'a' * 40},parse,3.42,7\n").runs[0].results) == 2


def test_a_deviation_that_is_all_that_is_measured_is_a_series() -> None:
    assert len(csv(f"commit,benchmark,stddev_ms\n{'a' * 40},parse,3.42\n").runs[0].results) == 1


def test_a_deviation_beside_a_value_is_no_param() -> None:
    (result,) = csv(f"commit,benchmark,value,stddev,iterations\n{'a' * 40},parse,3.42,0.5,100\n").runs[0].results
    assert result.params == {"benchmark": "parse", "iterations": "100"}


def test_a_wide_table_takes_marked_columns_as_params() -> None:
    assert {result.params["size"] for result in made("wide.csv").runs[0].results} == {"64"}


def test_tabs_separate_too_and_directions_are_read() -> None:
    result = made("long.tsv").runs[0].results[0]
    assert (result.params, result.better) == ({"benchmark": "parse"}, Better.LOWER)


def test_a_decimal_comma_is_one_where_semicolons_separate() -> None:
    assert made("decimal-comma.csv").runs[0].results[0].samples == (12.5, 13.25)


def test_a_point_that_parts_thousands_beside_decimal_commas_is_refused_and_not_taken_for_a_decimal_one() -> None:
    with pytest.raises(FormatError, match=r"'1\.234' in column 'time_ms' may be 1234 or 1\.234") as raised:
        csv("name;time_ms\na;1,5\nb;1.234\n")
    assert raised.value.where == "t.csv, line 3"


def test_a_point_that_may_part_thousands_beside_whole_numbers_below_a_thousand_is_refused() -> None:
    with pytest.raises(
        FormatError, match=r"'1\.020' in column 'time_us' may be 1020 or 1\.020: others there are whole"
    ) as raised:
        csv("name;time_us\na;950\na;1.020\na;990\n")
    assert raised.value.where == "t.csv, line 3"


@pytest.mark.parametrize("cells", [("950", "1.02"), ("1950", "1.020"), ("0.950", "1.020"), ("950.5", "1.020")])
def test_a_point_beside_other_decimals_or_larger_numbers_is_a_decimal_one(cells: tuple[str, str]) -> None:
    report = csv(f"name;time_us\na;{cells[0]}\nb;{cells[1]}\n")
    assert [result.samples[0] for result in report.runs[0].results] == [float(cell) for cell in cells]


@pytest.mark.parametrize("cells", [("1.5", "1.234"), ("1,5", "2.25"), ("1,5", "1,234")])
def test_points_and_commas_that_cannot_part_thousands_are_decimal_ones(cells: tuple[str, str]) -> None:
    report = csv(f"name;time_ms\na;{cells[0]}\nb;{cells[1]}\n")
    assert [result.samples[0] for result in report.runs[0].results] == [float(cell.replace(",", ".")) for cell in cells]


def test_a_point_that_may_part_thousands_is_refused_where_another_column_has_decimal_commas() -> None:
    with pytest.raises(FormatError, match=r"may be 20019 or 20\.019: those in column 'p99_ms' have a decimal comma"):
        csv("name;time_ms;p99_ms\ndecode;20.019;3,5\n")


def test_one_number_whose_point_may_part_thousands_is_read_with_a_warning() -> None:
    report, problems = read_report(b"name;time_ms\ndecode;20.019\n")
    assert [result.samples for result in report.runs[0].results] == [(20.019,)]
    assert [problem.message for problem in problems] == [
        "'20.019' in column 'time_ms' is read as a number with decimals, not as 20019"
    ]
    assert read_report(b"name;time_ms\ndecode;20.019\nencode;3.107\n")[1] == ()


def test_the_note_of_excel_about_the_delimiter_is_no_header() -> None:
    report = read_report(b"sep=;\nname;time_ms\na;1,5\n")[0]
    assert report.runs[0].results[0].samples == (1.5,)


def test_text_that_is_no_table_is_told_how_a_table_begins() -> None:
    with pytest.raises(FormatError) as raised:
        read_report(b"parse took 12 milliseconds\n")
    assert "a header such as name,time_ms" in raised.value.remedy


def values(text: str) -> list[float]:
    return [result.samples[0] for result in csv(text).runs[0].results]


@pytest.mark.parametrize(
    ("cells", "numbers"),
    [
        (('"1,250"', "987"), [1250.0, 987.0]),
        (('"1,250"', "987.5"), [1250.0, 987.5]),
        (('"1,234,567"', "8"), [1234567.0, 8.0]),
        (('"1,234.5"', '"2,000"', "3.125"), [1234.5, 2000.0, 3.125]),
        (('"1.234,5"', "20.019", '"0,5"'), [1234.5, 20019.0, 0.5]),
        (('"1,5"', '"1,234"'), [1.5, 1.234]),
        (("\u22121.5", "2"), [-1.5, 2.0]),
        (("1 250", "1'250.5", "1_000", "1\u202f250"), [1250.0, 1250.5, 1000.0, 1250.0]),
    ],
)
def test_numbers_are_read_in_the_notation_that_all_of_a_table_support(
    cells: tuple[str, ...], numbers: list[float]
) -> None:
    rows = "".join(f"abc,b{row},{cell}\n" for row, cell in enumerate(cells))
    assert values(f"commit,benchmark,value\n{rows}") == numbers


@pytest.mark.parametrize(
    ("cells", "said"),
    [
        (("3", "987 ms"), "line 3: '987 ms' in column 'value' is a number with its unit"),
        (("3", "0x1f"), "line 3: '0x1f' in column 'value' is a number in a notation that is not read"),
        (("3", "<0.01"), "line 3: '<0.01' in column 'value' is a number in a notation"),
        (("3", "\u0663"), "in a notation that is not read"),
        (('"1,234"', '"5,678"'), "line 2: '1,234' in column 'value' may be 1234 or 1.234"),
        (('"1,250"', "1950"), "'1,250' in column 'value' may be 1250 or 1.250"),
        (('"1.234,5"', "2.5"), "line 3: '2.5' in column 'value' contradicts '1.234,5' at line 2"),
        (('"1,234.5"', '"2,5"'), "line 3: '2,5' in column 'value' contradicts '1,234.5' at line 2"),
    ],
)
def test_a_table_with_a_number_that_may_be_another_one_is_refused(cells: tuple[str, ...], said: str) -> None:
    rows = "".join(f"abc,b{row},{cell}\n" for row, cell in enumerate(cells))
    with pytest.raises(FormatError, match=re.escape(said)):
        csv(f"commit,benchmark,value\n{rows}")


def test_one_number_proves_what_points_mean_in_every_column() -> None:
    assert values("name;time_ms;p99_ms\ndecode;20.019;1.234,5\n") == [20019.0, 1234.5]


def test_a_column_whose_every_number_has_thousands_separators_is_a_series() -> None:
    (result,) = csv("\ufeffname;time (ms)\r\ndecode;1.234,5\r\n").runs[0].results
    assert (result.samples, result.params) == ((1234.5,), {"benchmark": "decode", "metric": "time"})


def test_a_param_with_a_number_and_a_unit_is_no_number_in_another_notation() -> None:
    (result,) = csv("commit,name,size,time_ms\nabc,x,64 KB,3\n").runs[0].results
    assert (result.params["size"], result.samples) == ("64 KB", (3.0,))


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
def test_a_unicode_text_of_a_spreadsheet_has_a_decimal_comma_where_its_numbers_prove_it(encoding: str) -> None:
    def content(*cells: str) -> bytes:
        rows = "".join(f"b{row}\t{cell}\r\n" for row, cell in enumerate(cells))
        return f"\ufeffname\ttime_ms\r\n{rows}".encode(encoding)

    report, _ = read_report(content("1,5", "20,25"))
    assert [result.samples for result in report.runs[0].results] == [(1.5,), (20.25,)]
    for cells in (("950", "1.020"), ("987", "1,250")):
        with pytest.raises(FormatError, match=r"may be 1020 or 1\.020|may be 1250 or 1\.250"):
            read_report(content(*cells))


def test_texts_of_json_follow_the_same_rule_as_cells() -> None:
    rows = [{"commit": "abc", "benchmark": f"b{cell}", "value": cell} for cell in ("1.234,5", "20.019")]
    report, _ = read_report(json.dumps(rows).encode())
    assert [result.samples for result in report.runs[0].results] == [(1234.5,), (20019.0,)]
    with pytest.raises(FormatError, match=r"\[1\]: '987 ms' in column 'value' is a number with its unit"):
        read_report(json.dumps([rows[0] | {"value": 3}, rows[1] | {"value": "987 ms"}]).encode())


def test_runs_of_one_commit_are_told_apart_by_their_id() -> None:
    report = csv("commit,run,benchmark,value\nabc,1,x,3\nabc,2,x,4\n")
    assert [(run.identity, run.results[0].samples) for run in report.runs] == [("1", (3.0,)), ("2", (4.0,))]


@pytest.mark.parametrize("cell", ["NaN", "inf", "1e400", "fast"])
def test_a_cell_that_is_no_number_is_a_failure_that_names_line_and_column(cell: str) -> None:
    measured, failed = csv(f"commit,benchmark,value\nabc,x,3\nabc,y,{cell}\n").runs[0].results
    assert (measured.samples, failed.params, failed.outcome) == ((3.0,), {"benchmark": "y"}, Outcome.FAILED)
    assert "in column 'value' is not a finite number at line 3" in failed.message


@pytest.mark.parametrize("cells", [("fast", "NaN"), ("timeout", "slow")])
def test_a_column_of_values_without_a_single_number_refuses_the_table(cells: tuple[str, str]) -> None:
    with pytest.raises(
        FormatError, match=r"t.csv, line 2: .* in column 'value' is not a finite number \(benchmark 'x'\)"
    ):
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
        ('commit,benchmark,value\nabc,"x,3\n', "line 2: incomplete row"),
        ("commit,value,value\nabc,1,2\n", "two columns are called 'value'"),
        ("commit,benchmark\nabc,x\n", "no column holds values"),
        ("commit,time,benchmark,value\nabc,soon,x,1\n", "'soon' in column 'time' is not a time"),
        ("commit,benchmark,value,better\nabc,x,1,sideways\n", "'sideways' is not a direction"),
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


def test_the_direction_of_a_wide_row_is_that_of_each_of_its_series() -> None:
    report = csv("commit,benchmark,better,statements,lines\nabc,x,lower,12,3\n")
    assert [result.better for result in report.runs[0].results] == [Better.LOWER, Better.LOWER]


@pytest.mark.parametrize("text", ["a,b\n1,2\n", "hello\n", "1,2\n3,4\n", "{}", "name,size\nx,1\n", "# note: a, b\n"])
def test_other_text_is_not_taken_for_a_table(text: str) -> None:
    assert sniff(text.encode()) == ()


def test_a_table_of_many_histories_comes_in_whole() -> None:
    rows = [f"r{series:04},{place},{series * 100 + place / 7!r}" for series in range(20) for place in range(150)]
    report, problems = read_report("\n".join(["id,pos,value", *rows, ""]).encode())
    assert problems == ()
    assert sum(len(run.results.samples) for run in report.runs) == len(rows)


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
        "'nan' in column 'value' is not a finite number at row 1",
    )


def test_truncated_parquet_is_refused() -> None:
    data = parquet(**_LONG)
    for cut in range(4, len(data), 37):
        with pytest.raises(FormatError, match="incomplete Parquet file"):
            read_report(data[:cut])


_POINTS = (
    "repository,line,id,unit,pos,commit,value,better,commit_time\n"
    'o/r,main,",benchmark=a,os=linux,",ns,0,c1,1.5,lower,2026-08-20T10:11:12Z\n'
    'o/r,main,",benchmark=a,os=linux,",ns,2,c3,2.5,lower,2026-08-19T10:11:12Z\n'
    'o/r,main,",benchmark=b%2Cc,",docs,2,c3,7.0,higher,2026-08-19T10:11:12Z\n'
    'o/r,main,",benchmark=b%2Cc,",docs,1,c2,8.0,higher,\n'
)


def test_a_count_of_samples_is_not_taken_for_what_was_measured() -> None:
    header = '"Benchmark","Mode","Threads","Samples","Score","Score Error (99.9%)","Unit"'
    with pytest.raises(FormatError, match="JMH"):
        read_report(f'{header}\n"a.Sort.quick","thrpt",1,5,12.5,0.5,"ops/ms"\n'.encode(), name="jmh-result.csv")


def test_points_that_were_exported_are_results_of_their_traces() -> None:
    report, problems = read_report(_POINTS.encode())
    assert (report.format, report.repository, problems) == ("csv", "o/r", ())
    found = {(run.revision, run.branch, str(result.params)): result for run in report.runs for result in run.results}
    result = found["c3", "main", "{'benchmark': 'b,c'}"]
    assert (result.samples, result.unit, result.better) == ((7.0,), "docs", Better.HIGHER)
    assert found["c1", "main", "{'benchmark': 'a', 'os': 'linux'}"].samples == (1.5,)


@pytest.mark.parametrize("order", [(3, 2, 1), (2, 3, 1), (1, 2, 3)])
def test_commits_stand_by_the_times_that_rows_state_of_them_whatever_the_order_of_rows(order: tuple[int, ...]) -> None:
    rows = "".join(f"c{day},2026-01-0{day},a,{day}\n" for day in order)
    assert [commit.hash for commit in csv("commit,commit_time,benchmark,value\n" + rows).commits] == ["c1", "c2", "c3"]


@pytest.mark.parametrize("title", ["commit_time", "time"])
def test_rows_with_the_newest_first_are_a_history_all_the_same_also_where_commits_are_of_one_day(title: str) -> None:
    rows = "".join(f"c{number},2026-01-0{1 + number // 2},a,{number}\n" for number in (3, 2, 1, 0))
    found = csv(f"commit,{title},benchmark,value\n{rows}").commits
    assert [commit.hash for commit in found] == ["c0", "c1", "c2", "c3"]


def test_an_old_commit_that_was_measured_late_stays_in_its_row() -> None:
    rows = "c1,2026-01-01,a,1\nc2,2026-02-01,a,2\nc3,2026-01-03,a,3\n"
    assert [commit.hash for commit in csv("commit,time,benchmark,value\n" + rows).commits] == ["c1", "c2", "c3"]


def test_commits_of_an_export_are_in_the_order_of_their_positions_whatever_their_times() -> None:
    report, _ = read_report(_POINTS.encode())
    assert [commit.hash for commit in report.commits] == ["c1", "c2", "c3"]
    assert [run.revision for run in report.runs] == ["c1", "c2", "c3"]
    assert [commit.time.year for commit in report.commits] == [2026, 1970, 2026]


def test_an_export_of_an_older_version_is_read_without_direction_and_time() -> None:
    text = 'repository,line,id,unit,pos,commit,value\no/r,main,",benchmark=a,",ns,0,c1,1.5\n'
    report, _ = read_report(text.encode())
    assert report.runs[0].results[0].params == {"benchmark": "a"}


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ('o/x,main,",b=a,",ns,1,c2,1,,', "the points belong to 2 repositories"),
        ('o/r,other,",b=a,",ns,1,c2,1,,', "the points belong to 2 lines"),
        ("o/r,main,b=a,ns,1,c2,1,,", "line 3"),
        ('o/r,main,",b=a,",ns,0,c2,1,,', "two commits, c1 and c2, have the position 0"),
        ('o/r,main,",b=a,",ns,first,c2,1,,', "line 3: commit 'c2' and position 'first' are not a place of a point"),
    ],
)
def test_an_export_with_an_error_says_what_and_where(line: str, said: str) -> None:
    header, first, *_ = _POINTS.splitlines()
    with pytest.raises(FormatError, match=said):
        read_report(f"{header}\n{first}\n{line}\n".encode())


def test_rows_of_json_are_read_as_those_of_csv() -> None:
    rows = [
        {"commit": "abc", "benchmark": "x", "values": [1.5, 2], "unit": "ms", "size": 64},
        {"commit": "abc", "benchmark": "y", "value": "n/a", "cached": True},
        {"commit": "def", "benchmark": "x", "value": "slow"},
        {"commit": "def", "benchmark": "y", "value": 3, "unit": None},
    ]
    as_list, _ = read_report(json.dumps(rows).encode())
    as_lines, _ = read_report("\n".join(map(json.dumps, rows)).encode())
    for report in (as_list, as_lines):
        first, second = report.runs
        assert report.format == "json"
        assert first.results[0].params == {"benchmark": "x", "size": "64"}
        assert (first.results[0].samples, len(first.results)) == ((1.5, 2.0), 1)
        assert [result.outcome for result in second.results] == [Outcome.FAILED, Outcome.MEASURED]


def test_one_object_of_json_is_a_row() -> None:
    report, _ = read_report(b'{"commit": "abc", "benchmark": "x", "value": 3}')
    assert (report.format, report.runs[0].results[0].samples) == ("json", (3.0,))


def test_entries_that_name_their_commit_are_rows_and_lose_it_to_no_other_format() -> None:
    report, _ = read_report(b'[{"name": "a", "unit": "ns", "value": 3, "commit": "abc"}]')
    assert (report.format, report.runs[0].revision) == ("json", "abc")


@pytest.mark.parametrize(
    "text",
    [
        "timeStamp,elapsed,label,responseCode,success,bytes\n1795331133000,12,home,200,true,2\n1795331134000,14,home,200,true,2\n",
        "metric_name,timestamp,metric_value\nhttp_reqs,1795331133,1.0\nhttp_req_duration,1795331134,12.5\n",
    ],
    ids=["a log of requests of JMeter", "a log of metrics of k6"],
)
def test_a_log_of_what_happened_within_a_run_is_refused_and_not_read_as_a_run_a_row(text: str) -> None:
    with pytest.raises(FormatError, match=r"2 different times .* and name no commit.*Import the summary"):
        csv(text)


def test_a_wide_table_of_one_time_needs_no_commit() -> None:
    assert csv("time,p50_ms\n2026-08-20T10:11:12Z,1.5\n").runs[0].results[0].samples == (1.5,)


def test_a_whole_number_of_json_rows_too_large_for_a_float_is_a_failure() -> None:
    rows = [{"commit": "abc", "benchmark": "x", "values": [10**400]}, {"commit": "abc", "benchmark": "y", "value": 1}]
    failed, measured = read_report(json.dumps(rows).encode())[0].runs[0].results
    assert (failed.outcome, measured.samples) == (Outcome.FAILED, (1.0,))


@pytest.mark.parametrize(
    ("text", "params"),
    [
        ("name,time_ms\nparse,1.5\n", {"benchmark": "parse", "metric": "time_ms"}),
        ("test;compiler;latency [ms]\nparse;gcc;1,5\n", {"benchmark": "parse", "compiler": "gcc", "metric": "latency"}),
        ("name,param:size,time_ms\nparse,10,1.5\n", {"benchmark": "parse", "size": "10", "metric": "time_ms"}),
    ],
)
def test_a_table_of_names_needs_units_in_its_header_and_no_commit(text: str, params: dict[str, str]) -> None:
    report, _ = read_report(text.encode())
    result = by(report, **params)
    assert (result.samples, result.unit, result.better) == ((1.5,), "ms", Better.LOWER)


def test_rows_of_one_name_are_repetitions_where_only_measured_values_differ() -> None:
    report, _ = read_report(b"name,time_ms,score\nparse,1.5,7\nparse,1.7,7\n")
    assert by(report, benchmark="parse", metric="time_ms").samples == (1.5, 1.7)


def test_rows_of_one_name_that_a_number_without_a_unit_tells_apart_are_refused_with_what_to_do() -> None:
    text = "name,size,time_ms\nparse,10,1.5\nparse,100,9.5\n"
    with pytest.raises(
        FormatError, match=r"line 3: this row and line 2 .*'size'.*Call it param:size .* or metric:size"
    ):
        read_report(text.encode())
    for prefix, counts in (("param", [1, 1]), ("metric", [2, 2])):
        report, _ = read_report(text.replace("size", f"{prefix}:size").encode())
        assert [len(result.samples) for result in report.runs[0].results] == counts


@pytest.mark.parametrize(
    "text",
    [
        "commit,benchmark,size,time_ms\n4f2c9e1,parse,10,1.5\n4f2c9e1,parse,100,9.5\n",
        "commit,benchmark,size,latency\n4f2c9e1,parse,10,1.5\n4f2c9e1,parse,100,9.5\n",
        "commit,time,benchmark,size,time_ms\n4f2c9e1,2026-08-20,parse,10,1.5\n4f2c9e1,2026-08-21,parse,100,9.5\n",
        "Unnamed: 0,commit,size,time_ms,iterations\n0,4f2c9e1,10,1.5,7\n1,4f2c9e1,100,9.5,8\n",
    ],
)
def test_rows_of_one_commit_that_a_param_in_numbers_tells_apart_are_refused_with_what_to_do(text: str) -> None:
    with pytest.raises(
        FormatError, match=r"line 3: this row and line 2 .*'size'.*Call it param:size .* or metric:size"
    ):
        read_report(text.encode())
    report, _ = read_report(text.replace("size", "param:size").encode())
    assert {result.params["size"]: len(result.samples) for result in report.runs[0].results} == {"10": 1, "100": 1}


@pytest.mark.parametrize(
    "rows",
    [
        "commit,benchmark,time_ms,metric:score\n4f2c9e1,parse,1.5,7.5\n4f2c9e1,parse,1.7,7.9\n",
        "commit,benchmark,rep,mean,hits\n4f2c9e1,parse,1,15,7\n4f2c9e1,parse,2,17,9\n",
        "commit,benchmark,time_ms,size\n4f2c9e1,parse,1.5,10\n5a2c9e1,parse,1.7,11\n",
    ],
    ids=["metric", "numbered", "another commit"],
)
def test_rows_that_differ_in_what_was_measured_are_samples(rows: str) -> None:
    report, _ = read_report(rows.encode())
    assert sum(len(result.samples) for run in report.runs for result in run.results) == 4


@pytest.mark.parametrize(
    ("header", "first", "second", "column"),
    [
        ("date,name,msg_bytes,latency_us", "2026-08-20,echo,8,20.1", "2026-08-20,echo,65536,21.6", "msg_bytes"),
        ("name,size_kb,time_ms", "echo,4,20.1", "echo,64,21.6", "size_kb"),
        ("name,theta,time_ms", "echo,0.5,20.1", "echo,0.99,21.6", "theta"),
        ("name,rep,size_kb,time_ms", "echo,1,4,20.1", "echo,1,64,21.6", "size_kb"),
        ("name,index,size_kb,time_ms", "echo,0,4,20.1", "echo,1,64,21.6", "size_kb"),
    ],
)
def test_rows_of_one_key_that_differ_in_several_numbers_are_refused_unless_a_column_numbers_them(
    header: str, first: str, second: str, column: str
) -> None:
    text = f"commit,{header}\n4f2c9e1,{first}\n4f2c9e1,{second}\n"
    with pytest.raises(FormatError, match=rf"line 3: this row and line 2 .*'{column}', '\w+'.*param:{column}\b"):
        csv(text)
    report = csv(text.replace(column, f"param:{column}"))
    assert [len(result.samples) for result in report.runs[0].results] == [1, 1]


def test_a_refused_column_of_threads_is_not_sent_where_rows_merge() -> None:
    text = "name,threads,rate\necho,1,20\necho,2,38\n"
    with pytest.raises(FormatError) as refused:
        read_report(text.encode())
    assert "metric:NAME" in refused.value.remedy
    assert "param:NAME" in refused.value.remedy
    with pytest.raises(FormatError, match="differ in 'threads', 'rate'"):
        csv(text)


@pytest.mark.parametrize("column", ["std", "time_std", "SD", "sem", "min", "max", "median", "p99"])
def test_statistics_beside_the_value_begin_no_trace_with_each_row(column: str) -> None:
    text = f"commit,benchmark,value,unit,{column}\n4f2c9e1,parse,1.5,ms,0.25\n5a2c9e1,parse,1.6,ms,0.35\n"
    report, _ = read_report(text.encode())
    assert [run.results[0].params for run in report.runs] == [{"benchmark": "parse"}] * 2


def test_a_wide_table_has_no_series_of_standard_deviations_by_their_short_names() -> None:
    report, _ = read_report(b"commit,benchmark,time_ms,std_ms,time_std\n4f2c9e1,parse,1.5,0.1,0.1\n")
    assert [result.params["metric"] for result in report.runs[0].results] == ["time_ms"]


def test_the_numbers_of_rows_that_pandas_writes_are_no_series() -> None:
    report, _ = read_report(b"Unnamed: 0,commit,benchmark,time_ms\n0,4f2c9e1,parse,1.5\n1,4f2c9e1,parse,1.7\n")
    assert [(result.params["metric"], len(result.samples)) for result in report.runs[0].results] == [("time_ms", 2)]


@pytest.mark.parametrize("header", ["name,mean", "command,mean", "name,time"])
def test_a_table_that_is_not_understood_is_refused_with_what_it_needs(header: str) -> None:
    message = (
        rf"needs a column value, or a column name .*as in name,time_ms; it has {header.replace(',', ', ')}\..*--as csv"
    )
    with pytest.raises(FormatError, match=message):
        read_report(f"{header}\nparse,1.5\n".encode())


def test_columns_without_units_are_values_where_the_format_is_named() -> None:
    report, _ = read_report(b"name,mean\nparse,1.5\n", format="csv")
    assert by(report, benchmark="parse", metric="mean").samples == (1.5,)


@pytest.mark.parametrize(
    "header",
    ["name,iterations,real_time,cpu_time,time_unit,bytes_per_second", '"test","rps","avg_latency_ms","p50_latency_ms"'],
)
def test_tables_of_tools_are_not_taken_for_tables_of_names(header: str) -> None:
    assert "csv" not in [found.name for found in sniff(f"{header}\n".encode())]


def test_tables_one_behind_the_other_may_have_a_header_each() -> None:
    table = b"benchmark,unit,value\na,ms,1\n"
    report, problems = read_report(table + table.replace(b"a,ms,1", b"b,ms,2"), name="both.csv")
    assert [(key, run.results[at].samples) for run in report.runs for at, key in enumerate(run.results.keys)] == [
        (",benchmark=a,", (1.0,)),
        (",benchmark=b,", (2.0,)),
    ]
    assert problems == ()


def test_spellings_of_one_thing_make_one_series() -> None:
    text = "commit,benchmark,Metric,unit,value\n4F2C9E1D,echo,time,Âµs,3\n"
    (run,) = csv(text + "4f2c9e1d,echo,time,µs,4\n").runs
    assert len(run.results) == 1
    assert (run.revision, run.results[0].params["metric"], run.results[0].unit) == ("4f2c9e1d", "time", "µs")


def test_names_with_several_units_or_spellings_are_counted_and_convertible_units_are_not() -> None:
    text = "commit,benchmark,unit,value\nabc,echo,ms,3\nabc,echo,MB,4\nabc,Sort,ms,3\nabc,sort,ms,3\nabc,parse,ms,3\nabc,parse,us,3\n"
    (problem,) = read_report(text.encode())[1]
    assert problem.message.startswith(
        "2 names have several units or spellings (echo: ms and MB; benchmark=Sort and benchmark=sort)"
    )
