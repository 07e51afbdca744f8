"""Reading takes steps in proportion to the file: four times the file is about four times the lines of code that run."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import pytest
from tests.formats.files import COMPANIONS, FILES, format_of
from tests.steps import MOST, TIMES, steps

from knickpoint.formats import read_report
from knickpoint.formats.toolbox.table_columns import read_table
from knickpoint.model.errors import FormatError
from knickpoint.model.report import Severity


def growth(make: Callable[[int], bytes], size: int, name: str = "") -> float:
    """Return how many times the steps of a file of ``size`` one takes that is four times as long."""
    small, large = make(size), make(TIMES * size)
    read_report(small, format=name)
    return steps(lambda: read_report(large, format=name)) / steps(lambda: read_report(small, format=name))


def row(*cells: str) -> str:
    return ",".join(cells) + "\n"


def wide(columns: int) -> bytes:
    names = [f"m{number}" for number in range(columns)]
    return (row("commit", "time", *names) + row("abcdef12", "2026-01-01", *["1.5"] * columns)).encode()


def named(columns: int) -> bytes:
    return (row("name", *[f"m{number}_ms" for number in range(columns)]) + row("a", *["1.5"] * columns)).encode()


def unused_params(columns: int) -> bytes:
    names = [f"param:p{number}" for number in range(columns)]
    return (
        row("commit", "time", "value", "name", *names) + row("abcdef12", "2026-01-01", "1", "a", *[""] * columns)
    ).encode()


def facts(columns: int) -> bytes:
    names = [f"env:p{number}" for number in range(columns)]
    return (row("commit", "time", "value", "name", *names) + row("abcdef12", "2026-01-01", "1", "a", *names)).encode()


def samples_of_one(rows: int) -> bytes:
    return (row("commit", "time", "name", "value") + row("abcdef12", "2026-01-01", "a", "1") * rows).encode()


def commits(rows: int) -> bytes:
    cells = (
        row(f"{number:08x}", f"2026-01-01T00:{number // 60:02}:{number % 60:02}Z", "a", "1") for number in range(rows)
    )
    return (row("commit", "commit_time", "name", "value") + "".join(cells)).encode()


def units(rows: int) -> bytes:
    cells = (row("abcdef12", "2026-01-01", "a", f"u{number}", "1") for number in range(rows))
    return (row("commit", "time", "name", "unit", "value") + "".join(cells)).encode()


def settings_of_go(lines: int) -> bytes:
    return ("".join(f"key-{number}: x\n" for number in range(lines)) + "BenchmarkA 1 5 ns/op\n").encode()


def settings_between_results_of_go(lines: int) -> bytes:
    return "".join(f"key-{number}: x\nBenchmarkA 1 5 ns/op\n" for number in range(lines)).encode()


@pytest.mark.parametrize(
    ("make", "size"),
    [
        (wide, 500),
        (named, 500),
        (unused_params, 500),
        (facts, 500),
        (samples_of_one, 500),
        (commits, 500),
        (units, 500),
        (settings_of_go, 200),
        (settings_between_results_of_go, 110),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_a_file_four_times_as_long_takes_about_four_times_the_steps(make: Callable[[int], bytes], size: int) -> None:
    assert growth(make, size) < MOST


class Compared(str):
    """A text that counts how often it is compared, also by code that is not Python."""

    __slots__ = ()
    times = 0

    def __eq__(self, other: object) -> bool:
        Compared.times += 1
        return str.__eq__(self, other)

    __hash__ = str.__hash__


def comparisons(columns: int) -> int:
    """Count the comparisons of names that a wide table of ``columns`` takes."""
    header = [Compared("commit"), *(Compared(f"m{number}") for number in range(columns))]
    Compared.times = 0
    read_table("csv", header, [("line 2", ["abcdef12", *["1.5"] * columns])])
    return Compared.times


def test_a_wide_table_compares_each_name_a_few_times() -> None:
    assert comparisons(1000) < 20 * 1000


def test_a_table_of_more_columns_than_a_spreadsheet_has_is_refused() -> None:
    with pytest.raises(FormatError, match="the table has 16,385 columns, more than 16,384") as caught:
        read_report(wide(16_383))
    assert "column value" in caught.value.remedy


def test_a_row_of_more_params_than_name_a_benchmark_is_refused_with_its_line() -> None:
    names = [f"k{number}" for number in range(101)]
    with pytest.raises(FormatError, match="the row has 101 params, more than 100") as caught:
        read_report((row("commit", "value", *names) + row("abcdef12", "1", *names)).encode())
    assert "line 2" in caught.value.where


def test_rows_that_share_few_members_are_refused_before_they_make_a_table() -> None:
    rows = [{"commit": "abcdef12", "value": 1, f"param:p{number}": "x"} for number in range(4000)]
    with pytest.raises(FormatError, match="the 4,000 rows have 4,002 different members"):
        read_report(json.dumps(rows).encode())


def test_output_of_a_program_that_looks_like_settings_of_go_is_left_out_with_a_warning() -> None:
    report, problems = read_report(settings_of_go(101))
    assert len(report.runs[0].environment) == 100
    (problem,) = problems
    assert (problem.severity, problem.where) == (Severity.WARNING, "line 101")


def test_a_few_short_lists_that_stand_for_very_many_params_are_refused() -> None:
    result = {"params": [["a", "b"]] * 40, "result": None}
    document = {"commit_hash": "abcdef12", "results": {"time_x": result}, "version": 1}
    with pytest.raises(FormatError, match="more than 100,000 combinations"):
        read_report(json.dumps(document).encode(), format="asv")


def grown_lines(text: str, size: int) -> Iterator[bytes]:
    """Yield ``text`` with each of its lines ``size`` times, as it is and with a different word in each."""
    lines = text.splitlines(keepends=True)
    for place, line in enumerate(lines):
        for word in ("", "x"):
            copies = (re.sub(r"[A-Za-z]{3,}", rf"\g<0>{word * number}", line, count=1) for number in range(size))
            yield "".join([*lines[:place], *copies, *lines[place + 1 :]]).encode()


def grown_json(document: Any, size: int) -> Iterator[bytes]:
    """Yield ``document`` with each of its lists and objects so long that it has ``size`` members."""
    for node in list(islice(containers(document), 60)):
        kept: Any = node.copy()
        if isinstance(node, list):
            node.extend(kept[number % len(kept)] for number in range(size))
            yield json.dumps(document).encode()
            node[:] = kept
        else:
            values = list(kept.values())
            node.update({f"more {number}": values[number % len(values)] for number in range(size)})
            yield json.dumps(document).encode()
            node.clear()
            node.update(kept)


def containers(node: Any) -> Iterator[Any]:
    """Yield the lists and objects of a document that are not empty, two of the elements of each list."""
    if isinstance(node, list | dict) and node:
        yield node
        for inner in node[:2] if isinstance(node, list) else node.values():
            yield from containers(inner)


def grown(path: Path, size: int) -> Iterator[bytes]:
    text = path.read_bytes().decode()
    try:
        document = json.loads(text)
    except ValueError:
        return grown_lines(text, size)
    return grown_json(document, size)


@pytest.mark.long
@pytest.mark.parametrize("path", [path for path in FILES if path.suffix != ".parquet"], ids=lambda path: path.name)
def test_every_list_object_and_line_of_every_format_takes_steps_in_proportion(path: Path) -> None:
    def read(data: bytes) -> int:
        return steps(lambda: read_report(data, name=path.name, format=format_of(path), companions=COMPANIONS))

    for place, (small, large) in enumerate(zip(grown(path, 150), grown(path, TIMES * 150), strict=True)):
        before, after = read(small), read(large)
        assert after < MOST * max(before, len(small) / 10), (place, before, after)
