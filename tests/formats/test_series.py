"""Series on the command line: every form of CSV, missing values, and clear words for bad ones."""

from __future__ import annotations

import gzip
import math
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from knickpoint.formats.series import NamedSeries
from knickpoint.formats.series import read_series as read_content
from knickpoint.formats.toolbox.file_content import FileContent
from knickpoint.model.errors import FormatError, InputError

_TABLE = "pos;parse;print\n1;1,5;1.234,5\n2;2,25;20.019\n"


def read_series(text: str, name: str, *, warn: Callable[[str], None] = lambda _: None) -> list[NamedSeries]:
    return read_content(FileContent(text.encode(), name), warn=warn)


def _values(text: str) -> dict[str, list[float]]:
    return {series.id: series.values.tolist() for series in read_series(text, "x.csv")}


def test_one_column_of_numbers_needs_no_header() -> None:
    assert _values("1\n2.5\n3\n") == {"": [1, 2.5, 3]}


def test_a_column_called_value_is_one_series() -> None:
    assert _values("value\n1\n2\n") == {"": [1, 2]}


def test_long_rows_make_one_series_an_id_in_order_of_appearance() -> None:
    assert _values("id,pos,value\nb,1,10\na,1,20\nb,2,11\n") == {"b": [10, 11], "a": [20]}


def test_rows_are_sorted_by_position_as_numbers_not_as_text() -> None:
    assert _values("id,pos,value\na,10,3\na,9,2\na,1,1\n") == {"a": [1, 2, 3]}


def test_without_positions_rows_of_one_commit_have_one_in_the_order_in_which_commits_come() -> None:
    (series,) = read_series("commit,value\nbee,1\nant,3\nbee,2\n,9\n,8\n", "x.csv")
    assert series.positions == ("0", "0", "1", "2", "3")
    assert series.values.tolist() == [1, 2, 3, 9, 8]


def test_commits_have_the_same_positions_in_all_series() -> None:
    found = read_series("benchmark,commit,value\nparse,c1,1\nprint,c2,2\nparse,c3,3\nprint,c1,4\n", "x.csv")
    assert {each.id: (each.positions, each.values.tolist()) for each in found} == {
        "parse": (("0", "2"), [1, 3]),
        "print": (("0", "1"), [4, 2]),
    }


def test_positions_count_more_than_commits() -> None:
    (series,) = read_series("commit,pos,value\nant,1,1\nant,2,2\n", "x.csv")
    assert series.positions == ("1", "2")


@pytest.mark.parametrize("title", ["benchmark", "name", "test_name"])
def test_benchmarks_are_series_where_no_column_is_called_id(title: str) -> None:
    assert _values(f"{title},unit,value\nparse,ms,1\nprint,ms,5\nparse,ms,2\n") == {"parse": [1, 2], "print": [5]}


def test_a_benchmark_in_two_units_is_two_series() -> None:
    found = read_series("benchmark,unit,value\nparse,ms,1\nparse,s,7\n", "x.csv")
    assert [(each.id, each.values.tolist()) for each in found] == [("parse", [1]), ("parse", [7])]


def test_an_id_names_a_series_whatever_else_a_column_says() -> None:
    assert _values("id,benchmark,value\na,parse,1\na,print,2\n") == {"a": [1, 2]}


def test_rows_of_one_position_keep_the_order_of_the_file() -> None:
    assert _values("pos,value\n2,30\n1,10\n1,20\n") == {"": [10, 20, 30]}


def test_positions_may_be_dates() -> None:
    assert _values("pos,value\n2026-02-01,2\n2026-01-31,1\n") == {"": [1, 2]}


def test_positions_that_floats_cannot_tell_apart_are_ordered() -> None:
    assert _values("pos,value\n1700000000000000002,2\n1700000000000000001,1\n") == {"": [1, 2]}


@pytest.mark.parametrize("newline", ["\r\n", "\r"])
def test_lines_may_end_in_any_of_the_usual_ways(newline: str) -> None:
    assert _values(newline.join(["\ufeffid,pos,value", "a,2,3", "a,1,2", ""])) == {"a": [2, 3]}


