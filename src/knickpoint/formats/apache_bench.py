"""Read what ApacheBench (``ab``) prints."""

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

_NAME: Final = "apache-bench"
_BEGIN: Final = re.compile(r"This is ApacheBench, Version .*")
_FACT: Final = re.compile(r"(?P<name>[A-Z][A-Za-z0-9/ -]+?):\s+(?P<value>\S.*)")
_COMPLETE: Final = re.compile(r"Complete requests:\s*(?P<value>.*)")
_REFUSED: Final = re.compile(r"Non-2xx responses:\s*(?P<value>.*)")
_FAILED: Final = re.compile(
    r"\s+\(Connect: (?P<connect>.*?), Receive: (?P<receive>.*?), Length: .*?, Exceptions: (?P<exceptions>.*?)\)"
)
_RATE: Final = re.compile(r"Requests per second:\s+(?P<value>.*?) \[#/sec\] \(mean\)")
_MEAN: Final = re.compile(r"Time per request:\s+(?P<value>.*?) \[ms\] \(mean\)")
_TRANSFER: Final = re.compile(r"Transfer rate:\s+(?P<value>.*?) \[Kbytes/sec\] received")
_PERCENTILES: Final = re.compile(r"Percentage of the requests served within a certain time \(ms\)")
_PERCENTILE: Final = re.compile(r"\s+(?P<percent>[^%]*)%\s*(?P<value>[^(]*)")
_LONGEST: Final = re.compile(r"\s+100%\s+(?P<value>.*?) \(longest request\)")


def fits(file: FileContent) -> bool:
    """Return True if a line says that this is ApacheBench."""
    return has_line(file, "This is ApacheBench", _BEGIN)


def read(file: FileContent) -> Parsed:
    """Read one run: requests and bytes per second, and latency, by address and concurrency.

    The mean is the value of the latency, because ab rounds percentiles to whole milliseconds. A document of another
    length is not a failure. Several reports in one file are samples.
    """
    rows = Rows()
    problems: list[Problem] = []
    for report in printed_reports(file, _BEGIN):
        transfer = report.need(_TRANSFER, "the line Transfer rate")
        facts = {hit["name"]: hit["value"] for hit in report.every(_FACT)}
        params = {"benchmark": _address(facts), "connections": facts.get("Concurrency Level", "")}
        metrics = ({**params, "metric": metric} for metric in ("requests", "throughput", "latency"))
        counts = counted_requests(rows, metrics, partial(_counts, report))
        if counts is None:
            continue
        problems += counts.warnings(report.place)
        requests = {**params, "metric": "requests"}
        with rows.failing(requests):
            value = report.need(_RATE, "the line Requests per second").number()
            rows.add(requests, (value,), "requests/s", Better.HIGHER, summary=counts.summary, message=counts.message)
        throughput = {**params, "metric": "throughput"}
        with rows.failing(throughput):
            rows.add(throughput, (transfer.number(),), "KiB/s", Better.HIGHER)
        _add_latency(rows, {**params, "metric": "latency"}, report)
    return Report(_NAME, (RunReport(rows.table()),)), tuple(problems)


def _address(facts: dict[str, str]) -> str:
    scheme = "https" if "SSL/TLS Protocol" in facts else "http"
    return (
        f"{scheme}://{facts.get('Server Hostname', '')}:{facts.get('Server Port', '')}{facts.get('Document Path', '')}"
    )


def _counts(report: PrintedReport) -> RequestCounts:
    complete, refused = (hit.number() if (hit := report.find(pattern)) else 0.0 for pattern in (_COMPLETE, _REFUSED))
    failures = report.find(_FAILED)
    broken = sum(failures.number(kind) for kind in ("connect", "receive", "exceptions")) if failures else 0
    return RequestCounts(complete, min(complete, broken + refused))


def _add_latency(rows: Rows, params: dict[str, str], report: PrintedReport) -> None:
    with rows.failing(params):
        rows.add(params, (report.need(_MEAN, "the line Time per request").number(),), "ms", Better.LOWER)
    if report.find(_PERCENTILES) is None:
        return
    statistics = {"max": report.need(_LONGEST, "the longest request")}
    statistics |= {f"p{hit.number('percent'):g}": hit for hit in report.every(_PERCENTILE)}
    for stat, hit in statistics.items():
        named = {**params, "stat": stat}
        with rows.failing(named):
            rows.add(named, (hit.number(),), "ms", Better.LOWER)
