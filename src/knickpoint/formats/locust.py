"""Read what Locust writes: the table of requests of ``--csv PREFIX`` (``PREFIX_stats.csv``), or ``--json``."""

from __future__ import annotations

import re
from typing import Final

from knickpoint.formats.companion_files import LOCUST_HISTORY, companion_of
from knickpoint.formats.format import Parsed
from knickpoint.formats.locust_json import add_statistics, is_statistics
from knickpoint.formats.toolbox.file_content import FileContent
from knickpoint.formats.toolbox.json_node import Node
from knickpoint.formats.toolbox.numbers import NoNumberError, numeral
from knickpoint.formats.toolbox.printed_reports import LONGEST_LINE
from knickpoint.formats.toolbox.result_rows import Rows
from knickpoint.formats.toolbox.table_cells import header_cells, read_cells
from knickpoint.model.errors import FormatError
from knickpoint.model.report import Report, RunReport
from knickpoint.model.unit_names import Better

_NAME: Final = "locust"
COLUMNS: Final = {"type", "name", "request count", "failure count", "median response time", "requests/s", "failures/s"}
"""Columns of the table of requests, in small letters."""
_PERCENTILE: Final = re.compile(r"(?P<percent>\d+(?:\.\d+)?)%")
_STATISTICS: Final = {
    "average response time": "mean",
    "min response time": "min",
    "max response time": "max",
}
_SAME: Final = ("50", "100")
"""Percentiles that the table has as median and maximum, too."""


def fits(file: FileContent) -> bool:
    """Return True if the first line is the header of the table of requests, or these are statistics as JSON."""
    if is_statistics(file.document):
        return True
    first = file.prose.partition("\n")[0]
    return len(first) <= LONGEST_LINE and set(_header(first)) >= COLUMNS


def read(file: FileContent) -> Parsed:
    """Read one run: response times in milliseconds, and requests and failures per second, of every request.

    The median is the value, the other statistics are series with ``stat``. The row of all requests together is the
    benchmark ``Aggregated``.
    """
    if file.document is not None or file.text.lstrip().startswith("["):
        rows = Rows()
        add_statistics(rows, Node(file.json))
        return Report(_NAME, (RunReport(rows.table()),)), ()
    lines = file.lines
    header = _header(lines[0])
    if not set(header) >= COLUMNS:
        if companion_of(file) == _NAME:
            raise FormatError(
                "this table of Locust holds no results of a whole run"
                + (", but a row for each second of it" if lines[0].startswith(LOCUST_HISTORY) else ""),
                remedy="Import PREFIX_stats.csv, which locust --csv writes beside it.",
            )
        raise FormatError(
            f"the columns {', '.join(sorted(COLUMNS - set(header)))} are missing",
            where="line 1",
            remedy="Give PREFIX_stats.csv as locust --csv writes it.",
        )
    rows = Rows()
    for number, cells in read_cells(lines, len(header), first=1):
        _add(rows, dict(zip(header, cells, strict=True)), f"line {number}")
    return Report(_NAME, (RunReport(rows.table()),)), file.open_line_warning()


def _header(line: str) -> list[str]:
    return [name.lower() for name in header_cells(line.rstrip("\r"))]


def _add(rows: Rows, row: dict[str, str], where: str) -> None:
    params = {"benchmark": row["name"], "method": row["type"]}
    count = numeral(row["request count"])
    timed = {**params, "metric": "response_time"}
    if count == 0:
        rows.skip(timed, "no request was made")
        return
    facts = {"requests": count, "failures": numeral(row["failure count"])}
    summary = {name: number for name, number in facts.items() if number is not None}
    rates = {"requests": ("requests/s", Better.HIGHER), "failures": ("failures/s", Better.LOWER)}
    statistics = {"": "median response time", **{stat: column for column, stat in _STATISTICS.items() if column in row}}
    for column in row:
        percentile = _PERCENTILE.fullmatch(column)
        if percentile is None and column.endswith("%"):
            raise FormatError(
                f"the column {column!r} names no percentile", where="line 1", remedy="Give the file as Locust wrote it."
            )
        if percentile and percentile["percent"] not in _SAME:
            statistics[f"p{percentile['percent']}"] = column
    for stat, column in statistics.items():
        named = {**timed, "stat": stat} if stat else timed
        with rows.failing(named):
            rows.add(named, (_number(row, column, where),), "ms", Better.LOWER, summary=None if stat else summary)
    for metric, (column, better) in rates.items():
        named = {**params, "metric": metric}
        with rows.failing(named):
            rows.add(named, (_number(row, column, where),), column, better)


def _number(row: dict[str, str], column: str, where: str) -> float:
    value = numeral(row[column])
    if value is None:
        raise NoNumberError(f"{row[column]!r} stands in column {column!r}, where a number is needed", where=where)
    return value
