"""Read the series of a table: one column of values, long rows of ``id,pos,value``, or one column a series."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from knickpoint.formats.series.table import (
    POSITION,
    VALUE,
    Table,
    are_versions,
    check_numbers,
    check_times,
    is_moment,
    is_number,
    numbers_rows,
    read_table,
    seconds,
    shown,
)
from knickpoint.formats.toolbox.file_content import FileContent
from knickpoint.model.errors import InputError

_NAMES: Final = ("id", "benchmark", "benchmark_name", "name", "test", "test_name")
"""Columns that name series in long rows; the first one counts."""
_RUN: Final = "run"
_WITHIN: Final = ("repository", "line", "unit")
"""Columns of an export that distinguish series with the same id."""


@dataclass(frozen=True, slots=True)
class NamedSeries:
    """One series: ``values`` in float64 with ``nan`` for missing, and the position of each row as text.

    ``runs`` has the run of each row, and is empty where the file names none. Where rows are joined by position,
    ``samples`` has the runs of each, and of each run the samples.
    """

    id: str
    positions: tuple[str, ...]
    values: NDArray[np.float64]
    runs: tuple[str, ...] = ()
    samples: tuple[tuple[NDArray[np.float64], ...], ...] | None = None


def _number(text: str, where: str, otherwise: str) -> float:
    plain = text.strip()
    if not plain:
        return math.nan
    try:
        value = float(plain)
    except ValueError:
        raise InputError(
            f"{shown(text)} is not a number",
            where=where,
            remedy=f"Write a number with a point before its decimals, or leave {otherwise}.",
        ) from None
    if not math.isfinite(value):
        raise InputError(
            f"{shown(text)} is not a finite number",
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


def _numbers(table: Table, column: int, rows: Sequence[int], *, named: bool = False) -> NDArray[np.float64]:
    """Return the numbers of a column in these rows, ``nan`` for empty fields.

    With ``named``, errors name the column.
    """
    texts = [table.rows[row][column] for row in rows]
    try:
        found = np.array(list(map(float, texts)), dtype=np.float64)
    except ValueError:
        found = np.array([math.nan])
    if np.isfinite(found).all():
        return found
    which = f", column {shown(table.header[column])}" if named else ""
    otherwise = "the field empty for missing" + (
        ", or leave the column out if it is not a series (results of commits are for knick import)" if named else ""
    )
    return np.array(
        [_number(text, table.location(row) + which, otherwise) for text, row in zip(texts, rows, strict=True)]
    )


def _in_order(table: Table, rows: list[int], warn: Callable[[str], None]) -> tuple[list[int], tuple[str, ...]]:
    """Return ``rows`` sorted stably by position (numbers, or dates and times in ISO 8601), and their positions.

    Without a column of positions, commits are in the order in which the file first names them; without either, rows
    are.
    """
    if POSITION not in table.header:
        places = table.commits
        ends = (table.location(rows[0]), f"{table.place} {table.lines[rows[-1]]}") if rows else ("", "")
        chosen = [table.rows[row] for row in rows]
        check_numbers(table.header, chosen, *ends, wide=table.wide)
        if word := check_times(table.header, chosen, *ends):
            warn(word)
        rows = sorted(rows, key=places.__getitem__) if places else rows
        return rows, tuple(str(places[row] if places else number) for number, row in enumerate(rows))
    column = table.header.index(POSITION)
    positions = [table.rows[row][column] for row in rows]
    try:
        keys = position_keys(positions)
    except ValueError:
        odd = next(k for k, position in enumerate(positions) if not is_number(position))
        raise InputError(
            f"the position {shown(positions[odd])} is neither a number nor a date, or of another kind than the others",
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


def _long(table: Table, warn: Callable[[str], None]) -> list[NamedSeries]:
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
        values = _numbers(table, header.index(VALUE), rows)
        found.append(NamedSeries(names[0] if names else "", positions, values, runs))
    return found or [NamedSeries("", (), np.empty(0))]


def _wide(table: Table, warn: Callable[[str], None]) -> list[NamedSeries]:
    rows, positions = _in_order(table, list(range(len(table.rows))), warn)
    columns = [
        column
        for column, title in enumerate(table.header)
        if title != POSITION and column != table.column_of_commits and not is_moment(title)
    ]
    numbering = {
        column for column in columns if numbers_rows(table.header[column], [row[column] for row in table.rows])
    }
    if POSITION in table.header or len(numbering) == len(columns):
        numbering = set()  # what orders the rows is named, or there would be no series
    for column in sorted(numbering):
        warn(f"the column {shown(table.header[column])} numbers the rows, and is not a series")
    return [
        NamedSeries(table.header[column], positions, _numbers(table, column, rows, named=True))
        for column in columns
        if column not in numbering
    ]


def _ignore(_: str) -> None:
    """Take no warning."""


def read_series(file: FileContent, *, warn: Callable[[str], None] = _ignore) -> list[NamedSeries]:
    """Return the series in ``file`` in the order in which they first appear.

    The header decides: with a column ``value`` the rows are long (``id``, else ``benchmark`` or ``name``, names the
    series; repository, line and unit distinguish series with the same name, as in an export; ``pos`` orders the rows,
    and without it rows of one ``commit`` have one position; ``run`` says which rows of one position are of one run;
    other columns are ignored); without it every column but ``pos``, one that names the commits, those of dates, and
    those that number the rows is a series. One column of numbers needs no header. Rows are sorted stably by ``pos``.
    ``warn`` gets a word about each series whose rows are not in the order of a column of moments, such as ``date``,
    while nothing else orders them.

    Raises:
        FormatError: this is not a table, or a row has more or fewer fields than the header.
        InputError: the rows go backwards in time, there are no rows, a value is not a finite number, the header names a
            column twice or not at all, or the file is not text.
    """
    table = read_table(file)
    return _long(table, warn) if VALUE in table.header else _wide(table, warn)
