"""Read what hey prints."""

from __future__ import annotations

import re
from functools import partial
from typing import Final

from knickpoint.formats.format import Parsed
from knickpoint.formats.toolbox.file_content import FileContent
from knickpoint.formats.toolbox.printed_reports import PrintedReport, has_line, printed_reports
from knickpoint.formats.toolbox.result_rows import SUCCESSFUL, RequestCounts, Rows, counted_requests
from knickpoint.model.report import Problem, Report, RunReport
from knickpoint.model.unit_names import Better

_NAME: Final = "hey"
_BEGIN: Final = re.compile(r"Summary:")
_RATE: Final = re.compile(r"  Requests/sec:\t(?P<value>.*)")
_MARK: Final = re.compile(r"Response time histogram:")
_STATISTIC: Final = re.compile(r"  (?P<name>Slowest|Fastest|Average):\t\s*(?P<value>.*?) secs")
_PERCENTILE: Final = re.compile(r"  (?P<percent>[^%]*)%+ in (?P<value>.*?) secs")
_STATUS: Final = re.compile(r"  \[(?P<code>\d+)\]\t(?P<value>.*?) responses")
_BAD_STATUS: Final = re.compile(r"  \[(?!\d+\])[^\]]*\]\t.* responses")
_ERROR: Final = re.compile(r"  \[(?P<value>\S*)\]\t(?P<why>(?!.* responses$).+)")
_STATISTICS: Final = {"Average": "mean", "Fastest": "min", "Slowest": "max"}
_OF_OHA: Final = re.compile(r"  Success rate:\t.*")
"""A line of oha, whose summary has the labels of hey's and other units."""


def fits(file: FileContent) -> bool:
    """Return True if this is a summary with requests per second and a histogram of response times."""
    return (
        has_line(file, "Response time histogram:", _MARK)
        and has_line(file, "Requests/sec:", _RATE)
        and not has_line(file, "Success rate:", _OF_OHA)
    )


def read(file: FileContent) -> Parsed:
    """Read one run: requests per second, and the response time with the median as the value.

    hey does not print the address, so the benchmark is called ``hey``. Several reports in one file are samples.
    """
    rows = Rows()
    problems: list[Problem] = []
    for report in printed_reports(file, _BEGIN):
        params = {"benchmark": _NAME}
        metrics = ({**params, "metric": metric} for metric in ("requests", "response_time"))
        counts = counted_requests(rows, metrics, partial(_counts, report))
        if counts is None:
            continue
        problems += counts.warnings(report.place)
        requests = {**params, "metric": "requests"}
        with rows.failing(requests):
            value = report.need(_RATE, "the line Requests/sec").number()
            rows.add(requests, (value,), "requests/s", Better.HIGHER, summary=counts.summary, message=counts.message)
        _add_times(rows, {**params, "metric": "response_time"}, report)
    return Report(_NAME, (RunReport(rows.table()),)), tuple(problems)


def _counts(report: PrintedReport) -> RequestCounts:
    answered = {hit["code"]: hit.number() for hit in report.every(_STATUS)}
    lost = sum(hit.number() for hit in report.every(_ERROR))
    if any(report.every(_BAD_STATUS)) or not (answered or lost):
        raise report.cut("the status codes")
    refused = sum(count for code, count in answered.items() if not code.startswith(SUCCESSFUL))
    return RequestCounts(sum(answered.values()) + lost, refused + lost)


def _add_times(rows: Rows, params: dict[str, str], report: PrintedReport) -> None:
    found = {_STATISTICS[hit["name"]]: hit for hit in report.every(_STATISTIC)}
    for hit in report.every(_PERCENTILE):
        percent = f"{hit.number('percent'):g}"
        found["" if percent == "50" else f"p{percent}"] = hit
    if "" not in found and "mean" in found:
        found[""] = found.pop("mean")
    for stat, hit in found.items():
        named = {**params, "stat": stat} if stat else params
        with rows.failing(named):
            rows.add(named, (hit.number(),), "s", Better.LOWER)
