"""Read what ``oha --output-format json`` writes."""

from __future__ import annotations

import re
from functools import partial
from typing import Final

from knickpoint.formats.format import Parsed
from knickpoint.formats.toolbox.file_content import FileContent
from knickpoint.formats.toolbox.json_node import Node
from knickpoint.formats.toolbox.result_rows import SUCCESSFUL, RequestCounts, Rows, counted_requests
from knickpoint.model.report import Report, RunReport
from knickpoint.model.unit_names import Better

_NAME: Final = "oha"
_METRICS: Final = {"requests": ("requestsPerSec", "requests/s"), "throughput": ("sizePerSec", "B/s")}
_TIME: Final = "response_time"
_STATISTICS: Final = {"average": "mean", "fastest": "min", "slowest": "max"}
_PERCENTILE: Final = re.compile(r"p(?P<percent>\d+(?:\.\d+)?)")
_MEDIAN: Final = "50"
_AT_THE_END: Final = "aborted due to deadline"
"""The error of requests that were under way when the time of the test was over."""


def fits(file: FileContent) -> bool:
    """Return True if this is an object with a summary of requests per second, and latencies by percentile."""
    document = file.document
    if not isinstance(document, dict):
        return False
    summary, percentiles = document.get("summary"), document.get("latencyPercentiles")
    return isinstance(summary, dict) and "requestsPerSec" in summary and isinstance(percentiles, dict)


def read(file: FileContent) -> Parsed:
    """Read one run: requests and bytes per second, and the response time in seconds with the median as the value.

    oha does not write the address, so the benchmark is called ``oha``. Histograms, details of connecting, and requests
    per second over time stay out.
    """
    root = Node(file.json)
    rows = Rows()
    metrics = [{"benchmark": _NAME, "metric": metric} for metric in (*_METRICS, _TIME)]
    counts = counted_requests(rows, metrics, partial(_counts, root))
    if counts is None:
        return Report(_NAME, (RunReport(rows.table()),)), ()
    for named in metrics[:-1]:
        member, unit = _METRICS[named["metric"]]
        with rows.failing(named):
            value = root["summary"][member].number(_NAME)
            rows.add(named, (value,), unit, Better.HIGHER, summary=counts.summary, message=counts.message)
    _add_times(rows, metrics[-1], root)
    return Report(_NAME, (RunReport(rows.table()),)), counts.warnings("statusCodeDistribution")


def _counts(root: Node) -> RequestCounts:
    statuses = {code: node.number() for code, node in root["statusCodeDistribution"].members()}
    errors = {why: node.number() for why, node in root["errorDistribution"].members() if why != _AT_THE_END}
    refused = sum(count for code, count in statuses.items() if not code.startswith(SUCCESSFUL))
    lost = sum(errors.values())
    return RequestCounts(sum(statuses.values()) + lost, refused + lost)


def _add_times(rows: Rows, timed: dict[str, str], root: Node) -> None:
    found = {stat: root["summary"][member] for member, stat in _STATISTICS.items() if member in root["summary"]}
    for member, node in root["latencyPercentiles"].members():
        percentile = _PERCENTILE.fullmatch(member)
        if percentile:
            found["" if percentile["percent"] == _MEDIAN else member] = node
    for stat, node in found.items():
        named = {**timed, "stat": stat} if stat else timed
        with rows.failing(named):
            rows.add(named, (node.number(_NAME),), "s", Better.LOWER)
