"""Read the ``benchmarkData.json`` of Android's Jetpack Benchmark and Macrobenchmark."""

from __future__ import annotations

import re
from typing import Final

from knickpoint.formats.format import Parsed
from knickpoint.formats.toolbox.file_content import FileContent
from knickpoint.formats.toolbox.json_node import Node, inner, measures
from knickpoint.formats.toolbox.result_rows import Rows
from knickpoint.model.report import Report, RunReport
from knickpoint.model.unit_names import Better

_NAME: Final = "jetpack-benchmark"
_UNITS: Final = {
    "Ns": "ns",
    "Us": "us",
    "Ms": "ms",
    "Kb": "KiB",
    "Bytes": "B",
    "Uws": "uJ",
    "Uw": "uW",
    "Percent": "%",
}
"""Ends of the names of metrics, and the units that they stand for; ``Uws`` are microwatt-seconds."""
_ENDING: Final = re.compile(rf".*[a-z\d](?P<unit>{'|'.join(_UNITS)})")
_NO_COST: Final = ("%", "")
_COUNTS: Final = {"allocationCount": "allocs"}
_PERCENTILE: Final = re.compile(r"P(?P<percent>\d+)")
_RESERVED: Final = ("benchmark", "metric", "stat", "suite")
_MEDIAN: Final = "50"
_BRACKETS: Final = re.compile(r"(?P<name>.+)\[[^\[\]]*\]")


def fits(file: FileContent) -> bool:
    """Return True if this is an object of benchmarks whose metrics have runs, or percentiles of what was sampled."""
    document = file.document
    benchmarks = document.get("benchmarks") if isinstance(document, dict) else None
    return isinstance(benchmarks, list) and (
        measures(inner(benchmarks, "metrics"), ("runs",)) or measures(inner(benchmarks, "sampledMetrics"), ("P50",))
    )


def read(file: FileContent) -> Parsed:
    """Read one run: every metric of every benchmark, its runs as samples.

    Of what was sampled within runs, the percentiles.

    The median of all frames is the value of a sampled metric, the others are series with ``stat``; the frames stay out.
    """
    root = Node(file.json)
    rows = Rows()
    for benchmark in root["benchmarks"].elements():
        params = _params(benchmark)
        found = [benchmark.maybe(group) for group in ("metrics", "sampledMetrics")]
        if not any(group is not None and group.value for group in found):
            rows.fail(params, "the benchmark has no metric")
        for group, add in zip(found, (_add, _add_sampled), strict=True):
            for metric, node in group.members() if group is not None else ():
                add(rows, {**params, "metric": metric}, node)
    context = root.maybe("context")
    environment = context.facts() if context is not None else {}
    return Report(_NAME, (RunReport(rows.table(), environment=environment),)), ()


def _params(benchmark: Node) -> dict[str, str]:
    """Return the class as ``suite``, the test as ``benchmark``, and its parameters from the brackets in its name."""
    given = benchmark.maybe("params")
    params = {name: node.word() for name, node in given.members()} if given is not None else {}
    if not params.keys().isdisjoint(_RESERVED):
        params = {}
    name = benchmark["name"].text()
    bracketed = _BRACKETS.fullmatch(name) if params else None
    return {**params, "benchmark": bracketed["name"] if bracketed else name, "suite": benchmark.words("className")}


def _add(rows: Rows, params: dict[str, str], metric: Node) -> None:
    with rows.failing(params):
        unit, better = _unit(params["metric"])
        samples = metric["runs"].numbers(params["benchmark"])
        rows.add(params, samples or (metric["median"].number(params["benchmark"]),), unit, better)


def _add_sampled(rows: Rows, params: dict[str, str], metric: Node) -> None:
    unit, better = _unit(params["metric"])
    for member, node in metric.members():
        percentile = _PERCENTILE.fullmatch(member)
        if percentile is None:
            continue
        median = percentile["percent"] == _MEDIAN
        named = params if median else {**params, "stat": f"p{percentile['percent']}"}
        with rows.failing(named):
            rows.add(named, (node.number(params["benchmark"]),), unit, better)


def _unit(metric: str) -> tuple[str, Better]:
    """Return the unit that the name of ``metric`` ends with, and the direction.

    ``timeNs`` and ``memoryRssAnonMaxKb`` are costs.
    """
    if metric in _COUNTS:
        return _COUNTS[metric], Better.LOWER
    found = _ENDING.fullmatch(metric)
    unit = _UNITS[found["unit"]] if found else ""
    return unit, Better.UNKNOWN if unit in _NO_COST else Better.LOWER
