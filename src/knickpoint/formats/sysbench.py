"""Read what sysbench 1.0 prints."""

from __future__ import annotations

import re
from typing import Final

from knickpoint.formats.format import Parsed
from knickpoint.formats.toolbox.file_content import FileContent
from knickpoint.formats.toolbox.printed_reports import PrintedReport, has_line, printed_reports
from knickpoint.formats.toolbox.result_rows import Rows
from knickpoint.model.report import Report, RunReport
from knickpoint.model.unit_names import Better

_NAME: Final = "sysbench"
_BEGIN: Final = re.compile(r"sysbench \d\S* \(using .*\)")
_FATAL: Final = re.compile(r"FATAL: (?P<value>.*)")
_END: Final = re.compile(r"    execution time \(avg/stddev\):.*")
_KINDS: Final = {
    "cpu": re.compile(r"Prime numbers limit: .*"),
    "memory": re.compile(r"Running memory speed test .*"),
    "fileio": re.compile(r"File operations:"),
    "sql": re.compile(r"SQL statistics:"),
}
"""sysbench does not print the name of the test; these lines show it."""
_OTHER: Final = "sysbench"
_PARAMS: Final = {
    "threads": re.compile(r"Number of threads: (?P<value>\d+)"),
    "prime_limit": re.compile(r"Prime numbers limit: (?P<value>\d+)"),
    "block_size": re.compile(r"(?:  block size: |Block size )(?P<value>\S+)"),
    "operation": re.compile(r"  operation: (?P<value>\S+)"),
    "scope": re.compile(r"  scope: (?P<value>\S+)"),
    "files": re.compile(r"(?P<value>\d+ files, \S+) each"),
    "mode": re.compile(r"Doing (?P<value>.+) test"),
}
_RATES: Final = {
    "events": (re.compile(r"    events per second:\s*(?P<value>.*)"), "events/s"),
    "operations": (re.compile(r"Total operations: .*? \(\s*(?P<value>.*?) per second\)"), "operations/s"),
    "throughput": (re.compile(r".*? MiB transferred \((?P<value>.*?) MiB/sec\)"), "MiB/s"),
    "reads": (re.compile(r"    reads/s:\s*(?P<value>.*)"), "reads/s"),
    "writes": (re.compile(r"    writes/s:\s*(?P<value>.*)"), "writes/s"),
    "fsyncs": (re.compile(r"    fsyncs/s:\s*(?P<value>.*)"), "fsyncs/s"),
    "read_throughput": (re.compile(r"    read, MiB/s:\s*(?P<value>.*)"), "MiB/s"),
    "write_throughput": (re.compile(r"    written, MiB/s:\s*(?P<value>.*)"), "MiB/s"),
    "transactions": (re.compile(r"    transactions:\s.*?\((?P<value>.*?) per sec\.\)"), "transactions/s"),
    "queries": (re.compile(r"    queries:\s.*?\((?P<value>.*?) per sec\.\)"), "queries/s"),
}
_ERRORS: Final = re.compile(r"    ignored errors:\s*(?P<value>.*?)\s+\(.*? per sec\.\)")
_EVENTS: Final = re.compile(r"    total number of events:\s+(?P<value>\d+)")
_LATENCY: Final = re.compile(r"         (?P<name>min|avg|max|[^:]*th percentile):\s*(?P<value>.*)")
_NOTHING: Final = "0.00"
_STATISTICS: Final = {"avg": "", "min": "min", "max": "max"}


def fits(file: FileContent) -> bool:
    """Return True if a line names sysbench and its version."""
    return has_line(file, "sysbench ", _BEGIN)


def read(file: FileContent) -> Parsed:
    """Read one run: the rates of the test and its latency, by threads and what the test was given.

    sysbench has no median, so the mean is the value of the latency. Several reports in one file are samples.
    """
    rows = Rows()
    for report in printed_reports(file, _BEGIN):
        kind = next((name for name, mark in _KINDS.items() if report.find(mark)), _OTHER)
        params = {"benchmark": kind, **{name: report.text(pattern, "value") for name, pattern in _PARAMS.items()}}
        fatal = report.find(_FATAL)
        if fatal:
            rows.fail({**params, "metric": "latency"}, fatal["value"])
            continue
        report.need(_END, "the fairness of threads")
        if report.need(_EVENTS, "the number of events").count() == 0:
            rows.fail({**params, "metric": "latency"}, "no event ended")
            continue
        _add(rows, params, report)
    return Report(_NAME, (RunReport(rows.table()),)), ()


def _add(rows: Rows, params: dict[str, str], report: PrintedReport) -> None:
    errors = report.find(_ERRORS)
    failed = errors.number() if errors else 0
    message = f"{failed:,.0f} ignored errors" if failed else ""
    for metric, (pattern, unit) in _RATES.items():
        found = report.find(pattern)
        # A test that only reads has 0 writes per second: that is not a measurement.
        if found and found["value"] != _NOTHING:
            named = {**params, "metric": metric}
            with rows.failing(named):
                rows.add(named, (found.number(),), unit, Better.HIGHER, message=message)
    for hit in report.every(_LATENCY):
        stat = _STATISTICS.get(hit["name"], f"p{hit['name'].partition('th')[0]}")
        named = {**params, "metric": "latency", **({"stat": stat} if stat else {})}
        # What is shorter than 5 µs is rounded to nothing, and so is a percentile that was switched off.
        if hit["value"] == _NOTHING:
            continue
        with rows.failing(named):
            rows.add(named, (hit.number(),), "ms", Better.LOWER, message="" if stat else message)
