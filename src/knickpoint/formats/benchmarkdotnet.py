"""Read what BenchmarkDotNet's JSON exporters write, brief or full."""

from __future__ import annotations

import re
from typing import Final

from knickpoint.formats.format import Parsed
from knickpoint.formats.toolbox.file_content import FileContent
from knickpoint.formats.toolbox.json_node import Node, measures, members
from knickpoint.formats.toolbox.result_rows import Rows
from knickpoint.model.report import Report, RunReport
from knickpoint.model.unit_names import Better

_NAME: Final = "benchmarkdotnet"
_JOB: Final = re.compile(r": (?P<name>[\w .+-]+?)(?:\((?P<facts>[^()]*)\))?(?: \[|$)")
_STATISTICS: Final = {"Mean": "mean", "Min": "min", "Max": "max"}


def fits(file: FileContent) -> bool:
    """Return True if this is an object with host facts and benchmarks."""
    document = file.document
    return (
        isinstance(document, dict)
        and "HostEnvironmentInfo" in document
        and isinstance(document.get("Benchmarks"), list)
        and (not document["Benchmarks"] or any(map(_are_statistics, members(document["Benchmarks"], "Statistics"))))
    )


def _are_statistics(statistics: object) -> bool:
    return statistics is None or measures([statistics], ("OriginalValues", "Median", "Mean"))


def read(file: FileContent) -> Parsed:
    """Read one run: times in nanoseconds, allocated bytes, and hardware counters."""
    root = Node(file.json)
    host = root.maybe("HostEnvironmentInfo")
    rows = Rows()
    benchmarks = list(root["Benchmarks"].elements())
    for params, benchmark in zip(_named(benchmarks), benchmarks, strict=True):
        _add(rows, params, benchmark)
    environment = host.facts() if host is not None else {}
    return Report(_NAME, (RunReport(rows.table(), environment=environment),)), ()


def _named(benchmarks: list[Node]) -> list[dict[str, str]]:
    """Return the params of each; where shortened parameters coincide, those of the full names."""
    found = [_params(benchmark) for benchmark in benchmarks]
    names: dict[tuple[tuple[str, str], ...], set[str]] = {}
    for params, benchmark in zip(found, benchmarks, strict=True):
        names.setdefault(tuple(params.items()), set()).add(benchmark.words("FullName"))
    return [
        params if len(names[tuple(params.items())]) == 1 else {**params, "benchmark": benchmark.words("FullName")}
        for params, benchmark in zip(found, benchmarks, strict=True)
    ]


def _params(benchmark: Node) -> dict[str, str]:
    parts = [benchmark.words(part) for part in ("Namespace", "Type", "Method")]
    params = {"benchmark": ".".join(filter(None, parts)) if parts[2] else benchmark["FullName"].text()}
    for pair in filter(None, benchmark.words("Parameters").split("&")):
        name, _, value = pair.partition("=")
        params[name] = value
    job = _JOB.search(benchmark.words("DisplayInfo"))
    if job and job["name"] != "DefaultJob":
        params["job"] = job["facts"] if job["facts"] and job["name"].startswith("Job-") else job["name"]
    return params


def _add(rows: Rows, params: dict[str, str], benchmark: Node) -> None:
    name = params["benchmark"]
    timed = {**params, "metric": "time"}
    statistics = benchmark.maybe("Statistics")
    if statistics is None:
        rows.fail(timed, "BenchmarkDotNet has no statistics: the benchmark failed")
        return
    values = statistics.maybe("OriginalValues")
    if values is not None and values.value:
        with rows.failing(timed):
            rows.add(timed, values.numbers(name), "ns", Better.LOWER)
    else:
        with rows.failing(timed):
            summary = statistics.finite({"StandardDeviation": "stddev"})
            rows.add(timed, (statistics["Median"].number(name),), "ns", Better.LOWER, summary=summary)
        for member, stat in _STATISTICS.items():
            if statistics.has(member):
                with rows.failing({**timed, "stat": stat}):
                    rows.add({**timed, "stat": stat}, (statistics[member].number(name),), "ns", Better.LOWER)
    memory = benchmark.maybe("Memory")
    if memory is not None and memory.has("BytesAllocatedPerOperation"):
        allocated = {**params, "metric": "allocated"}
        with rows.failing(allocated):
            rows.add(allocated, (memory["BytesAllocatedPerOperation"].number(name),), "B", Better.LOWER)
    metrics = benchmark.maybe("Metrics")
    for metric in metrics.elements() if metrics is not None else ():
        _add_metric(rows, params, metric)


def _add_metric(rows: Rows, params: dict[str, str], metric: Node) -> None:
    descriptor = metric["Descriptor"]
    greater = descriptor.maybe("TheGreaterTheBetter")
    better = Better.UNKNOWN if greater is None else Better.HIGHER if greater.value is True else Better.LOWER
    named = {**params, "metric": descriptor["Id"].text()}
    if named["metric"] == "Allocated Memory":
        return
    with rows.failing(named):
        rows.add(named, (metric["Value"].number(params["benchmark"]),), descriptor.words("Unit"), better)
