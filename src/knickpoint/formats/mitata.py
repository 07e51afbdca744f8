"""Read what mitata writes with ``run({ format: 'json' })``."""

from __future__ import annotations

from typing import Final

from knickpoint.formats.format import Parsed
from knickpoint.formats.toolbox.file_content import FileContent
from knickpoint.formats.toolbox.json_node import Node, inner, measures, members
from knickpoint.formats.toolbox.numbers import read_moment
from knickpoint.formats.toolbox.result_rows import Rows
from knickpoint.model.report import Report, RunReport
from knickpoint.model.unit_names import Better

_NAME: Final = "mitata"
_STATISTICS: Final = {
    "avg": "mean",
    "min": "min",
    "max": "max",
    "p25": "p25",
    "p75": "p75",
    "p99": "p99",
    "p999": "p99.9",
}
_RESERVED: Final = {"benchmark", "metric", "stat", "suite"}
_FACTS: Final = ("arch", "runtime", "version")


def fits(file: FileContent) -> bool:
    """Return True if this is an object of benchmarks whose runs have statistics, or an error, each."""
    document = file.document
    benchmarks = document.get("benchmarks") if isinstance(document, dict) else None
    return (
        isinstance(benchmarks, list) and all(map(_is_benchmark, benchmarks)) and _is_measured(inner(benchmarks, "runs"))
    )


def _is_measured(runs: list[object]) -> bool:
    return measures(runs, ("error",)) or measures(members(runs, "stats"), ("p50", "avg"))


def _is_benchmark(entry: object) -> bool:
    if not isinstance(entry, dict) or "alias" not in entry:
        return False
    runs = entry.get("runs")
    return isinstance(runs, list) and all(isinstance(run, dict) and {"stats", "error"} & run.keys() for run in runs)


def read(file: FileContent) -> Parsed:
    """Read one run: times in nanoseconds, memory in bytes, and the time of garbage collection.

    The median is the value. The samples stay out: mitata sorts them, cuts the ends off and keeps up to a million.
    """
    root = Node(file.json)
    groups = root.maybe("layout")
    suites = [group.words("name") for group in groups.elements()] if groups is not None else []
    rows = Rows()
    for benchmark in root["benchmarks"].elements():
        place = int(benchmark.finite({"group": "group"}).get("group", -1))
        suite = suites[place] if 0 <= place < len(suites) else ""
        for run in benchmark["runs"].elements():
            _add(rows, _params(benchmark, run, suite), run)
    context = root.maybe("context") or Node({})
    environment = {name: text for name in _FACTS if (text := context.words(name))}
    cpu = context.maybe("cpu")
    if cpu is not None and cpu.words("name"):
        environment["cpu"] = cpu.words("name")
    run_report = RunReport(
        rows.table(), time=read_moment(context.finite({"now": "now"}).get("now")), environment=environment
    )
    return Report(_NAME, (run_report,)), ()


def _params(benchmark: Node, run: Node, suite: str) -> dict[str, str]:
    """Return the params of a run: its arguments by name, or as part of the benchmark's name if they are not plain."""
    arguments = run.maybe("args")
    given = dict(arguments.members()) if arguments is not None and isinstance(arguments.value, dict) else {}
    plain = all(isinstance(node.value, str | int | float) for node in given.values()) and not given.keys() & _RESERVED
    named = {name: node.word() for name, node in given.items()} if plain else {}
    name = benchmark["alias"].text() if named else run.words("name") or benchmark["alias"].text()
    return {**named, "benchmark": name, "suite": suite}


def _add(rows: Rows, params: dict[str, str], run: Node) -> None:
    timed, name = {**params, "metric": "time"}, params["benchmark"]
    stats = run.maybe("stats")
    if stats is None:
        error = run.maybe("error")
        message = error.words("message") if error is not None and isinstance(error.value, dict) else run.words("error")
        rows.fail(timed, message or "mitata has no statistics: the benchmark failed")
        return
    with rows.failing(timed):
        rows.add(timed, (stats["p50"].number(name),), "ns", Better.LOWER, summary=stats.finite({"ticks": "iterations"}))
    for member, stat in _STATISTICS.items():
        if stats.has(member):
            named = {**timed, "stat": stat}
            with rows.failing(named):
                rows.add(named, (stats[member].number(name),), "ns", Better.LOWER)
    for metric, unit in (("heap", "B"), ("gc", "ns")):
        measured = stats.maybe(metric)
        if measured is not None and measured.finite({"total": "total", "_": "_"}).get("_", 1):
            named = {**params, "metric": metric}
            with rows.failing(named):
                rows.add(named, (measured["avg"].number(name),), unit, Better.LOWER)
