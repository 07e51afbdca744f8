"""Values that JSON, CSV and XML allow and that no calculation, calendar or database takes."""

from __future__ import annotations

import json
from contextlib import suppress
from datetime import UTC, datetime

import pytest

from knickpoint.formats import FORMATS, read_mapped, read_report
from knickpoint.formats.criterion import RAW_HEADER
from knickpoint.formats.moment import in_utc, read_moment
from knickpoint.formats.node import Node
from knickpoint.formats.rows import Rows
from knickpoint.model.errors import FormatError


def test_a_whole_number_too_large_for_a_float_is_no_number() -> None:
    assert not Node(10**400).is_number()


def test_a_whole_number_too_large_for_a_float_is_refused_with_its_place() -> None:
    document = {"benchmarks": [{"fullname": "a", "stats": {"data": [10**400]}}], "machine_info": {}}
    with pytest.raises(FormatError, match=r"benchmarks\[0\]\.stats\.data\[0\]"):
        read_report(json.dumps(document).encode())


def test_more_digits_than_python_reads_are_refused() -> None:
    with pytest.raises(FormatError, match="too many digits"):
        read_report(b'[{"name": "a", "unit": "s", "value": ' + b"9" * 5000 + b"}]")


def test_a_carriage_return_within_a_row_is_refused_with_its_line() -> None:
    row = b"g,f\r,,,,1.5,ns,10"
    with pytest.raises(FormatError, match="line 2: the row is not whole"):
        read_report(RAW_HEADER.encode() + b"\n" + row + b"\n")


def test_a_cell_longer_than_the_reader_takes_is_refused() -> None:
    row = b"g," + b"f" * 200_000 + b",,,,1.5,ns,10"
    with pytest.raises(FormatError, match="line 2: the row is not whole"):
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


def test_a_number_of_the_summary_that_is_not_finite_is_refused() -> None:
    with pytest.raises(FormatError, match="not a finite number"):
        Rows().add({"benchmark": "a"}, (1.0,), summary={"stddev": float("inf")})


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


@pytest.mark.parametrize("name", ["", *(known.name for known in FORMATS)])
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
def test_long_lines_made_to_keep_patterns_busy_are_done_with_at_once(data: bytes, name: str) -> None:
    with suppress(FormatError):
        read_report(data, format=name)


def test_noise_of_a_terminal_before_a_line_of_go_does_not_hide_it() -> None:
    report, _ = read_report(b"\x00\x00\x1b[1mBenchmarkX-8 \t 100\t 12.5 ns/op\nPASS\n")
    assert [result.samples for result in report.runs[0].results] == [(12.5,)]
