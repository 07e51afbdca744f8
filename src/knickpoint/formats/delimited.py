"""Read CSV and TSV: long (a measurement a row), wide (a run a row), or named (a benchmark a row, units in the header)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import partial
from typing import Final

from knickpoint.formats.companion_files import companion_of
from knickpoint.formats.criterion import RAW_HEADER
from knickpoint.formats.format import Parsed
from knickpoint.formats.locust import COLUMNS
from knickpoint.formats.redis_benchmark import CSV_HEADER
from knickpoint.formats.toolbox.file_content import FileContent
from knickpoint.formats.toolbox.named_rows import EXAMPLE, check_runs_told_apart, check_told_apart, has_named_rows
from knickpoint.formats.toolbox.numbers import NUMBER_AND_UNIT, numeral
from knickpoint.formats.toolbox.table_cells import header_cells, read_cells
from knickpoint.formats.toolbox.table_columns import read_table, roles
from knickpoint.model.errors import FormatError
from knickpoint.model.report import Problem, Severity

__all__ = ["fits", "read", "unread_table"]

_NAME: Final = "csv"
_GOOGLE_BENCHMARK: Final = frozenset({"name", "iterations", "real_time", "cpu_time", "time_unit"})
"""Its CSV has the unit in a column; its JSON is read."""
_INFLUX: Final = frozenset({"result", "table", "_value"})
"""Columns of InfluxDB, whose result is the name of a query."""
_EXCEL: Final = re.compile(r"\ufeff?sep=.\s*")
_GROUPED: Final = re.compile(r"[+-]?[1-9]\d{0,2}(?:\.\d{3})+", re.ASCII)
_DECIMAL_COMMA: Final = re.compile(r"[+-]?\d*,\d+(?:[eE][+-]?\d+)?", re.ASCII)
_BELOW_THOUSAND: Final = re.compile(r"[+-]?\d{1,3}", re.ASCII)
_DELIMITERS: Final = (",", "\t", ";", "|")


def fits(file: FileContent) -> bool:
    """Tell whether the first line is a header that has values and says of what."""
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
    delimiter = _delimiter(lines[first])
    header = header_cells(lines[first], delimiter)
    number = partial(numeral, decimal_comma=delimiter == ";")
    found = read_cells(lines, len(header), first=first + 1, delimiter=delimiter)
    # Tables that were written one behind the other have a header each.
    rows: Iterable[tuple[int, Sequence[str]]] = (
        (line, cells) for line, cells in found if [cell.strip() for cell in cells] != header
    )
    warnings: tuple[Problem, ...] = ()
    if delimiter == ";":
        rows = list(rows)
        warnings = _check_notation(header, rows)
    check = check_told_apart if has_named_rows(header) else check_runs_told_apart
    report = read_table(_NAME, header, ((f"line {line}", cells) for line, cells in rows), number=number, check=check)
    return report, (*warnings, *file.open_line_warning())


def _check_notation(header: Sequence[str], rows: Sequence[tuple[int, Sequence[str]]]) -> tuple[Problem, ...]:
    """Refuse a column of numbers in which a point parts some in threes, and the others say that it may part thousands.

    Others do that which have a decimal comma, in that column or another one, and whole numbers below a thousand, where no number
    has decimals of another length: 950 and 1.020 are what a spreadsheet of many countries makes of 950 and 1020.
    A column with nothing but one such number is a warning.
    """
    with_comma = next(
        (
            name
            for index, name in enumerate(header)
            if any(_DECIMAL_COMMA.fullmatch(row[index].strip()) for _, row in rows)
        ),
        "",
    )
    alone: list[Problem] = []
    for index, name in enumerate(header):
        cells = [(line, row[index].strip()) for line, row in rows if row[index].strip()]
        doubtful = next(((line, text) for line, text in cells if _GROUPED.fullmatch(text)), None)
        if doubtful is None:
            continue
        line, text = doubtful
        others = [text for _, text in cells if not _GROUPED.fullmatch(text)]
        comma = any(map(_DECIMAL_COMMA.fullmatch, others))
        whole = bool(others) and all(map(_BELOW_THOUSAND.fullmatch, others))
        elsewhere = not others and with_comma
        if comma or whole or elsewhere:
            why = "have a decimal comma" if comma or elsewhere else "are whole numbers below 1000"
            where = f"those in column {with_comma!r}" if elsewhere else "others there"
            raise FormatError(
                f"{text!r} in column {name!r} may be {text.replace('.', '')} or {text}: {where} {why}",
                where=f"line {line}",
                remedy="Write numbers without thousands separators, all with a comma or all with a point.",
            )
        if len(cells) == 1:
            alone.append(
                Problem(
                    f"{text!r} in column {name!r} is read as a number with decimals, not as {text.replace('.', '')}",
                    where=f"line {line}",
                    remedy="If the point parts thousands, write the number without it.",
                    severity=Severity.WARNING,
                )
            )
    return tuple(alone)


def unread_table(file: FileContent) -> str:
    """Return what to do about a table that no format fits, "" where the file is no table."""
    text = file.readable[:65536]
    names = _header(text) if text.lstrip()[:1] not in ("{", "[", "<", "") else []
    rows = [line for line in text.splitlines() if _has_cells(line)][1:]
    delimiter = _delimiter(",".join(names)) if not rows else _delimiter(rows[0])
    found = [header_cells(row, delimiter) for row in rows[:20]] if names else []
    with_unit = next((cell for row in found for cell in row if NUMBER_AND_UNIT.fullmatch(cell)), "")
    if with_unit:
        return (
            f"Its cells have numbers with units, such as {with_unit!r}. Write numbers of one unit and the unit in the header,"
            f" as in {EXAMPLE}, or in a column unit."
        )
    number = partial(numeral, decimal_comma=delimiter == ";")
    if not any(number(cell) is not None for row in found for cell in row):
        return ""
    listed = ", ".join(names)[:100]
    return (
        f"As a table it needs a column value, or a column name and columns that end with a unit, as in {EXAMPLE};"
        f" it has {listed}. Rename a column, or say that all columns of numbers are values, with --as csv."
    )


def _has_cells(line: str) -> bool:
    """Tell whether a line is neither empty, a comment, nor Excel's note about the delimiter."""
    return bool(line.strip()) and not line.startswith("#") and _EXCEL.fullmatch(line) is None


def _header(text: str) -> list[str]:
    """Return the names of the columns, none where the first line is no header."""
    header = next((line for line in text.splitlines() if _has_cells(line)), "")
    names = header_cells(header, _delimiter(header))
    return [] if len(names) < 2 or any(numeral(name) is not None for name in names) else names


def _is_of_a_tool(text: str, names: Sequence[str]) -> bool:
    """Tell whether the header is that of a tool whose columns mean something else than their names."""
    lower = {name.lower() for name in names}
    return text.startswith(CSV_HEADER) or any(lower >= columns for columns in (_GOOGLE_BENCHMARK, COLUMNS))


def _delimiter(header: str) -> str:
    return max(_DELIMITERS, key=header.count)
