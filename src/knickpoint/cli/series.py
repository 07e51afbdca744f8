"""Read series from CSV text: one column of values, long rows of ``id,pos,value``, or one column a series."""

from __future__ import annotations

import csv
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

import numpy as np
from numpy.typing import NDArray

from knickpoint.model.errors import InputError

__all__ = ["NamedSeries", "is_number", "position_keys", "read_series"]

_VALUE: Final = "value"
_POSITION: Final = "pos"
_ID: Final = "id"
_WITHIN: Final = ("repository", "line", "unit")
"""Columns of an export that tell series of one id apart."""


@dataclass(frozen=True, slots=True)
class NamedSeries:
    """One series: ``values`` float64 with ``nan`` for missing, and the text of each row's position."""

    id: str
    positions: tuple[str, ...]
    values: NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class _Row:
    line: int
    fields: Sequence[str]


def _number(text: str, where: str) -> float:
    plain = text.strip()
    if not plain:
        return math.nan
    try:
        value = float(plain)
    except ValueError:
        raise InputError(
            f"{text!r} is not a number", where=where, remedy="Write a number, or leave the field empty for missing."
        ) from None
    if not math.isfinite(value):
        raise InputError(
            f"{text!r} is not a finite number",
            where=where,
            remedy="Write a number that fits 64-bit floats, or leave the field empty for missing.",
        )
    return value


def position_keys(positions: Sequence[str]) -> list[float]:
    """Return what orders ``positions``: all numbers, or all dates and times in ISO 8601.

    Raises:
        ValueError: they are neither, or not of one kind.
    """
    try:
        return [float(position) for position in positions]
    except ValueError:
        return [_seconds(position) for position in positions]


def _order(positions: Sequence[str], name: str, lines: Sequence[int]) -> list[int]:
    """Return the rows sorted stably by position: numbers, or dates and times in ISO 8601."""
    try:
        keys = position_keys(positions)
    except ValueError:
        odd = next(k for k, position in enumerate(positions) if not is_number(position))
        raise InputError(
            f"the position {positions[odd]!r} is neither a number nor a date, or not of one kind with the others",
            where=f"{name}, line {lines[odd]}",
            remedy="Number the commits in pos, or leave the column out to keep the order of the file.",
        ) from None
    for place, key in enumerate(keys):
        if math.isnan(key):
            raise InputError(
                "the position is not a number",
                where=f"{name}, line {lines[place]}",
                remedy="Number the commits in pos.",
            )
    return sorted(range(len(keys)), key=keys.__getitem__)


def _seconds(text: str) -> float:
    moment = datetime.fromisoformat(text)
    return (moment.replace(tzinfo=None) - datetime(1970, 1, 1)).total_seconds() - (  # noqa: DTZ001
        offset.total_seconds() if (offset := moment.utcoffset()) else 0.0
    )


def is_number(text: str) -> bool:
    """Say whether ``text`` is a number."""
    try:
        float(text)
    except ValueError:
        return False
    return True


def _rows(text: str, name: str) -> Iterator[_Row]:
    """Read the rows; an empty line counts in a table of one column, as a missing value, unless nothing follows it."""
    reader = csv.reader(text.splitlines(keepends=True), strict=True)
    empty: list[int] = []
    width = 0
    try:
        for fields in reader:
            if not fields:
                empty.append(reader.line_num)
                continue
            if width == 1:
                yield from (_Row(line, [""]) for line in empty)
            empty = []
            width = width or len(fields)
            yield _Row(reader.line_num, fields)
    except csv.Error as error:
        raise InputError(
            f"this is not CSV: {error}",
            where=f"{name}, line {reader.line_num}",
            remedy="Close every quote that is opened, and write a quote inside of quotes twice.",
        ) from None


