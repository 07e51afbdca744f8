"""Read what ``vegeta report -type=json`` writes."""

from __future__ import annotations

from functools import partial
from typing import Final

from knickpoint.formats.format import Parsed
from knickpoint.formats.toolbox.file_content import FileContent
from knickpoint.formats.toolbox.json_node import Node
from knickpoint.formats.toolbox.numbers import read_moment
from knickpoint.formats.toolbox.result_rows import RequestCounts, Rows, counted_requests
from knickpoint.model.report import Report, RunReport
from knickpoint.model.unit_names import Better

_NAME: Final = "vegeta"
_METRICS: Final = ("latency", "throughput")
_STATISTICS: Final = {
    "50th": "",
    "mean": "mean",
    "min": "min",
    "90th": "p90",
    "95th": "p95",
    "99th": "p99",
    "max": "max",
}


def fits(file: FileContent) -> bool:
    """Return True if this is an object with latencies by percentile, and how often each status came."""
    document = file.document
    if not isinstance(document, dict) or not isinstance(document.get("status_codes"), dict):
        return False
    latencies = document.get("latencies")
    return isinstance(latencies, dict) and {"50th", "99th"} <= latencies.keys()


def read(file: FileContent) -> Parsed:
    """Read one run: latencies in nanoseconds, the median as the value, and the successful requests per second.

    vegeta does not write the address, so the benchmark is called ``vegeta``. The rate of an attack is what was asked
    for, and stays out.
    """
    root = Node(file.json)
    rows = Rows()
    counts = counted_requests(
        rows, [{"benchmark": _NAME, "metric": metric} for metric in _METRICS], partial(_counts, root)
    )
    if counts is not None:
        _add_latency(rows, root["latencies"], counts)
        if root.has("throughput"):
            named = {"benchmark": _NAME, "metric": "throughput"}
            with rows.failing(named):
                value = root["throughput"].number(_NAME)
                rows.add(named, (value,), "requests/s", Better.HIGHER, message=counts.message)
    run = RunReport(rows.table(), time=read_moment(root.words("earliest")))
    return Report(_NAME, (run,)), counts.warnings("status_codes") if counts is not None else ()


def _counts(root: Node) -> RequestCounts:
    requests = root["requests"].number()
    return RequestCounts(requests, round(requests * (1 - root["success"].number())))


def _add_latency(rows: Rows, latencies: Node, counts: RequestCounts) -> None:
    timed = {"benchmark": _NAME, "metric": "latency"}
    for member, stat in _STATISTICS.items():
        if latencies.has(member):  # earlier versions have neither the minimum nor the 90th
            named = {**timed, "stat": stat} if stat else timed
            with rows.failing(named):
                summary = None if stat else counts.summary
                rows.add(named, (latencies[member].number(_NAME),), "ns", Better.LOWER, summary=summary)