@pytest.mark.parametrize("mark", ["\u2028", "\x0c", "\x85", "\x1c"])
def test_what_only_looks_like_the_end_of_a_line_is_part_of_a_name(mark: str) -> None:
    assert _values(f"id,value\na{mark}b,1\na{mark}b,2\n") == {f"a{mark}b": [1, 2]}


def test_other_columns_of_long_rows_are_ignored() -> None:
    assert _values("id,pos,value,commit,unit\na,0,1,abc,ms\n") == {"a": [1]}


def test_each_column_of_a_wide_table_is_a_series() -> None:
    assert _values("pos,parse,render\n2,3,4\n1,1,2\n") == {"parse": [1, 3], "render": [2, 4]}


def test_an_empty_value_is_missing_and_keeps_its_index() -> None:
    values = read_series("pos,value\n1,1\n2,\n3,3\n", "x.csv")[0].values
    assert [math.isnan(value) for value in values] == [False, True, False]


@pytest.mark.parametrize("text", ["\n\n1\n", "value\n\n\n1\n"])
def test_empty_lines_before_the_first_value_are_missing(text: str) -> None:
    values = read_series(text, "x.csv")[0].values
    assert [math.isnan(value) for value in values] == [True, True, False]


@pytest.mark.parametrize("text", ["1\n\n3\n\n\n", "value\n1\n\n3\n\n", 'value\n"1"\n""\n3'])
def test_an_empty_line_of_one_column_is_missing_unless_nothing_follows(text: str) -> None:
    values = read_series(text, "x.csv")[0].values
    assert [math.isnan(value) for value in values] == [False, True, False]


def test_empty_lines_between_rows_of_several_columns_are_nothing() -> None:
    assert _values("pos,value\n1,1\n\n2,2\n") == {"": [1, 2]}


@pytest.mark.parametrize("text", ["pos;value\n1;2\n", "pos\tvalue\n1\t2\n", "pos|value\n1|2\n"])
def test_other_separators_are_found_as_for_results(text: str) -> None:
    assert _values(text) == {"": [2]}


def test_numbers_of_a_spreadsheet_are_read_in_the_notation_that_they_prove() -> None:
    assert _values(_TABLE) == {"parse": [1.5, 2.25], "print": [1234.5, 20019.0]}
    with pytest.raises(FormatError, match=r"x\.csv, line 3: '1\.020' in column 'parse' may be 1020 or 1\.020"):
        _values("pos;parse\n1;950\n2;1.020\n")


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
def test_utf16_and_gzip_are_read_as_for_results(encoding: str) -> None:
    content = gzip.compress(f"\ufeff{_TABLE}".encode(encoding))
    assert [series.id for series in read_content(FileContent(content))] == ["parse", "print"]


@pytest.mark.parametrize("header", ["date,parse,print", "pos,date,parse,print", "commit,date,parse,print"])
def test_a_column_of_dates_is_no_series_beside_others(header: str) -> None:
    first = {"pos": "1,", "commit": "ant,"}.get(header.partition(",")[0], "")
    second = {"pos": "2,", "commit": "bee,"}.get(header.partition(",")[0], "")
    text = f"{header}\n{first}2026-08-20,1,3\n{second}2026-08-21,2,4\n"
    assert _values(text) == {"parse": [1, 2], "print": [3, 4]}


def test_an_open_quote_is_refused_with_its_remedy() -> None:
    with pytest.raises(InputError, match=r"line 2: incomplete row.*Close the quotes"):
        read_series('id,value\n"a,1\n', "x.csv")


@pytest.mark.parametrize("text", ["NaN", "1e400", "-inf", "fast", "1,5"])
def test_a_value_that_is_no_finite_number_is_refused_with_its_line(text: str) -> None:
    with pytest.raises(InputError, match=r"x\.csv, line 3"):
        read_series(f'pos,value\n1,1\n2,"{text}"\n', "x.csv")


