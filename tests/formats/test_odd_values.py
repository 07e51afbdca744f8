"""Values that JSON, CSV and XML allow and that no calculation, calendar or database takes."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

import pytest
from tests.formats.files import COMPANIONS, FILES, format_of

from knickpoint.formats import FORMATS, read_mapped, read_report
from knickpoint.formats.criterion import RAW_HEADER
from knickpoint.formats.toolbox.file_content import FileContent
from knickpoint.formats.toolbox.json_node import Node
from knickpoint.formats.toolbox.numbers import in_utc, read_moment
from knickpoint.formats.toolbox.result_rows import Rows
from knickpoint.model.errors import FormatError
from knickpoint.model.params import encode_key
from knickpoint.model.report import Outcome, Report


def test_a_whole_number_too_large_for_a_float_is_no_number() -> None:
    assert not Node(10**400).is_number()


def test_a_whole_number_too_large_for_a_float_is_a_failure_with_its_place() -> None:
    document = {"benchmarks": [{"fullname": "a", "stats": {"data": [10**400]}}], "machine_info": {}}
    report, _ = read_report(json.dumps(document).encode())
    (result,) = report.runs[0].results
    assert result.outcome is Outcome.FAILED
    assert result.message.endswith("at benchmarks[0].stats.data[0]")


def test_more_digits_than_python_reads_are_refused() -> None:
    with pytest.raises(FormatError, match="too many digits"):
        read_report(b'[{"name": "a", "unit": "s", "value": ' + b"9" * 5000 + b"}]")


def test_a_carriage_return_within_a_row_is_refused_with_its_line() -> None:
    row = b"g,f\r,,,,1.5,ns,10"
    with pytest.raises(FormatError, match="line 2: incomplete row"):
        read_report(RAW_HEADER.encode() + b"\n" + row + b"\n")


def test_a_cell_longer_than_the_reader_takes_is_refused() -> None:
    row = b"g," + b"f" * 200_000 + b",,,,1.5,ns,10"
    with pytest.raises(FormatError, match="line 2: incomplete row"):
        read_report(RAW_HEADER.encode() + b"\n" + row + b"\n")


def test_facts_nested_without_end_are_refused() -> None:
    deep = b'{"a":' * 900 + b"1" + b"}" * 900
    with pytest.raises(FormatError, match="nested"):
        read_report(b'{"context": ' + deep + b', "benchmarks": []}', format="google-benchmark")


@pytest.mark.parametrize("depth", [900, 3000, 100_000])
@pytest.mark.parametrize("name", ["", "bencher", "asv", "nyrkio"])
def test_json_nested_without_end_is_refused(depth: int, name: str) -> None:
    with pytest.raises(FormatError):
        read_report(b"[" * depth + b"]" * depth, format=name)


def test_a_mapping_nested_without_end_is_refused() -> None:
    with pytest.raises(FormatError, match="not valid TOML"):
        read_mapped(b"{}", b"a = " + b"[" * 5000 + b"]" * 5000)


def test_a_number_in_a_mapping_with_too_many_digits_is_refused() -> None:
    with pytest.raises(FormatError, match="not valid TOML"):
        read_mapped(b"{}", b"a = " + b"9" * 5000)


def test_a_time_that_leaves_the_calendar_in_utc_is_no_time() -> None:
    assert in_utc(datetime.fromisoformat("0001-01-01T00:00:00+23:00")) is None


@pytest.mark.parametrize(
    "text",
    ["9" * 400, "1" * 5000, "0001-01-01T00:00:00+23:59", "\u00b2" * 9, "\ud800"],
    ids=["too large", "too long", "before the calendar", "superscripts", "half a character"],
)
def test_texts_that_tell_no_time_give_none(text: str) -> None:
    assert read_moment(text) is None


def test_the_last_second_that_is_told_is_read() -> None:
    assert read_moment(9_999_999_999.0) == datetime(2286, 11, 20, 17, 46, 39, tzinfo=UTC)


def test_more_units_than_a_table_holds_are_refused() -> None:
    rows = Rows()
    for number in range(65_536):
        rows.add({"benchmark": "a"}, (1.0,), f"unit{number}")
    with pytest.raises(FormatError, match="more than 65536 units"):
        rows.add({"benchmark": "a"}, (1.0,), "one more")


def test_a_unit_that_is_longer_than_any_unit_is_refused() -> None:
    with pytest.raises(FormatError, match="a unit has 201 characters, more than 200"):
        Rows().add({"benchmark": "a"}, (1.0,), "/" * 201)
    Rows().add({"benchmark": "a"}, (1.0,), "/" * 200)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"benchmark": "split"}, {"benchmark": "split\n"}),
        ({"benchmark": "split\t"}, {"benchmark": " split"}),
        ({"benchmark": "split", "at": "\t"}, {"benchmark": "split", "at": " "}),
        ({"benchmark": "split on a", "at": "1"}, {"at": "1", "benchmark": "split\ton a"}),
    ],
)
def test_benchmarks_that_only_white_space_tells_apart_are_refused(one: dict[str, str], other: dict[str, str]) -> None:
    rows = Rows()
    rows.add(one, (1.0,), "ms")
    with pytest.raises(FormatError, match="differ only in white space"):
        rows.add(other, (3.0,), "ms")


def test_benchmarks_that_only_white_space_tells_apart_are_refused_where_their_units_or_outcomes_differ() -> None:
    rows = Rows()
    rows.add({"benchmark": "split"}, (1.0,), "ms")
    with pytest.raises(FormatError, match="differ only in white space"):
        rows.add({"benchmark": "split\n"}, (1000.0,), "us")
    with pytest.raises(FormatError, match="differ only in white space"):
        rows.fail({"benchmark": "split\n"}, "out of memory")


@pytest.mark.parametrize("name", ["split", "split\ton a"])
def test_params_in_another_order_are_samples_of_one_benchmark(name: str) -> None:
    rows = Rows()
    rows.add({"benchmark": name, "at": "1"}, (1.0,), "ms")
    rows.add({"at": "1", "benchmark": name, "on": ""}, (3.0,), "ms")
    assert [result.samples for result in rows.table()] == [(1.0, 3.0)]


def test_runs_of_one_file_may_write_a_name_with_other_white_space() -> None:
    first = Rows()
    first.add({"benchmark": "split"}, (1.0,), "ms")
    second = Rows(first)
    second.add({"benchmark": "split "}, (3.0,), "ms")
    assert dict(first.table()[0].params) == dict(second.table()[0].params)


def test_a_number_of_the_summary_that_is_not_finite_is_left_out() -> None:
    rows = Rows()
    rows.add({"benchmark": "a"}, (1.0,), summary={"stddev": float("nan"), "rounds": 1.0})
    assert rows.table()[0].summary == {"rounds": 1.0}


def test_a_spread_too_large_for_a_float_is_kept_in_words() -> None:
    entry = {"name": "a", "unit": "ns", "value": 1, "range": "± 1e999"}
    report, _ = read_report(json.dumps([entry]).encode())
    assert [(dict(result.summary), result.message) for result in report.runs[0].results] == [({}, "± 1e999")]


def test_halves_of_characters_and_nul_in_facts_are_replaced() -> None:
    document = {
        "machine_info": {"node": "host\udcff", "cpu": "a\x00b"},
        "benchmarks": [{"fullname": "a", "stats": {"data": [1.0]}}],
    }
    report, _ = read_report(json.dumps(document).encode())
    facts = report.runs[0].environment
    assert (facts["node"], facts["cpu"]) == ("host\ufffd", "a\ufffdb")


def test_a_name_with_half_a_character_is_refused() -> None:
    document = [{"name": "a\ud800", "unit": "ns", "value": 1}]
    with pytest.raises(FormatError, match="lone surrogate"):
        read_report(json.dumps(document).encode())


@pytest.mark.parametrize(
    "data",
    [
        b"<!--a-->" * 4000 + b"x",
        b"a" + b" " * 100_000 + b" time: x\n",
        b"test a" + b" " * 100_000 + b"bench: 1\n",
        b"Benchmark" + b" " * 100_000 + b"1\nBenchmarkA 1 1 ns/op\n",
        json.dumps({"machine_info": {}, "datetime": "a" + " " * 100_000 + "b", "benchmarks": []}).encode(),
        json.dumps([{"name": "a", "unit": "(" * 100_000, "value": "1", "range": "1" + " " * 100_000 + "\n"}]).encode(),
    ],
    ids=["comments", "time", "bench", "go", "moment", "unit"],
)
def test_long_lines_made_to_keep_patterns_busy_are_done_with_at_once(data: bytes) -> None:
    for name in ("", *(known.name for known in FORMATS)):
        with suppress(FormatError):
            read_report(data, format=name)


def test_noise_of_a_terminal_before_a_line_of_go_does_not_hide_it() -> None:
    report, _ = read_report(b"\x00\x00\x1b[1mBenchmarkX-8 \t 100\t 12.5 ns/op\nPASS\n")
    assert [result.samples for result in report.runs[0].results] == [(12.5,)]


_ODD = (None, float("nan"), float("-inf"), "n/a", "", "NaN", True)
_JSON = [path for path in FILES if FileContent(path.read_bytes()).document is not None and format_of(path) != "go"]
_MOST_PLACES = 60


def _numbers(node: object, path: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    """Yield the paths of all numbers in a document."""
    if isinstance(node, dict):
        for name, inner in node.items():
            yield from _numbers(inner, (*path, name))
    elif isinstance(node, list):
        for index, inner in enumerate(node):
            yield from _numbers(inner, (*path, index))
    elif isinstance(node, int | float) and not isinstance(node, bool):
        yield path


def _replaced(document: object, path: tuple[str | int, ...], value: object) -> object:
    """Return a copy of ``document`` with ``value`` at ``path``."""
    if not path:
        return value
    if isinstance(document, dict):
        return {
            name: _replaced(inner, path[1:], value) if name == path[0] else inner for name, inner in document.items()
        }
    assert isinstance(document, list)
    return [_replaced(inner, path[1:], value) if index == path[0] else inner for index, inner in enumerate(document)]


def _measured(report: Report) -> dict[tuple[str, str, str], tuple[float, ...]]:
    return {
        (run.revision, encode_key(result.params), result.unit): result.samples
        for run in report.runs
        for result in run.results
        if result.outcome is Outcome.MEASURED
    }


@pytest.mark.parametrize("path", _JSON, ids=lambda path: path.name)
def test_one_odd_value_in_a_document_takes_the_results_that_it_belongs_to_and_changes_no_other(path: Path) -> None:
    document = json.loads(path.read_bytes())
    whole = _measured(read_report(path.read_bytes(), name=path.name, companions=COMPANIONS)[0])
    places = [place for place in _numbers(document) if place[-1] != "version"]
    for count, place in enumerate(places[:: max(1, len(places) // _MOST_PLACES)]):
        data = json.dumps(_replaced(document, place, _ODD[count % len(_ODD)])).encode()
        report, _ = read_report(data, name=path.name, format=format_of(path), companions=COMPANIONS)
        found = _measured(report)
        changed = {key for key in whole.keys() & found.keys() if not set(found[key]) <= set(whole[key])}
        assert not changed, f"{place} changed {changed}"


def _entry(value: object, number: int) -> dict[str, object]:
    bench = [{"name": "a", "unit": "ns", "value": value}, {"name": "b", "unit": "ns", "value": number}]
    return {"commit": {"id": f"c{number}"}, "date": 1786961600000 + number, "tool": "cargo", "benches": bench}


@pytest.mark.parametrize("value", _ODD)
def test_one_odd_value_in_a_history_is_a_failure_at_its_commit_and_the_rest_comes_in(value: object) -> None:
    entries = [_entry(value if number == 3 else number, number) for number in range(8)]
    report, _ = read_report(json.dumps({"lastUpdate": 1, "entries": {"S": entries}}).encode())
    failed = [(run.revision, result) for run in report.runs for result in run.results if not result.samples]
    ((revision, result),) = failed
    assert (revision, result.params["benchmark"], result.outcome) == ("c3", "a", Outcome.FAILED)
    assert result.message.endswith(
        "at entries.S[3].benches[0]" if value is None else "at entries.S[3].benches[0].value"
    )
    assert sum(len(run.results) for run in report.runs) == 16


@pytest.mark.parametrize("value", [[], {}, [1.0], {"value": 1}])
def test_a_list_or_an_object_in_place_of_a_number_refuses_the_file_with_the_place(value: object) -> None:
    entries = [_entry(value if number == 3 else number, number) for number in range(8)]
    with pytest.raises(FormatError, match=r"entries.S\[3\].benches\[0\].value"):
        read_report(json.dumps({"lastUpdate": 1, "entries": {"S": entries}}).encode())


def test_an_entry_without_a_date_takes_that_of_its_commit() -> None:
    entry = {**_entry(1, 1), "date": None, "commit": {"id": "c", "timestamp": "2026-08-20T10:11:12Z"}}
    report, _ = read_report(json.dumps({"lastUpdate": 1, "entries": {"S": [entry]}}).encode())
    assert report.runs[0].entry == "S/c/1787220672000"
    assert report.runs[0].time is None


def test_a_median_that_is_null_is_a_failure_and_not_the_mean() -> None:
    metric = {"type": "trend", "contains": "time", "values": {"med": None, "avg": 2.0}}
    report, _ = read_report(json.dumps({"metrics": {"iteration_duration": metric}}).encode())
    assert [(result.params.get("stat", ""), result.samples) for result in report.runs[0].results] == [
        ("", ()),
        ("mean", (2.0,)),
    ]
