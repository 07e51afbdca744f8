"""Read what Locust writes: the table of requests of ``--csv PREFIX`` (``PREFIX_stats.csv``), or ``--json``."""

from __future__ import annotations

import re
from typing import Final

from knickpoint.formats.format import LOCUST_HISTORY, Parsed, companion_of
from knickpoint.formats.toolbox.file_content import FileContent
from knickpoint.formats.toolbox.json_node import Node
from knickpoint.formats.toolbox.numbers import NoNumberError, numeral
from knickpoint.formats.toolbox.printed_reports import LONGEST_LINE
from knickpoint.formats.toolbox.result_rows import Rows
from knickpoint.formats.toolbox.table_cells import header_cells, read_cells
from knickpoint.model.errors import FormatError
from knickpoint.model.report import Report, RunReport
from knickpoint.model.unit_names import Better

# Read the statistics that Locust prints with ``--json``.


_MEMBERS: Final = {"name", "method", "num_requests", "num_failures", "response_times", "start_time"}
_PERCENTILES: Final = ("90", "95", "99", "99.9")


def is_statistics(document: object) -> bool:
    """Return True if this is a list of requests, each with its counts and a histogram of response times."""
    return (
        isinstance(document, list)
        and bool(document)
        and all(isinstance(entry, dict) and entry.keys() >= _MEMBERS for entry in document)
    )


def add_statistics(rows: Rows, root: Node) -> None:
    """Add the same series as the table of requests has, but for the row of all requests together.

    Response times come from the histogram, which Locust rounds to two digits; the table has the same numbers.

    Raises:
        FormatError: a list or an object stands in the place of a number.
    """
    entries = list(root.elements())
    if not entries:
        return
    try:
        seconds = max(entry["last_request_timestamp"].number() for entry in entries) - min(
            entry["start_time"].number() for entry in entries
        )
    except NoNumberError as error:
        # Rates are over the whole test, which needs the times of all requests.
        seconds, reason = 0.0, error.reason
    else:
        reason = "the test took no time"
    for entry in entries:
        _add_request(rows, entry, seconds, reason)


def _add_request(rows: Rows, entry: Node, seconds: float, reason: str) -> None:
    params = {"benchmark": entry["name"].text(), "method": entry.words("method")}
    timed, name = {**params, "metric": "response_time"}, params["benchmark"]
    with rows.failing(timed):
        count, failures = entry["num_requests"].number(name), entry["num_failures"].number(name)
        if count <= 0:
            rows.skip(timed, "no request was made")
            return
        times = _histogram(entry["response_times"], name)
        summary = {"requests": count, "failures": failures}
        rows.add(timed, (_percentile(times, 50),), "ms", Better.LOWER, summary=summary)
        for percent in _PERCENTILES:
            rows.add({**timed, "stat": f"p{percent}"}, (_percentile(times, float(percent)),), "ms", Better.LOWER)
        mean = entry["total_response_time"].number(name) / count
        for stat, value in (("mean", mean), *((stat, _extreme(entry, stat, name)) for stat in ("min", "max"))):
            rows.add({**timed, "stat": stat}, (value,), "ms", Better.LOWER)
        rates = {"requests": (count, "requests/s", Better.HIGHER), "failures": (failures, "failures/s", Better.LOWER)}
        for metric, (number, unit, better) in rates.items():
            named = {**params, "metric": metric}
            if seconds > 0:
                rows.add(named, (number / seconds,), unit, better)
            else:
                rows.fail(named, reason)


def _extreme(entry: Node, stat: str, name: str) -> float:
    return entry[f"{stat}_response_time"].number(name)


def _histogram(node: Node, name: str) -> list[tuple[float, float]]:
    """Return response times and how often each was, in their order."""
    found = []
    for text, times in node.members():
        value = numeral(text)
        if value is None:
            raise NoNumberError(f"{text[:40]!r} is not a response time", where=node.path, of=name)
        found.append((value, times.number(name)))
    if not any(count > 0 for _, count in found):
        raise NoNumberError("there are no response times", where=node.path, of=name)
    return sorted(found)


def _percentile(times: list[tuple[float, float]], percent: float) -> float:
    """Return the smallest response time that at least ``percent`` of the requests did not exceed."""
    wanted = sum(count for _, count in times) * percent / 100
    passed = 0.0
    for value, count in times:
        passed += count
        if passed >= wanted:
            return value
    return times[-1][0]


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
        raise NoNumberError(f"expected a number in column {column!r}, got {row[column]!r}", where=where)
    return value
