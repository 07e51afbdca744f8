"""Read k6's summaries: of ``handleSummary``, and the older ``--summary-export``."""

from __future__ import annotations

import re
from typing import Final

from knickpoint.formats.format import Parsed
from knickpoint.formats.toolbox.file_content import FileContent
from knickpoint.formats.toolbox.json_node import Node, measures, members
from knickpoint.formats.toolbox.result_rows import Rows
from knickpoint.model.report import Report, RunReport
from knickpoint.model.unit_names import Better

_NAME: Final = "k6"
_BUILT_IN: Final = (
    "http_reqs",
    "http_req_",
    "iteration",
    "vus",
    "data_sent",
    "data_received",
    "checks",
    "grpc_req",
    "ws_",
    "browser_",
)
_SUBMETRIC: Final = re.compile(r"(?P<name>[^{}]+)\{(?P<tags>[^{}]*)\}")
_PERCENTILE: Final = re.compile(r"p\((?P<percent>[\d.]+)\)")
_LOCATIONS: Final = {"avg": "mean", "min": "min", "max": "max"}
_MEASURED: Final = ("avg", "med", "count", "rate", "value")
_TIMES: Final = re.compile(r"(_duration|_blocked|_connecting|_handshaking|_sending|_waiting|_receiving|_session)(\{|$)")
_COUNTS: Final = {"passes": "passes", "fails": "fails"}
_BETTER: Final = {
    "http_reqs": Better.HIGHER,
    "iterations": Better.HIGHER,
    "checks": Better.HIGHER,
    "dropped_iterations": Better.LOWER,
    "http_req_failed": Better.LOWER,
}


def fits(file: FileContent) -> bool:
    """Return True if this is an object of metrics that k6 collects."""
    document = file.document
    metrics = document.get("metrics") if isinstance(document, dict) else None
    if not isinstance(document, dict) or not isinstance(metrics, dict):
        return False
    known = (
        list(metrics.values())
        if "root_group" in document
        else [metrics[name] for name in metrics if name.startswith(_BUILT_IN)]
    )
    return measures(known, _MEASURED) or measures(members(known, "values"), _MEASURED)


def read(file: FileContent) -> Parsed:
    """Read one run: of trends the median, of counters the rate, and their other statistics with ``stat``."""
    root = Node(file.strict_json)
    rows = Rows()
    for name, metric in root["metrics"].members():
        _add(rows, name, metric)
    return Report(_NAME, (RunReport(rows.table()),)), ()


def _add(rows: Rows, name: str, metric: Node) -> None:
    found = _SUBMETRIC.fullmatch(name)
    params = {"metric": found["name"] if found else name}
    for tag in found["tags"].split(",") if found else ():
        key, _, value = tag.partition(":")
        if key.strip():
            params[key.strip()] = value.strip()
    values = metric.maybe("values") or metric
    kind = metric.words("type") or _kind(values)
    base = params["metric"]
    better = _BETTER.get(base, Better.UNKNOWN)
    if kind == "trend":
        _add_trend(rows, params, values, "ms" if metric.words("contains") == "time" or _TIMES.search(base) else "")
        return
    with rows.failing(params):
        if kind == "counter":
            _add_counter(rows, params, values, better, data=metric.words("contains") == "data" or base[:5] == "data_")
        elif kind == "rate":
            rate = values["rate"] if values.has("rate") else values["value"]
            rows.add(params, (rate.number(name),), "", better, summary=values.finite(_COUNTS))
        else:
            rows.add(params, (values["value"].number(name),), "", better)


def _add_counter(rows: Rows, params: dict[str, str], values: Node, better: Better, *, data: bool) -> None:
    """Add the rate of a counter, and its count as ``stat``; ``data`` are bytes, and their rate has no direction."""
    name, unit = params["metric"], "B" if data else ""
    counted = {**params, "stat": "count"}
    with rows.failing(counted):
        rows.add(counted, (values["count"].number(name),), unit, better)
    rate = values["rate"].number(name)
    rows.add(params, (rate,), f"{unit}/s" if data else "", Better.UNKNOWN if data else better)


def _kind(values: Node) -> str:
    """Tell the type of a metric of the older export, which does not."""
    if values.has("avg") or values.has("med"):
        return "trend"
    if values.has("count"):
        return "counter"
    return "rate" if values.has("passes") else "gauge"


def _add_trend(rows: Rows, params: dict[str, str], values: Node, unit: str) -> None:
    better = Better.LOWER if unit else Better.UNKNOWN
    summary = values.finite({"count": "count"})
    main = next((name for name in ("med", "p(50)", "avg") if values.has(name)), "")
    for name, node in values.members():
        percentile = _PERCENTILE.fullmatch(name)
        if name != main and not percentile and name not in _LOCATIONS:
            continue
        named = dict(params)
        if name != main:
            named["stat"] = f"p{percentile['percent']}" if percentile else _LOCATIONS[name]
        with rows.failing(named):
            number = node.number(params["metric"])
            rows.add(named, (number,), unit, better, summary=summary if name == main else None)
