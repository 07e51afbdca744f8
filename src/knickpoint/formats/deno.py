"""Read what ``deno bench --json`` writes."""

from __future__ import annotations

from typing import Final

from knickpoint.formats.format import Parsed
from knickpoint.formats.toolbox.file_content import FileContent
from knickpoint.formats.toolbox.json_node import Node
from knickpoint.formats.toolbox.result_rows import Rows
from knickpoint.model.report import Report, RunReport
from knickpoint.model.unit_names import Better

_NAME: Final = "deno"
_STATISTICS: Final = {"min": "min", "max": "max", "p75": "p75", "p99": "p99", "p995": "p99.5", "p999": "p99.9"}


def fits(file: FileContent) -> bool:
    """Return True if this is an object of benches, and the runtime is Deno."""
    document = file.document
    return (
        isinstance(document, dict)
        and isinstance(document.get("benches"), list)
        and str(document.get("runtime", "")).startswith("Deno/")
    )


def read(file: FileContent) -> Parsed:
    """Read one run: times in nanoseconds by benchmark, group and file; the mean is the value, as there is no median."""
    root = Node(file.json)
    rows = Rows()
    for bench in root["benches"].elements():
        params = {
            "benchmark": bench["name"].text(),
            "suite": bench.words("group"),
            "file": bench.words("origin").rpartition("/")[2],
        }
        for result in bench["results"].elements():
            _add(rows, params, result)
    environment = {name: text for name in ("runtime", "cpu") if (text := root.words(name))}
    return Report(_NAME, (RunReport(rows.table(), environment=environment),)), ()


def _add(rows: Rows, params: dict[str, str], result: Node) -> None:
    measured = result.maybe("ok")
    if measured is None:
        failed = result.maybe("failed")
        message = failed.words("message") if failed is not None and isinstance(failed.value, dict) else ""
        rows.fail(params, message or "deno bench has no statistics: the benchmark failed")
        return
    name = params["benchmark"]
    with rows.failing(params):
        summary = measured.finite({"n": "samples"})
        rows.add(params, (measured["avg"].number(name),), "ns", Better.LOWER, summary=summary)
    for member, stat in _STATISTICS.items():
        if measured.has(member):
            named = {**params, "stat": stat}
            with rows.failing(named):
                rows.add(named, (measured[member].number(name),), "ns", Better.LOWER)
