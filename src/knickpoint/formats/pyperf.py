"""Read what pyperf writes: one benchmark or a suite."""

from __future__ import annotations

from typing import Final

from knickpoint.formats.format import Parsed
from knickpoint.formats.toolbox.file_content import FileContent
from knickpoint.formats.toolbox.json_node import Node, inner, measures
from knickpoint.formats.toolbox.numbers import read_moment
from knickpoint.formats.toolbox.result_rows import Rows
from knickpoint.model.commit import commit_name
from knickpoint.model.report import Report, RunReport
from knickpoint.model.unit_names import Better

_NAME: Final = "pyperf"
_UNITS: Final = {
    "second": ("time", "s", Better.LOWER),
    "byte": ("memory", "B", Better.LOWER),
    "integer": ("value", "", Better.UNKNOWN),
}
_MEMORY: Final = ("mem_max_rss", "command_max_rss")
_NO_FACTS: Final = (
    "name",
    "unit",
    "loops",
    "inner_loops",
    "date",
    "duration",
    "uptime",
    "boot_time",
    "load_avg_1min",
    *_MEMORY,
)
_REVISIONS: Final = ("commit_id", "commit", "revision")


def fits(file: FileContent) -> bool:
    """Return True if this is an object of benchmarks that consist of runs."""
    document = file.document
    if not isinstance(document, dict):
        return False
    benchmarks = document.get("benchmarks")
    return (
        isinstance(benchmarks, list)
        and bool(benchmarks)
        and "version" in document
        and all(isinstance(benchmark, dict) and isinstance(benchmark.get("runs"), list) for benchmark in benchmarks)
        and measures(inner(benchmarks, "runs"), ("values", "warmups"))
    )


def read(file: FileContent) -> Parsed:
    """Read one run: the values of every benchmark, and the largest memory of its processes; warm-ups stay out."""
    root = Node(file.json)
    facts = _facts(root)
    rows = Rows()
    dates: list[str] = []
    for benchmark in root["benchmarks"].elements():
        dates.extend(_add(rows, root, benchmark))
    moments = [moment for date in dates if (moment := read_moment(date)) is not None]
    run = RunReport(
        rows.table(),
        revision=next((name for key in _REVISIONS if (name := commit_name(facts.get(key, "")))), ""),
        branch=facts.get("commit_branch", ""),
        time=min(moments, default=None),
        environment={name: text for name, text in facts.items() if name not in _NO_FACTS},
    )
    return Report(_NAME, (run,)), ()


def _facts(place: Node) -> dict[str, str]:
    metadata = place.maybe("metadata")
    return metadata.facts() if metadata is not None else {}


def _add(rows: Rows, root: Node, benchmark: Node) -> list[str]:
    """Add the samples of ``benchmark`` and return the dates of its runs."""
    facts = {**_facts(root), **_facts(benchmark)}
    name = facts.get("name", "")
    if not name:
        raise benchmark.refuse("the benchmark has no name", remedy="Give it one with --name, or in its metadata.")
    unit = facts.get("unit", "second")
    metric, symbol, better = _UNITS.get(unit, ("value", unit, Better.UNKNOWN))
    runs = list(benchmark["runs"].elements())
    measured = [run for run in runs if "values" in run]
    timed, resident = {"benchmark": name, "metric": metric}, {"benchmark": name, "metric": "max_rss"}
    with rows.failing(timed):
        samples = [sample for run in measured for sample in run["values"].numbers(name)]
        rows.add(timed, samples, symbol, better)
    if metric != "memory":
        with rows.failing(resident):
            peaks = [peak.number(name) for run in measured for peak in _peaks(run, benchmark, root)]
            rows.add(resident, peaks, "B", Better.LOWER)
    dates = [metadata.words("date") for run in runs if (metadata := run.maybe("metadata")) is not None]
    return [date for date in (facts.get("date", ""), *dates) if date]


def _peaks(*places: Node) -> list[Node]:
    """Return the largest memory of a run: what all runs share, pyperf writes with the benchmark or with the suite."""
    shared = [metadata for place in places if (metadata := place.maybe("metadata")) is not None]
    found = [dict(metadata.members()) for metadata in reversed(shared)]
    members = {name: node for metadata in found for name, node in metadata.items()}
    return [members[fact] for fact in _MEMORY if fact in members]
