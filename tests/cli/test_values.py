"""``knick traces``, ``knick query`` and the export with a column for each param."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

from .conftest import Knick

pytestmark = pytest.mark.usefixtures("measured")


@pytest.fixture
def measured(instance: Path, knick: Knick) -> None:
    """Measure parse at four commits, and print at the first three."""
    lines = ["commit,commit_time,author,subject,benchmark,value"]
    for number in range(4):
        for name in ("parse", "print")[: 1 if number == 3 else 2]:
            value = number + (10 if name == "print" else 1)
            lines.append(f"{number + 16:040x},2026-01-0{number + 1}T00:00:00Z,Ada,Change {number},{name},{value}")
    (instance / "results.csv").write_text("\n".join(lines) + "\n")
    assert knick("import", "results.csv", "--param", "pos=north").code == 0


def test_traces_come_with_their_count_and_newest_value(knick: Knick) -> None:
    rows = json.loads(knick("traces", "--format", "json").output)
    assert [
        (row["key"], row["values"], row["newest"], row["commit"]["hash"][-1], row["commit"]["time"]) for row in rows
    ] == [
        (",benchmark=parse,pos=north,", 4, 4.0, "3", "2026-01-04T00:00:00Z"),
        (",benchmark=print,pos=north,", 3, 12.0, "2", "2026-01-03T00:00:00Z"),
    ]


def test_several_terms_need_no_quotes(knick: Knick) -> None:
    rows = json.loads(knick("traces", "benchmark=print", "pos=north", "--format", "json").output)
    assert [row["key"] for row in rows] == [",benchmark=print,pos=north,"]


def test_traces_beyond_the_limit_are_counted(knick: Knick) -> None:
    ran = knick("traces", "--limit", "1")
    assert ran.errors == "1 more of 2 traces: raise --limit, or narrow the query.\n"
    assert "print" not in ran.output


@pytest.mark.parametrize("command", ["traces", "query", "explain"])
@pytest.mark.parametrize("text", ["benchmark=prase", "benchmrk=parse", "prase", "Prase"])
def test_a_mistyped_benchmark_is_answered_with_the_one_that_is_meant(knick: Knick, command: str, text: str) -> None:
    ran = knick(command, text)
    assert ran.code == 2
    assert ran.errors.endswith("Did you mean benchmark=parse?\n")


@pytest.mark.parametrize("text", ["benchmark=print,pos=north", "benchmark=print,pos=nrth,"])
def test_terms_between_commas_are_answered_with_the_terms_that_are_meant(knick: Knick, text: str) -> None:
    assert knick("traces", text).errors.endswith("Did you mean benchmark=print pos=north?\n")


def test_a_word_finds_the_traces_that_contain_it(knick: Knick) -> None:
    rows = json.loads(knick("traces", "PARS", "--format", "json").output)
    assert [row["key"] for row in rows] == [row["key"] for row in rows if "parse" in row["key"]] != []


def test_a_query_that_is_like_nothing_says_where_to_look(knick: Knick) -> None:
    assert knick("query", "benchmark=zzzz").errors.endswith("List the traces with knick traces.\n")


def test_a_formula_in_the_place_of_a_query_is_told_its_option(knick: Knick) -> None:
    ran = knick("query", 'norm(filter("benchmark=parse"))')
    assert ran.errors.endswith("This looks like a formula: knick query --formula takes it.\n")


def test_a_query_that_begins_with_a_minus_sign_is_told_its_place(knick: Knick) -> None:
    ran = knick("traces", "-parse")
    assert ran.errors.startswith("knick traces: there is no option -p. Put a query that begins with - after --.\n")
    rows = json.loads(knick("traces", "--format", "json", "--", "-parse").output)
    assert [row["key"] for row in rows if "parse" not in row["key"]] == [row["key"] for row in rows] != []


def test_a_query_has_the_columns_of_an_export_and_the_author(knick: Knick) -> None:
    rows = list(csv.DictReader(knick("query", "benchmark=print", "--format", "csv").output.splitlines()))
    assert [row["value"] for row in rows] == ["10.0", "11.0", "12.0"]
    assert {row["author"] for row in rows} == {"Ada"}
    assert rows[0]["commit_time"] == "2026-01-01T00:00:00Z"


def test_a_formula_is_calculated_over_stored_traces(knick: Knick) -> None:
    formula = 'ave(filter("pos=north"))'
    rows = json.loads(knick("query", "--formula", formula, "--newest", "2", "--format", "json").output)
    assert [(row["id"], row["commit"][-1], row["value"]) for row in rows] == [
        (f"@{formula}", "2", 7.5),
        (f"@{formula}", "3", 4.0),
    ]


@pytest.mark.parametrize("arguments", [[], ["benchmark=parse", "--formula", "1"], ["benchmark=parse", "--output", "x"]])
def test_a_query_that_cannot_be_meant_fails(knick: Knick, arguments: list[str]) -> None:
    ran = knick("query", *arguments)
    assert (ran.code, ran.output) == (2, "")


def test_text_has_the_newest_values_and_counts_the_others(knick: Knick) -> None:
    ran = knick("query", "benchmark=parse", "--newest", "1")
    assert len(ran.output.splitlines()) == 2
    assert ran.errors == "3 older values: --newest N shows more, --format csv all of them.\n"


def test_text_has_the_minus_sign_of_all_texts_and_data_have_that_of_programs(instance: Path, knick: Knick) -> None:
    (instance / "bias.csv").write_text(f"commit,benchmark,value\n{16:040x},bias,-3.25\n")
    assert knick("import", "bias.csv").code == 0
    for command in ("query", "traces"):
        text = knick(command, "benchmark=bias").output
        assert "−3.25" in text
        assert "-3.25" not in text
        assert "-3.25" in knick(command, "benchmark=bias", "--format", "csv").output


def test_an_export_can_have_a_column_for_each_param(knick: Knick) -> None:
    rows = list(csv.DictReader(knick("export", "--params").output.splitlines()))
    assert list(rows[0]) == [
        *("repository", "line", "benchmark", "param_pos", "unit", "better"),
        *("pos", "commit", "commit_time", "author", "value"),
    ]
    assert {(row["benchmark"], row["param_pos"], row["author"]) for row in rows} == {
        ("parse", "north", "Ada"),
        ("print", "north", "Ada"),
    }
    assert [row["pos"] for row in rows] == ["0", "1", "2", "3", "0", "1", "2"]


@pytest.mark.parametrize("arguments", [["export", "--params"], ["query", "benchmark=parse"]])
def test_parquet_has_the_same_columns_as_csv(knick: Knick, arguments: list[str], tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    path = tmp_path / "points.parquet"
    assert knick(*arguments, "--format", "parquet", "--output", path).code == 0
    rows = list(csv.DictReader(knick(*arguments, "--format", "csv").output.splitlines()))
    assert [{name: str(cell) for name, cell in row.items()} for row in parquet.read_table(path).to_pylist()] == rows


def test_an_export_of_nothing_fails_and_leaves_the_file_alone(knick: Knick, tmp_path: Path) -> None:
    place = tmp_path / "points.csv"
    place.write_text("kept")
    failed = knick("export", "--query", "benchmark=nothing", "--output", str(place))
    assert (failed.code, failed.output, place.read_text()) == (2, "", "kept")
    assert "query 'benchmark=nothing': no trace matches." in failed.errors
    assert knick("init", str(tmp_path / "empty")).code == 0
    assert "no results yet" in knick("export", "--instance", str(tmp_path / "empty")).errors
