"""Read what redis-benchmark prints: its reports, its lines with ``-q``, and its CSV, old and new."""

from __future__ import annotations

import re
from typing import Final

from knickpoint.formats.format import Parsed
from knickpoint.formats.toolbox.file_content import FileContent
from knickpoint.formats.toolbox.numbers import NoNumberError, numeral
from knickpoint.formats.toolbox.printed_reports import LONGEST_LINE, PrintedReport, has_line, plain, printed_reports
from knickpoint.formats.toolbox.result_rows import Rows
from knickpoint.formats.toolbox.table_cells import header_cells, read_cells
from knickpoint.model.report import Report, RunReport
from knickpoint.model.unit_names import Better

_NAME: Final = "redis-benchmark"
CSV_HEADER: Final = '"test","rps",'
"""How its CSV begins, from Redis 6.2 on."""
_BEGIN: Final = re.compile(r"====== (?P<value>.+) ======")
_ENDED: Final = re.compile(r"  (?P<value>\d+) requests completed in \S+ seconds")
_PARAMS: Final = {
    "clients": re.compile(r"  (?P<value>\d+) parallel clients"),
    "payload": re.compile(r"  (?P<value>\d+ bytes) payload"),
    "threads": re.compile(r"  threads: (?P<value>\d+)"),
}
_RATE: Final = re.compile(r"(?:  throughput summary: )?(?P<value>\S+) requests per second")
_LATENCIES: Final = re.compile(r"\s+avg\s+min\s+p50\s+p95\s+p99\s+max")
_ROW: Final = re.compile(
    r"(?!\s+avg\s)\s+(?P<mean>\S+)\s+(?P<min>\S+)\s+(?P<median>\S+)\s+(?P<p95>\S+)\s+(?P<p99>\S+)\s+(?P<max>\S+)"
)
_QUIET: Final = re.compile(
    r"(?P<name>[A-Z][^:]*): ?(?P<value>.*?) requests per second(?:, p50=(?P<median>.*?) msec)?.*"
)
_QUIET_NUMBER: Final = re.compile(r"[A-Z][^:]*: (?:[\d.]+|-?inf|-?nan) requests per second\b.*")
_OLD_CSV: Final = re.compile(r'"(?P<name>[A-Z][^"]*)","(?:[\d.]+|-?inf|-?nan)"')
_STATISTICS: Final = {"mean": "mean", "min": "min", "median": "", "p95": "p95", "p99": "p99", "max": "max"}
_COLUMNS: Final = {
    "avg_latency_ms": "mean",
    "min_latency_ms": "min",
    "p50_latency_ms": "",
    "p95_latency_ms": "p95",
    "p99_latency_ms": "p99",
    "max_latency_ms": "max",
}


def fits(file: FileContent) -> bool:
    """Return True if this is one of the ways in which it prints results."""
    text = file.prose
    if text.startswith(CSV_HEADER):
        return True
    lines = [line for line in text[:65536].split("\n") if line.strip()]
    if lines and all(len(line) <= LONGEST_LINE and _OLD_CSV.fullmatch(line.rstrip()) for line in lines[:-1] or lines):
        return True
    return has_line(file, " requests per second", _QUIET_NUMBER) or (
        has_line(file, "======", _BEGIN) and has_line(file, " requests completed in ", _ENDED)
    )


def read(file: FileContent) -> Parsed:
    """Read one run: requests per second and latency in milliseconds of each test, the median as the value.

    Reports have clients and payload as params; the CSV does not name them. Several reports of a test are samples.
    """
    rows = Rows()
    if file.text.startswith(CSV_HEADER):
        _add_table(rows, file)
    elif _OLD_CSV.fullmatch(file.lines[0].strip()):
        for number, cells in read_cells(file.lines, 2):
            _add_rate(rows, {"benchmark": cells[0]}, cells[1], number)
    else:
        _add_quiet(rows, file)
        for report in printed_reports(file, _BEGIN):
            _add_report(rows, report)
    return Report(_NAME, (RunReport(rows.table()),)), file.open_line_warning()


def _add_table(rows: Rows, file: FileContent) -> None:
    header = header_cells(file.lines[0])
    for number, cells in read_cells(file.lines, len(header), first=1):
        row = dict(zip(header, cells, strict=True))
        params = {"benchmark": row["test"]}
        _add_rate(rows, params, row["rps"], number)
        for column, stat in _COLUMNS.items():
            _add_latency(rows, params, stat, row.get(column, ""), number)


def _add_quiet(rows: Rows, file: FileContent) -> None:
    for number, raw in enumerate(file.lines, 1):
        found = _QUIET.fullmatch(plain(raw).rstrip()) if len(raw) <= LONGEST_LINE else None
        if found:
            params = {"benchmark": found["name"]}
            _add_rate(rows, params, found["value"], number)
            if found["median"] is not None:
                _add_latency(rows, params, "", found["median"], number)


def _add_report(rows: Rows, report: PrintedReport) -> None:
    params = {"benchmark": report.text(_BEGIN, "value")}
    params |= {name: report.text(pattern, "value") for name, pattern in _PARAMS.items()}
    rate = report.need(_RATE, "the requests per second")
    _add_rate(rows, params, rate["value"], rate.line)
    for below in report.parts(_LATENCIES):
        found = below.need(_ROW, "the latency summary")
        for group, stat in _STATISTICS.items():
            _add_latency(rows, params, stat, found[group], found.line)


def _add_rate(rows: Rows, params: dict[str, str], text: str, line: int) -> None:
    named = {**params, "metric": "requests"}
    with rows.failing(named):
        rows.add(named, (_number(text, line),), "requests/s", Better.HIGHER)


def _add_latency(rows: Rows, params: dict[str, str], stat: str, text: str, line: int) -> None:
    named = {**params, "metric": "latency", **({"stat": stat} if stat else {})}
    with rows.failing(named):
        rows.add(named, (_number(text, line),), "ms", Better.LOWER)


def _number(text: str, line: int) -> float:
    value = numeral(text)
    if value is None:
        raise NoNumberError(f"expected a number, got {text!r}", where=f"line {line}")
    return value
