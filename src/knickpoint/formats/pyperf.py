"""Read what pyperf writes: one benchmark or a suite."""

from __future__ import annotations

from typing import Final

from knickpoint.formats.format import Parsed
from knickpoint.formats.moment import read_moment
from knickpoint.formats.node import Node
from knickpoint.formats.rows import Rows
from knickpoint.formats.source import Source
from knickpoint.model.report import Report, RunReport
from knickpoint.model.revision import commit_name
from knickpoint.model.unit import Better

__all__ = ["fits", "read"]

_NAME: Final = "pyperf"
_UNITS: Final = {
    "second": ("time", "s", Better.LOWER),
    "byte": ("memory", "B", Better.LOWER),
    "integer": ("value", "", Better.UNKNOWN),
}
_MEMORY: Final = ("mem_max_rss", "command_max_rss")
_NO_FACTS: Final = ("name", "unit", "loops", "inner_loops", "date", "duration", "uptime", "boot_time", "load_avg_1min")
_REVISIONS: Final = ("commit_id", "commit", "revision")


def fits(source: Source) -> bool:
    """Tell whether this is an object of benchmarks that consist of runs."""
    document = source.document
    benchmarks = document.get("benchmarks") if isinstance(document, dict) else None
    return (
        isinstance(benchmarks, list)
        and bool(benchmarks)
        and all(isinstance(benchmark, dict) and isinstance(benchmark.get("runs"), list) for benchmark in benchmarks)
    )


def read(source: Source) -> Parsed:
    """Read one run: the values of every benchmark, and the largest memory of its processes; warm-ups stay out."""
    root = Node(source.json)
    common = root.maybe("metadata")
    facts = common.facts() if common is not None else {}
    rows = Rows()
    dates: list[str] = []
    for benchmark in root["benchmarks"].elements():
        dates.extend(_add(rows, facts, benchmark))
    moments = [moment for date in dates if (moment := read_moment(date)) is not None]
    run = RunReport(
        rows.table(),
        revision=next((name for key in _REVISIONS if (name := commit_name(facts.get(key, "")))), ""),
        branch=facts.get("commit_branch", ""),
        time=min(moments, default=None),
        environment={name: text for name, text in facts.items() if name not in _NO_FACTS},
    )
    return Report(_NAME, (run,)), ()


def _add(rows: Rows, common: dict[str, str], benchmark: Node) -> list[str]:
    """Add the samples of ``benchmark`` and return the dates of its runs."""
    own = benchmark.maybe("metadata")
    facts = {**common, **(own.facts() if own is not None else {})}
    name = facts.get("name", "")
    if not name:
        raise benchmark.refuse("the benchmark has no name", remedy="Give it one with --name, or in its metadata.")
    unit = facts.get("unit", "second")
    metric, symbol, better = _UNITS.get(unit, ("value", unit, Better.UNKNOWN))
    samples: list[float] = []
    memory: list[float] = []
    dates = [date] if (date := facts.get("date")) else []
    for run in benchmark["runs"].elements():
        values = run.maybe("values")
        if values is not None:
            samples.extend(values.numbers(name))
        metadata = run.maybe("metadata")
        if metadata is None:
            continue
        dates.extend(filter(None, (metadata.words("date"),)))
        if values is not None:
            memory.extend(metadata[fact].number(name) for fact in _MEMORY if fact in metadata)
    rows.add({"benchmark": name, "metric": metric}, samples, symbol, better)
    if metric != "memory":
        rows.add({"benchmark": name, "metric": "max_rss"}, memory, "B", Better.LOWER)
    return dates
