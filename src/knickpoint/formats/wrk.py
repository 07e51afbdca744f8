"""Read what wrk and wrk2 print."""

from __future__ import annotations

import re
from functools import partial
from typing import Final

from knickpoint.formats.format import Parsed
from knickpoint.formats.toolbox.file_content import FileContent
from knickpoint.formats.toolbox.printed_reports import PrintedReport, has_line, printed_reports
from knickpoint.formats.toolbox.result_rows import RequestCounts, Rows, counted_requests
from knickpoint.model.report import Problem, Report, RunReport
from knickpoint.model.unit_names import Better

_NAME: Final = "wrk"
_BEGIN: Final = re.compile(r"Running \S+ test @ (?P<url>\S+)")
_THREADS: Final = re.compile(r"\s+(?P<threads>\d+) threads and (?P<connections>\d+) connections")
_TIME: Final = r"(?P<{0}>\S*?)(?P<{0}_unit>us|ms|s|m|h)"
_LATENCY: Final = re.compile(r"\s+Latency\s+" + r"\s+".join(map(_TIME.format, ("mean", "stddev", "max"))) + r"\s+\S+%")
_PERCENTILE: Final = re.compile(r"\s+(?P<percent>[^%]*)%\s+(?P<value>.*?)(?P<value_unit>us|ms|s|m|h)")
_TOTAL: Final = re.compile(r"\s+(?P<value>\d+) requests in \S+, \S+ read")
_SOCKET: Final = re.compile(
    r"\s+Socket errors: connect (?P<connect>.*?), read (?P<read>.*?), write (?P<write>.*?), timeout (?P<timeout>.*)"
)
_STATUS: Final = re.compile(r"\s+Non-2xx or 3xx responses: (?P<value>.*)")
_REQUESTS: Final = re.compile(r"Requests/sec:\s*(?P<value>.*)")
_TRANSFER: Final = re.compile(r"Transfer/sec:\s+(?P<value>\S*?)(?P<unit>[KMGTP]?B)")
_MINUTES: Final = {"m": "min"}


def fits(file: FileContent) -> bool:
    """Return True if a line says which address is tested."""
    return has_line(file, "test @", _BEGIN)


def read(file: FileContent) -> Parsed:
    """Read one run: requests and bytes per second, and latency, by address, threads and connections.

    The median is the latency where wrk printed percentiles (``--latency``), else the mean. wrk counts by 1,024 what it
    calls KB. Several reports in one file are samples.
    """
    rows = Rows()
    problems: list[Problem] = []
    for report in printed_reports(file, _BEGIN):
        transfer = report.need(_TRANSFER, "the line Transfer/sec")
        params = {
            "benchmark": report.text(_BEGIN, "url"),
            "threads": report.text(_THREADS, "threads"),
            "connections": report.text(_THREADS, "connections"),
        }
        metrics = ({**params, "metric": metric} for metric in ("requests", "throughput", "latency"))
        counts = counted_requests(rows, metrics, partial(_counts, report))
        if counts is None:
            continue
        problems += counts.warnings(report.place)
        requests = {**params, "metric": "requests"}
        with rows.failing(requests):
            value = report.need(_REQUESTS, "the line Requests/sec").number()
            rows.add(requests, (value,), "requests/s", Better.HIGHER, summary=counts.summary, message=counts.message)
        throughput = {**params, "metric": "throughput"}
        unit = transfer["unit"]
        with rows.failing(throughput):
            rows.add(throughput, (transfer.number(),), f"{unit[:-1]}{'i' * (len(unit) - 1)}B/s", Better.HIGHER)
        _add_latency(rows, {**params, "metric": "latency"}, report)
    return Report(_NAME, (RunReport(rows.table()),)), tuple(problems)


def _counts(report: PrintedReport) -> RequestCounts:
    total = report.need(_TOTAL, "the number of requests").count()
    sockets = report.find(_SOCKET)
    broken = sum(sockets.number(kind) for kind in ("connect", "read", "write", "timeout")) if sockets else 0
    status = report.find(_STATUS)
    # Requests without an answer are not among those that wrk counts.
    return RequestCounts(total + broken, broken + (status.number() if status else 0))


def _add_latency(rows: Rows, params: dict[str, str], report: PrintedReport) -> None:
    latency = report.need(_LATENCY, "the latency")
    percentiles = {f"{hit.number('percent'):g}": hit for hit in report.every(_PERCENTILE)}
    found = {f"p{percent}": (hit, "value") for percent, hit in percentiles.items() if percent not in ("50", "100")}
    median = percentiles.get("50")
    main = (median, "value") if median else (latency, "mean")
    statistics = {"": main, **({"mean": (latency, "mean")} if median else {}), "max": (latency, "max"), **found}
    for stat, (hit, group) in statistics.items():
        named = {**params, "stat": stat} if stat else params
        unit = hit[f"{group}_unit"]
        with rows.failing(named):
            rows.add(named, (hit.number(group),), _MINUTES.get(unit, unit), Better.LOWER)