def _check_width(rows: Sequence[_Row], width: int, name: str) -> None:
    for row in rows:
        if len(row.fields) != width:
            raise InputError(
                f"{len(row.fields)} fields where the header has {width}",
                where=f"{name}, line {row.line}",
                remedy="Give every row as many fields as the header.",
            )


def _long(header: Sequence[str], rows: Sequence[_Row], name: str) -> list[NamedSeries]:
    where_id = header.index(_ID) if _ID in header else None
    where_position = header.index(_POSITION) if _POSITION in header else None
    where_value = header.index(_VALUE)
    telling = [header.index(name) for name in _WITHIN if name in header and where_id is not None]
    groups: dict[tuple[str, ...], list[_Row]] = {}
    for row in rows:
        own = "" if where_id is None else row.fields[where_id]
        groups.setdefault((own, *(row.fields[column] for column in telling)), []).append(row)
    found = []
    for (id_, *_others), members in groups.items():
        positions = (
            [str(place) for place in range(len(members))]
            if where_position is None
            else [row.fields[where_position] for row in members]
        )
        values = [_number(row.fields[where_value], f"{name}, line {row.line}") for row in members]
        order = _order(positions, name, [row.line for row in members])
        found.append(
            NamedSeries(id_, tuple(positions[k] for k in order), np.array([values[k] for k in order], dtype=np.float64))
        )
    return found


def _wide(header: Sequence[str], rows: Sequence[_Row], name: str) -> list[NamedSeries]:
    where_position = header.index(_POSITION) if _POSITION in header else None
    positions = (
        [str(place) for place in range(len(rows))]
        if where_position is None
        else [row.fields[where_position] for row in rows]
    )
    order = _order(positions, name, [row.line for row in rows])
    ordered = tuple(positions[k] for k in order)
    found = []
    for column, title in enumerate(header):
        if column == where_position:
            continue
        values = [_number(rows[k].fields[column], f"{name}, line {rows[k].line}, column {title!r}") for k in order]
        found.append(NamedSeries(title, ordered, np.array(values, dtype=np.float64)))
    return found


def read_series(text: str, name: str) -> list[NamedSeries]:
    """Return the series in ``text``, in the order in which they first appear.

    The header decides: with a column ``value`` the rows are long (``id`` and ``pos`` are optional; repository,
    line and unit tell series of one id apart, as in an export; other columns are ignored); without it every column but ``pos`` is a series. One column of numbers needs no
    header. Rows are sorted stably by ``pos``. ``name`` is the file's, for messages.

    Raises:
        InputError: no rows, a ragged row, a value that is no finite number, a header that names a column twice.
    """
    rows = list(_rows(text.removeprefix("\ufeff"), name))
    if not rows:
        raise InputError("there are no rows", where=name, remedy="Give CSV with a header such as id,pos,value.")
    if len(rows[0].fields) == 1 and is_number(rows[0].fields[0]):
        _check_width(rows, 1, name)
        return _long([_VALUE], rows, name)
    header = [title.strip() for title in rows[0].fields]
    separator = next((mark for mark in ";\t|" if len(header) == 1 and mark in header[0]), None)
    if separator is not None:
        raise InputError(
            f"the columns are separated by {separator!r}",
            where=f"{name}, line {rows[0].line}",
            remedy="Separate them by commas, and write decimals with a point.",
        )
    repeated = next((title for title in header if header.count(title) > 1), None)
    if repeated is not None:
        raise InputError(
            f"the header names {repeated!r} twice",
            where=f"{name}, line 1",
            remedy="Give each column a name of its own.",
        )
    _check_width(rows[1:], len(header), name)
    if _VALUE in header:
        return _long(header, rows[1:], name) or [NamedSeries("", (), np.empty(0))]
    if header == [_POSITION] or any(is_number(title) for title in header):
        raise InputError(
            "the first line is no header",
            where=f"{name}, line 1",
            remedy="Begin with the names of the columns: id,pos,value, or pos and one name a series.",
        )
    return _wide(header, rows[1:], name)
