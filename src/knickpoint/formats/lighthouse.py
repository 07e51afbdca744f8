"""Read Lighthouse's result as JSON, by itself or in an answer of PageSpeed Insights."""

from __future__ import annotations

from typing import Final

from knickpoint.formats.format import Parsed
from knickpoint.formats.toolbox.file_content import FileContent
from knickpoint.formats.toolbox.json_node import Node, measures
from knickpoint.formats.toolbox.numbers import read_moment
from knickpoint.formats.toolbox.result_rows import Rows
from knickpoint.model.report import Report, RunReport
from knickpoint.model.unit_names import Better

_NAME: Final = "lighthouse"
_ANSWER: Final = "lighthouseResult"
"""The member of an answer of PageSpeed Insights that has the result."""
_METRICS: Final = "metrics"
"""The group of audits that make up the score of the performance category."""
_MEASURED: Final = (
    "bootup-time",
    "dom-size",
    "interactive",
    "mainthread-work-breakdown",
    "max-potential-fid",
    "network-rtt",
    "network-server-latency",
    "server-response-time",
    "total-byte-weight",
)
"""Audits outside that group that measure the page; others estimate what a change would save."""
_UNITS: Final = {"millisecond": "ms", "second": "s", "byte": "B", "element": "elements", "unitless": ""}
_NO_ERROR: Final = "NO_ERROR"


def fits(file: FileContent) -> bool:
    """Return True if this is a result with audits that have values, or categories that have scores."""
    document = file.document
    result = document.get(_ANSWER, document) if isinstance(document, dict) else None
    return (
        isinstance(result, dict)
        and "lighthouseVersion" in result
        and (measures(result.get("audits"), ("numericValue",)) or measures(result.get("categories"), ("score",)))
    )


def read(file: FileContent) -> Parsed:
    """Read one run: what was measured of the page, by its address and form factor, and the scores of the categories.

    What an audit estimates that a change would save stays out, and so do audits that pass or fail.
    """
    document = Node(file.json)
    root = document.maybe(_ANSWER) or document
    settings = root.maybe("configSettings")
    params = {
        "benchmark": root.words("requestedUrl") or root.words("finalDisplayedUrl") or root.words("finalUrl") or _NAME,
        "form_factor": settings.words("formFactor") if settings is not None else "",
    }
    rows = Rows()
    failed = root.maybe("runtimeError")
    reason = failed.words("message") or failed.words("code") if failed is not None else ""
    broken = failed is not None and failed.words("code") != _NO_ERROR
    categories = root.maybe("categories")
    chosen = dict.fromkeys(_MEASURED)
    for category, node in categories.members() if categories is not None else ():
        _add_score(rows, {**params, "metric": "score", "category": category}, node, reason if broken else "")
        chosen |= dict.fromkeys(_metrics(node))
    audits = root.maybe("audits")
    for audit in chosen:
        found = audits.maybe(audit) if audits is not None else None
        if found is not None:
            _add_audit(rows, {**params, "metric": audit}, found)
    environment = {name: text for name in ("lighthouseVersion", "userAgent") if (text := root.words(name))}
    machine = root.maybe("environment")
    if machine is not None and "benchmarkIndex" in machine:
        environment["benchmarkIndex"] = machine.words("benchmarkIndex")
    run = RunReport(rows.table(), time=read_moment(root.words("fetchTime")), environment=environment)
    return Report(_NAME, (run,)), ()


def _metrics(category: Node) -> list[str]:
    """Return the audits of a category that are its metrics."""
    audits = category.maybe("auditRefs")
    return (
        [each.words("id") for each in audits.elements() if each.words("group") == _METRICS]
        if audits is not None
        else []
    )


def _add_score(rows: Rows, params: dict[str, str], category: Node, failure: str) -> None:
    if failure:
        rows.fail(params, failure)
        return
    with rows.failing(params):
        rows.add(params, (category["score"].number(params["category"]),), "", Better.HIGHER)


def _add_audit(rows: Rows, params: dict[str, str], audit: Node) -> None:
    """Add what an audit measured; one that does not apply to the page measured nothing."""
    mode = audit.words("scoreDisplayMode")
    if mode == "error":
        rows.fail(params, audit.words("errorMessage"))
    elif mode != "notApplicable" and audit.has("numericValue"):
        with rows.failing(params):
            unit = audit.words("numericUnit")
            value = audit["numericValue"].number(params["metric"])
            rows.add(params, (value,), _UNITS.get(unit, unit), Better.LOWER)
