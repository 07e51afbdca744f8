"""Read the points that ``knick export`` wrote, as CSV, JSON or Parquet, back into runs.

An export has a point's value, not the runs and samples that it was made of; a backup has everything. A run takes the
time of its commit.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import lru_cache
from typing import Final

from knickpoint.formats.toolbox.numbers import NoNumberError, in_utc, read_moment, to_float
from knickpoint.formats.toolbox.result_rows import Rows
from knickpoint.formats.toolbox.table_cells import Cell, cell_text
from knickpoint.model.commit import NO_TIME, Commit
from knickpoint.model.errors import FormatError, ParamsError
from knickpoint.model.params import decode_key
from knickpoint.model.plain_text import unguarded
from knickpoint.model.report import Report, RunReport
from knickpoint.model.unit_names import Better

_COLUMNS: Final = ("repository", "line", "id", "unit", "pos", "commit", "value")
_CSV: Final = "csv"
"""The name of the format in which texts may have an apostrophe in front, so that they are not formulas."""

_LATER: Final = ("better", "commit_time")
"""Columns that exports of older versions do not have."""
_BETTERS: Final = {better.value: better for better in Better}

_decode = lru_cache(maxsize=65536)(decode_key)


def is_export(header: Sequence[str]) -> bool:
    """Return True if ``header`` is that of an export."""
    return tuple(header[: len(_COLUMNS)]) == _COLUMNS and set(header[len(_COLUMNS) :]) <= set(_LATER)


@dataclass
class _Points:
    """The points while they come in: a run for every commit, and the commits by their position."""

    rows: dict[str, Rows] = field(default_factory=dict)
    commits: dict[int, Commit] = field(default_factory=dict)
    repositories: dict[str, None] = field(default_factory=dict)
    lines: dict[str, None] = field(default_factory=dict)
    names: Rows = field(default_factory=Rows)


def read_export(
    name: str,
    header: Sequence[str],
    rows: Iterable[tuple[str, Sequence[Cell]]],
    number: Callable[[str], float | None],
) -> Report:
    """Return the points as a run for every commit, with the commits in the order of their positions.

    Raises:
        FormatError: the points belong to several repositories or lines, an id is not a trace key, or two commits have
            one position.
    """
    points = _Points()
    if name == _CSV:
        rows = (
            (where, [unguarded(cell) if isinstance(cell, str) else cell for cell in cells]) for where, cells in rows
        )
    for where, cells in rows:
        _add(points, dict(zip(header, cells, strict=True)), where, number)
    for what, option, found in (
        ("repositories", "--repository", points.repositories),
        ("lines", "--line", points.lines),
    ):
        if len(found) > 1:
            raise FormatError(
                f"the points belong to {len(found)} {what}: {', '.join(found)}",
                remedy=f"Export each by itself with knick export {option}; knick backup keeps a whole instance.",
            )
    line = next(iter(points.lines), "")
    commits = [commit for _, commit in sorted(points.commits.items())]
    runs = tuple(
        RunReport(
            points.rows[commit.hash].table(),
            entry=f"export/{line}/{commit.hash}",
            revision=commit.hash,
            branch=line,
            time=commit.time if commit.has_time else None,
        )
        for commit in commits
    )
    return Report(name, runs, tuple(commits), next(iter(points.repositories), ""))


def _add(points: _Points, row: dict[str, Cell], where: str, number: Callable[[str], float | None]) -> None:
    points.repositories[cell_text(row["repository"])] = None
    points.lines[cell_text(row["line"])] = None
    commit, position = cell_text(row["commit"]), cell_text(row["pos"])
    if not commit or not position.isdecimal():
        raise FormatError(
            f"commit {commit!r} and position {position!r} are not a place of a point",
            where=where,
            remedy="Give the file as knick export wrote it.",
        )
    known = points.commits.setdefault(int(position), Commit(commit, "", "", _time(row), ""))
    if known.hash != commit:
        raise FormatError(
            f"two commits, {known.hash[:12]} and {commit[:12]}, have the position {position}",
            where=where,
            remedy="Give one export a file, as knick export wrote it.",
        )
    try:
        params = _decode(cell_text(row["id"]))
    except ParamsError as error:
        raise FormatError(error.message, where=where, remedy="Give the file as knick export wrote it.") from error
    if commit not in points.rows:
        points.rows[commit] = Rows(like=points.names)
    better = _BETTERS.get(cell_text(row.get("better")), Better.UNKNOWN)
    with points.rows[commit].failing(params):
        points.rows[commit].add(params, (_value(row["value"], where, number),), cell_text(row["unit"]), better)


def _value(cell: Cell, where: str, number: Callable[[str], float | None]) -> float:
    value = number(cell) if isinstance(cell, str) else to_float(cell)
    if value is not None and math.isfinite(value):
        return value
    raise NoNumberError(f"{cell_text(cell)!r} in column 'value' is not a finite number", where=where)


def _time(row: dict[str, Cell]) -> datetime:
    cell = row.get("commit_time")
    moment = in_utc(cell) if isinstance(cell, datetime) else read_moment(cell_text(cell))
    return moment or NO_TIME