@pytest.mark.parametrize("text", ["", "\n\n"])
def test_an_empty_file_is_refused(text: str) -> None:
    with pytest.raises(InputError, match="no rows"):
        read_series(text, "x.csv")


def test_a_ragged_row_is_refused_with_its_line() -> None:
    with pytest.raises(InputError, match="line 3: the row has 1 cells, the header 2"):
        read_series("pos,value\n1,1\n2\n", "x.csv")


def test_a_column_named_twice_is_refused_with_its_line() -> None:
    with pytest.raises(InputError, match=r"line 3: the header names 'a' twice"):
        read_series("\n\na,a\n1,2\n", "x.csv")


def test_a_column_without_a_name_is_no_series() -> None:
    with pytest.raises(InputError, match=r"line 1: column 1 has no name\. Name it pos"):
        read_series(",a\n0,1\n1,2\n", "x.csv")


@pytest.mark.parametrize("text", ["1,5\n1,6\n", "value\n1,5\n", 'value\n"1,5"\n'])
def test_commas_for_decimals_are_refused_with_the_remedy(text: str) -> None:
    with pytest.raises(InputError, match=r"line [12]: .* point"):
        read_series(text, "x.csv")


def test_a_very_long_field_is_quoted_in_part() -> None:
    with pytest.raises(InputError, match=r"^x\.csv, line 2: '9{40}…' is not a finite number"):
        read_series(f"value\n{'9' * 5000}\n", "x.csv")


def test_binary_data_are_no_series() -> None:
    with pytest.raises(InputError, match="not text"):
        read_series("\0\1\2", "x.csv")


def test_positions_of_mixed_kinds_are_refused() -> None:
    with pytest.raises(InputError, match="'abc'"):
        read_series("pos,value\n1,1\nabc,2\n", "x.csv")


def test_a_table_without_a_header_is_refused() -> None:
    with pytest.raises(InputError, match="not a header"):
        read_series("1,2\n3,4\n", "x.csv")


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1, max_size=30))
def test_numbers_come_back_to_the_last_bit(values: list[float]) -> None:
    text = "value\n" + "".join(f"{value!r}\n" for value in values)
    assert read_series(text, "x.csv")[0].values.tolist() == values


@given(st.text(max_size=60))
def test_any_text_is_read_or_refused_but_never_crashes(text: str) -> None:
    try:
        read_series(text, "x.csv")
    except InputError:
        return


_HASHES = ("6baa9455e3", "82c2094cac", "1234567890", "029fbed82c")


def test_a_column_of_commits_is_no_series_of_a_table_with_a_column_a_series() -> None:
    rows = "".join(f"{name},{place},{place + 10}\n" for place, name in enumerate(_HASHES))
    assert _values(f"commit,parse_ms,print_ms\n{rows}") == {"parse_ms": [0, 1, 2, 3], "print_ms": [10, 11, 12, 13]}


def test_rows_of_one_commit_are_samples_where_each_column_is_a_series_too() -> None:
    (series,) = read_series("commit,ms\nbee,1\nbee,2\nant,3\n", "x.csv")
    assert (series.id, series.positions) == ("ms", ("0", "0", "1"))


def test_commit_is_a_series_where_it_is_what_a_data_base_takes_for_one() -> None:
    assert _values("begin,commit\n1,35\n2,31\n1,36\n3,33\n")["commit"] == [35, 31, 36, 33]


@pytest.mark.parametrize(
    "text", ["commit,ms\n9,1\n8,2\n6,3\n", "id,build,value\na,9,1\na,7,2\na,2,3\n", "n,ms\n2,1\n1,2\n0,3\n"]
)
def test_rows_that_are_numbered_backwards_are_refused_as_each_change_would_be_found_the_wrong_way(text: str) -> None:
    with pytest.raises(
        InputError, match=r"the rows go backwards: '(commit|build|n)' falls from . to . \(line 4\)"
    ) as caught:
        read_series(text, "x.csv")
    assert (caught.value.where, "Name that column pos" in caught.value.remedy) == ("x.csv, line 2", True)


