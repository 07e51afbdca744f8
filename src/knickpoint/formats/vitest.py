"""Read what Vitest writes with ``vitest bench --outputJson``."""

from __future__ import annotations

from typing import Final

from knickpoint.formats.format import Parsed
from knickpoint.formats.node import Node
from knickpoint.formats.rows import Rows
from knickpoint.formats.source import Source
from knickpoint.model.report import Report, RunReport
from knickpoint.model.unit import Better

__all__ = ["fits", "read"]

_NAME: Final = "vitest"
_STATISTICS: Final = {"min": "min", "max": "max", "p75": "p75", "p99": "p99", "p995": "p99.5", "p999": "p99.9"}
_SUMMARY: Final = {"sd": "stddev", "rme": "relative_margin", "sampleCount": "samples"}


def fits(source: Source) -> bool:
    """Tell whether this is an object of files with groups of benchmarks."""
    document = source.document
    files = document.get("files") if isinstance(document, dict) else None
    return (
        isinstance(files, list)
        and bool(files)
        and all(isinstance(file, dict) and isinstance(file.get("groups"), list) for file in files)
    )


def read(source: Source) -> Parsed:
    """Read one run, times in milliseconds: the samples where they were kept, else the median and other statistics."""
    rows = Rows()
    for file in Node(source.json)["files"].elements():
        for group in file["groups"].elements():
            for benchmark in group["benchmarks"].elements():
                _add(rows, {"benchmark": benchmark["name"].text(), "suite": group.words("fullName")}, benchmark)
    return Report(_NAME, (RunReport(rows.table()),)), ()


def _add(rows: Rows, params: dict[str, str], benchmark: Node) -> None:
    name = params["benchmark"]
    samples = benchmark.maybe("samples")
    if samples is not None and samples.value:
        rows.add(params, samples.numbers(name), "ms", Better.LOWER)
        return
    if "mean" not in benchmark:
        rows.fail(params, "Vitest has no result: the benchmark failed or was skipped")
        return
    summary = {told: benchmark[member].number(name) for member, told in _SUMMARY.items() if member in benchmark}
    main = "median" if "median" in benchmark else "mean"
    rows.add(params, (benchmark[main].number(name),), "ms", Better.LOWER, summary=summary)
    others = {"mean": "mean", **_STATISTICS} if main == "median" else _STATISTICS
    for member, stat in others.items():
        if member in benchmark:
            rows.add({**params, "stat": stat}, (benchmark[member].number(name),), "ms", Better.LOWER)
