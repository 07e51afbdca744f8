"""Read series from CSV text: one column of values, long rows of ``id,pos,value``, or one column a series."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np
from numpy.typing import NDArray

from knickpoint.cli.commands.detect.json_rows import is_json, read_rows
from knickpoint.cli.commands.detect.numbered_rows import (
    COMMITS,
    are_versions,
    check_numbers,
    column_of_commits,
    numbers_rows,
)
from knickpoint.cli.commands.detect.time_columns import check_times, is_moment, seconds
from knickpoint.formats.delimited import delimiter_of, habit_of
from knickpoint.formats.toolbox.file_content import FileContent
from knickpoint.formats.toolbox.number_notation import Habit, NumberCell, number_reader
from knickpoint.model.errors import InputError
from knickpoint.model.spreadsheet import unguarded

__all__ = ["NamedSeries", "is_number", "position_keys", "read_series"]

_VALUE: Final = "value"
_POSITION: Final = "pos"
_NAMES: Final = ("id", "benchmark", "benchmark_name", "name", "test", "test_name")
"""Columns that name series in long rows; the first one counts."""
_RUN: Final = "run"
_WITHIN: Final = ("repository", "line", "unit")
"""Columns of an export that distinguish series with the same id."""

_LONGEST: Final = 40
"""Characters of a field that a message quotes."""


@dataclass(frozen=True, slots=True)
class NamedSeries:
    """One series: ``values`` in float64 with ``nan`` for missing, and the position of each row as text.

    ``runs`` has the run of each row, and is empty where the file names none. Where rows are joined by position, ``samples``
    has the runs of each, and of each run the samples.
    """

    id: str
    positions: tuple[str, ...]
    values: NDArray[np.float64]
    runs: tuple[str, ...] = ()
    samples: tuple[tuple[NDArray[np.float64], ...], ...] | None = None


@dataclass(frozen=True)
class _Table:
    """The header of a file and its line number, the rows and the line number at which each ends, and the file name.

    ``place`` is the word before such a number: lines of CSV, elements of JSON.
    """

    header: list[str]
    line: int
    rows: list[list[str]]
    lines: list[int]
    name: str
    place: str = "line"

    @property
    def wide(self) -> bool:
        """Whether each column is a series."""
        return _VALUE not in self.header

    @cached_property
    def column_of_commits(self) -> int | None:
        """The column that names the commit of each row, None without one."""
        return column_of_commits(self.header, self.rows, wide=self.wide)

    @cached_property
    def commits(self) -> list[int]:
        """The commit of each row, numbered as they first come; a row without one is by itself. Empty without such a column."""
        column = self.column_of_commits
        if column is None:
            return []
        numbers: dict[str | int, int] = {}
        return [numbers.setdefault(fields[column].strip() or row, len(numbers)) for row, fields in enumerate(self.rows)]

    def location(self, row: int) -> str:
        """Return the file and line of a row, for messages."""
        return f"{self.name}, {self.place} {self.lines[row]}"


def _shown(text: str) -> str:
    """Quote ``text`` for a message, shortened where it is very long."""
    return repr(text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…")


def _number(text: str, where: str, otherwise: str) -> float:
    plain = text.strip()
    if not plain:
        return math.nan
    try:
        value = float(plain)
    except ValueError:
        raise InputError(
            f"{_shown(text)} is not a number",
            where=where,
            remedy=f"Write a number with a point before its decimals, or leave {otherwise}.",
        ) from None
    if not math.isfinite(value):
        raise InputError(
            f"{_shown(text)} is not a finite number",
            where=where,
            remedy=f"Write a number that fits 64-bit floats, or leave {otherwise}.",
        )
    return value


def position_keys(positions: Sequence[str]) -> list[float]:
    """Return sort keys of ``positions``: all are numbers, or all are dates and times in ISO 8601. Integers stay exact.

    Raises:
        ValueError: they are neither, or a mixture.
    """
    for number in (int, float):
        try:
            return [number(position) for position in positions]
        except ValueError:
            continue
    return [seconds(position) for position in positions]


def is_number(text: str) -> bool:
    """Return whether ``text`` is a number."""
    try:
        float(text)
    except ValueError:
        return False
    return True


def _rows(text: str, name: str, delimiter: str) -> tuple[list[list[str]], list[int]]:
    """Return all rows, and the line at which each ends; an empty line is a row without fields."""
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    rows: list[list[str]] = []
    lines: list[int] = []
    try:
        for fields in reader:
            rows.append([unguarded(field) for field in fields])
            lines.append(reader.line_num)
    except csv.Error as error:
        raise InputError(
            f"this is not CSV: {error}",
            where=f"{name}, line {reader.line_num}",
            remedy="Close every quote that is opened, and double each quote within quotes.",
        ) from None
    return rows, lines


def _titles(fields: Sequence[str]) -> list[str]:
    return [title.strip() for title in fields]


def _table(file: FileContent) -> _Table:
    """Return the table of a file.

    In a table of one column, an empty line is a missing value, unless no value follows. One column that begins with a
    number has no header, so that empty lines before it are missing values as well.
    """
    text, name = file.text, file.name
    if is_json(text):
        header, json_rows = read_rows(text, name)
        return _Table(_titles(header), 0, json_rows, list(range(len(json_rows))), name, "element")
    delimiter = delimiter_of(text.lstrip().partition("\n")[0])
    rows, lines = _rows(text, name, delimiter)
    filled = [row for row, fields in enumerate(rows) if fields]
    if not filled:
        raise InputError("there are no rows", where=name, remedy="Give CSV with a header such as id,pos,value.")
    first, last = filled[0], filled[-1]
    if len(rows[first]) > 1:
        rest = filled[1:]
        table = _Table(
            _titles(rows[first]), lines[first], [rows[row] for row in rest], [lines[row] for row in rest], name
        )
        if delimiter != ",":
            _read_notation(table, habit_of(file, delimiter))
        return table
    has_header = not is_number(rows[first][0])
    begin = first + 1 if has_header else 0
    column = [fields or [""] for fields in rows[begin : last + 1]]
    header = _titles(rows[first]) if has_header else [_VALUE]
    return _Table(header, lines[first], column, lines[begin : last + 1], name)


def _read_notation(table: _Table, habit: Habit) -> None:
    """Write the values of a table with a decimal point. Raises ``FormatError`` where their notation is unclear."""
    columns = [
        column
        for column, title in enumerate(table.header)
        if (title not in {_POSITION, *COMMITS} and not is_moment(title) if table.wide else title == _VALUE)
    ]
    fields = [
        (cells, column, table.location(row))
        for row, cells in enumerate(table.rows)
        for column in columns
        if column < len(cells) and cells[column].strip()
    ]
    number, _ = number_reader(
        [NumberCell(cells[column], table.header[column], where) for cells, column, where in fields], habit
    )
    for cells, column, _ in fields:
        value = number(cells[column])
        if value is not None and not (is_number(cells[column]) and float(cells[column]) == value):
            cells[column] = repr(value)


def _check_header(table: _Table) -> None:
    header, where = table.header, f"{table.name}, line {table.line}" if table.line else table.name
    repeated = next((title for title in header if title and header.count(title) > 1), None)
    if repeated is not None:
        raise InputError(
            f"the header names {_shown(repeated)} twice", where=where, remedy="Give each column a name of its own."
        )
    if _VALUE in header:
        return
    if header == [_POSITION] or any(is_number(title) for title in header):
        raise InputError(
            "the first line is not a header",
            where=where,
            remedy="Begin with the names of the columns: id,pos,value, or pos and one name a series; "
            "write decimals with a point.",
        )
    if all(map(is_moment, header)):
        raise InputError(
            f"the column {_shown(header[0])} says when, and no column has values",
            where=where,
            remedy="Add a column for each series.",
        )
    if "" in header:
        raise InputError(
            f"column {header.index('') + 1} has no name",
            where=where,
            remedy="Name it pos if it orders the rows, name the series that it holds, or leave it out.",
        )


def _check_width(table: _Table) -> None:
    width = len(table.header)
    for row, fields in enumerate(table.rows):
        if len(fields) != width:
            raise InputError(
                f"{len(fields)} fields where the header has {width}",
                where=table.location(row),
                remedy="Give every row as many fields as the header, and write decimals with a point.",
            )


def _numbers(table: _Table, column: int, rows: Sequence[int], *, named: bool = False) -> NDArray[np.float64]:
    """Return the numbers of a column in these rows, ``nan`` for empty fields; with ``named``, errors name the column."""
    texts = [table.rows[row][column] for row in rows]
    try:
        found = np.array(list(map(float, texts)), dtype=np.float64)
    except ValueError:
        found = np.array([math.nan])
    if np.isfinite(found).all():
        return found
    which = f", column {_shown(table.header[column])}" if named else ""
    otherwise = "the field empty for missing" + (
        ", or leave the column out if it is not a series (results of commits are for knick import)" if named else ""
    )
    return np.array(
        [_number(text, table.location(row) + which, otherwise) for text, row in zip(texts, rows, strict=True)]
    )


def _in_order(table: _Table, rows: list[int], warn: Callable[[str], None]) -> tuple[list[int], tuple[str, ...]]:
    """Return ``rows`` sorted stably by position (numbers, or dates and times in ISO 8601), and their positions.

    Without a column of positions, commits are in the order in which the file first names them; without either, rows are.
    """
    if _POSITION not in table.header:
        places = table.commits
        ends = (table.location(rows[0]), f"{table.place} {table.lines[rows[-1]]}") if rows else ("", "")
        chosen = [table.rows[row] for row in rows]
        check_numbers(table.header, chosen, *ends, wide=table.wide)
        if word := check_times(table.header, chosen, *ends):
            warn(word)
        rows = sorted(rows, key=places.__getitem__) if places else rows
        return rows, tuple(str(places[row] if places else number) for number, row in enumerate(rows))
    column = table.header.index(_POSITION)
    positions = [table.rows[row][column] for row in rows]
    try:
        keys = position_keys(positions)
    except ValueError:
        odd = next(k for k, position in enumerate(positions) if not is_number(position))
        raise InputError(
            f"the position {_shown(positions[odd])} is neither a number nor a date, or of another kind than the others",
            where=table.location(rows[odd]),
            remedy="Number the commits in pos, or leave the column out to keep the order of the file.",
        ) from None
    if are_versions(positions):
        raise InputError(
            "the positions look like versions, such as 1.10 after 1.9, and would be sorted as decimals",
            where=table.location(rows[0]),
            remedy="Number the commits in pos, or leave the column out to keep the order of the file.",
        )
    for row, key in zip(rows, keys, strict=True):
        if key != key:  # noqa: PLR0124 - only nan is not itself; whole numbers may be larger than floats
            raise InputError(
                "the position is not a number", where=table.location(row), remedy="Number the commits in pos."
            )
    order = sorted(range(len(keys)), key=keys.__getitem__)
    return [rows[k] for k in order], tuple(positions[k] for k in order)


def _long(table: _Table, warn: Callable[[str], None]) -> list[NamedSeries]:
    header = table.header
    naming = next((name for name in _NAMES if name in header), None)
    key_columns = [header.index(name) for name in (naming, *_WITHIN) if name in header] if naming else []
    groups: dict[tuple[str, ...], list[int]] = {}
    for row, fields in enumerate(table.rows):
        groups.setdefault(tuple([fields[column] for column in key_columns]), []).append(row)
    found = []
    for names, members in groups.items():
        rows, positions = _in_order(table, members, warn)
        runs = tuple(table.rows[row][header.index(_RUN)] for row in rows) if _RUN in header else ()
        values = _numbers(table, header.index(_VALUE), rows)
        found.append(NamedSeries(names[0] if names else "", positions, values, runs))
    return found or [NamedSeries("", (), np.empty(0))]


def _wide(table: _Table, warn: Callable[[str], None]) -> list[NamedSeries]:
    rows, positions = _in_order(table, list(range(len(table.rows))), warn)
    columns = [
        column
        for column, title in enumerate(table.header)
        if title != _POSITION and column != table.column_of_commits and not is_moment(title)
    ]
    numbering = {
        column for column in columns if numbers_rows(table.header[column], [row[column] for row in table.rows])
    }
    if _POSITION in table.header or len(numbering) == len(columns):
        numbering = set()  # what orders the rows is named, or there would be no series
    for column in sorted(numbering):
        warn(f"the column {_shown(table.header[column])} numbers the rows, and is taken for no series")
    return [
        NamedSeries(table.header[column], positions, _numbers(table, column, rows, named=True))
        for column in columns
        if column not in numbering
    ]


def _ignore(_: str) -> None:
    """Take no warning."""


def read_series(file: FileContent, *, warn: Callable[[str], None] = _ignore) -> list[NamedSeries]:
    """Return the series in ``file`` in the order in which they first appear.

    It is CSV, or rows of JSON (:mod:`knickpoint.cli.commands.detect.json_rows`).

    The header decides: with a column ``value`` the rows are long (``id``, else ``benchmark`` or ``name``, names the series;
    repository, line and unit distinguish series with the same name, as in an export; ``pos`` orders the rows, and without
    it rows of one ``commit`` have one position; ``run`` says which rows of one position are of one run; other columns are
    ignored); without it every column but ``pos``, one that names the commits, those of dates, and those that number the rows is a series. One
    column of numbers needs no header. Rows are sorted stably by ``pos``.
    ``warn`` gets a word about each series whose rows are not in the order of a
    column of moments, such as ``date``, while nothing else orders them.

    Raises:
        InputError: the rows go backwards in time, there are no rows, a row has more or fewer fields, a value is not a finite number, the header names a
            column twice or not at all, or the file is not text.
    """
    if "\0" in file.text:
        raise InputError("this is not text", where=file.name, remedy="Give CSV in UTF-8.")
    table = _table(file)
    _check_header(table)
    _check_width(table)
    return _long(table, warn) if _VALUE in table.header else _wide(table, warn)