@pytest.mark.parametrize("title", ["Unnamed: 0", "index", "build"])
def test_a_column_that_numbers_the_rows_is_no_series_and_is_named(title: str) -> None:
    said: list[str] = []
    found = read_series(f"{title},ms\n7,1\n8,2\n9,1\n", "x.csv", warn=said.append)
    assert ([each.id for each in found], said) == (
        ["ms"],
        [f"the column {title!r} numbers the rows, and is not a series"],
    )


def test_a_ramp_is_a_series_where_a_column_orders_the_rows_or_it_is_alone() -> None:
    assert _values("pos,ms\n1,7\n2,8\n3,9\n") == {"ms": [7, 8, 9]}
    assert _values("ms\n7\n8\n9\n") == {"ms": [7, 8, 9]}


@pytest.mark.parametrize("positions", [("1.8", "1.9", "1.10"), ("2.20", "2.9")])
def test_versions_are_no_positions_as_1_10_would_come_before_1_9(positions: tuple[str, ...]) -> None:
    with pytest.raises(InputError, match=r"look like versions, such as 1\.10 after 1\.9"):
        read_series("pos,ms\n" + "".join(f"{position},1\n" for position in positions), "x.csv")


@pytest.mark.parametrize("positions", [("1.0", "1.25", "2"), ("0.50", "0.75"), ("3", "10")])
def test_decimals_are_positions(positions: tuple[str, ...]) -> None:
    (series,) = read_series("pos,ms\n" + "".join(f"{position},1\n" for position in positions), "x.csv")
    assert series.positions == positions


_FRAME = "pos,parse,print\n1,2.5,7\n2,,8\n"


@pytest.mark.parametrize(
    "text",
    [
        '[{"pos":1,"parse":2.5,"print":7},{"pos":2,"parse":null,"print":8}]',
        '{"pos":1,"parse":2.5,"print":7}\n{"pos":2,"print":8}\n',
        '{"columns":["pos","parse","print"],"index":[0,1],"data":[[1,2.5,7],[2,null,8]]}',
        (
            '{"schema":{"fields":[],"primaryKey":["index"]},"data":[{"index":0,"pos":1,"parse":2.5,"print":7},'
            '{"index":1,"pos":2,"print":8}]}'
        ),
    ],
    ids=["records", "lines", "split", "table"],
)
def test_rows_of_json_are_read_like_the_same_rows_of_csv(text: str) -> None:
    found, wanted = read_series(text, "x.json"), read_series(_FRAME, "x.csv")
    assert [(each.id, each.positions) for each in found] == [(each.id, each.positions) for each in wanted]
    assert [repr(each.values) for each in found] == [repr(each.values) for each in wanted]


def test_a_list_of_numbers_in_json_is_one_series() -> None:
    assert _values("[3, 4.5, 1e2]") == {"": [3, 4.5, 100]}


def test_a_position_in_json_keeps_all_its_digits() -> None:
    (series,) = read_series('[{"pos":9007199254740993,"ms":1},{"pos":9007199254740992,"ms":2}]', "x.json")
    assert (series.positions, series.values.tolist()) == (("9007199254740992", "9007199254740993"), [2, 1])


@pytest.mark.parametrize(
    ("text", "where"),
    [
        ('{"ms":{"0":1,"1":2}}', "x.json"),
        ("[[1],[2]]", "x.json, element 0"),
        ('[{"ms":1},{"ms":[1,2]}]', "x.json, element 1, 'ms'"),
        ('{"columns":["a","b"],"data":[[1]]}', "x.json, data[0]"),
    ],
)
def test_json_without_rows_names_the_forms_that_are_read(text: str, where: str) -> None:
    with pytest.raises(InputError) as caught:
        read_series(text, "x.json")
    assert caught.value.where == where
    assert "to_json(orient='records')" in caught.value.remedy
    assert "to_csv(index=False)" in caught.value.remedy


def test_json_that_was_cut_short_is_refused_with_its_line() -> None:
    with pytest.raises(InputError, match="truncated JSON: the value that begins at line 2") as caught:
        read_series('[{"ms":1},\n{"ms":', "x.json")
    assert caught.value.where == "x.json"
