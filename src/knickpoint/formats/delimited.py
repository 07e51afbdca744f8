"""Read CSV and TSV: long (a measurement per row), wide (a run per row), or named (a benchmark per row)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from knickpoint.formats.criterion import RAW_HEADER
from knickpoint.formats.format import Parsed, companion_of
from knickpoint.formats.locust import COLUMNS
from knickpoint.formats.redis_benchmark import CSV_HEADER
from knickpoint.formats.toolbox.file_content import FileContent
from knickpoint.formats.toolbox.named_rows import EXAMPLE, check_told_apart, has_named_rows
from knickpoint.formats.toolbox.numbers import NUMBER_AND_UNIT, Habit, numeral
from knickpoint.formats.toolbox.table_cells import header_cells, read_cells
from knickpoint.formats.toolbox.table_columns import read_table, roles
from knickpoint.model.errors import FormatError

_NAME: Final = "csv"
_GOOGLE_BENCHMARK: Final = frozenset({"name", "iterations", "real_time", "cpu_time", "time_unit"})
"""Its CSV has the unit in a column; its JSON is read."""
_INFLUX: Final = frozenset({"result", "table", "_value"})
"""Columns of InfluxDB, whose result is the name of a query."""
_EXCEL: Final = re.compile(r"\ufeff?sep=.\s*")
_DELIMITERS: Final = (",", "\t", ";", "|")


def fits(file: FileContent) -> bool:
    """Return True if the first line is a header that has values and says of what."""
    if companion_of(file):
        return False
    text = file.readable[:65536]
    if text.lstrip()[:1] in ("{", "[", "<", "") or text.startswith(RAW_HEADER):
        return False
    names = _header(text)
    if not names or {*names} >= _INFLUX:
        return False
    found = roles(names)
    if has_named_rows(names):
        return not _is_of_a_tool(text, names)
    named = {"commit", "time", "benchmark", "commit_time"} & found.keys()
    if "value" in found or "samples" in found:
        return bool(named) or len(names) > len(found)
    return bool({"commit", "time", "commit_time"} & found.keys()) and len(names) > len(found)


def read(file: FileContent) -> Parsed:
    """Read the runs that the rows make; lines that begin with ``#`` are comments."""
    lines = file.lines
    first = next((index for index, line in enumerate(lines) if _has_cells(line)), None)
    if first is None:
        raise FormatError("the table has no header", remedy="Begin with a line that names the columns.")
    delimiter = delimiter_of(lines[first])
    header = header_cells(lines[first], delimiter)
    found = read_cells(lines, len(header), first=first + 1, delimiter=delimiter)
    # Tables that were written one behind the other have a header each.
    rows = ((f"line {line}", cells) for line, cells in found if [cell.strip() for cell in cells] != header)
    report, warnings = read_table(_NAME, header, rows, habit=habit_of(file, delimiter), check=check_told_apart)
    return report, (*warnings, *file.open_line_warning())


def habit_of(file: FileContent, delimiter: str) -> Habit:
    """Return the habit of numbers that the delimiter implies: with ``;`` the comma begins decimals.

    Spreadsheets write UTF-16 and tabs in every country.
    """
    if delimiter == ";":
        return Habit.COMMA
    return Habit.POINT if delimiter == "," and not file.is_utf16 else Habit.EITHER


def unread_table(file: FileContent) -> str:
    """Return the remedy for a table that no format fits, "" if the file is not a table."""
    text = file.readable[:65536]
    names = _header(text) if text.lstrip()[:1] not in ("{", "[", "<", "") else []
    rows = [line for line in text.splitlines() if _has_cells(line)][1:]
    delimiter = delimiter_of(",".join(names)) if not rows else delimiter_of(rows[0])
    found = [header_cells(row, delimiter) for row in rows[:20]] if names else []
    with_unit = next((cell for row in found for cell in row if NUMBER_AND_UNIT.fullmatch(cell)), "")
    if with_unit:
        return (
            f"Its cells have numbers with units, such as {with_unit!r}. Write numbers of one unit and the unit in the "
            f"header, as in {EXAMPLE}, or in a column unit."
        )
    if not any(numeral(cell, decimal_comma=delimiter == ";") is not None for row in found for cell in row):
        return ""
    listed = ", ".join(names)[:100]
    return (
        f"As a table it needs a column value, or a column name and columns that end with a unit, as in {EXAMPLE};"
        f" it has {listed}. Rename a column; or call those that were measured metric:NAME and those that name a "
        "benchmark param:NAME, and import it with --as csv."
    )


def _has_cells(line: str) -> bool:
    """Return True if a line is neither empty, a comment, nor Excel's note about the delimiter."""
    return bool(line.strip()) and not line.startswith("#") and _EXCEL.fullmatch(line) is None


def _header(text: str) -> list[str]:
    """Return the names of the columns, none where the first line is not a header."""
    header = next((line for line in text.splitlines() if _has_cells(line)), "")
    names = header_cells(header, delimiter_of(header))
    return [] if len(names) < 2 or any(numeral(name) is not None for name in names) else names


def _is_of_a_tool(text: str, names: Sequence[str]) -> bool:
    """Return True if the header is that of a tool whose columns mean something else than their names."""
    lower = {name.lower() for name in names}
    return text.startswith(CSV_HEADER) or any(lower >= columns for columns in (_GOOGLE_BENCHMARK, COLUMNS))


def delimiter_of(header: str) -> str:
    """Return the separator of the names in a line."""
    return max(_DELIMITERS, key=header.count)
