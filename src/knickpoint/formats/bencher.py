"""Read the Bencher Metric Format."""

from __future__ import annotations

import re
from typing import Final

from knickpoint.formats.format import Parsed
from knickpoint.formats.toolbox.file_content import FileContent
from knickpoint.formats.toolbox.json_node import Node
from knickpoint.formats.toolbox.result_rows import Rows
from knickpoint.model.report import Report, RunReport
from knickpoint.model.unit_names import Better

_NAME: Final = "bencher"
_BOUNDS: Final = {"lower_value": "lower", "upper_value": "upper"}
_IGNORED: Final = re.compile(r"[-_]bencher[-_]ignore$|BencherIgnore$")
_MEASURES: Final = {
    "latency": ("ns", Better.LOWER),
    "throughput": ("ops/s", Better.HIGHER),
    "build-time": ("s", Better.LOWER),
    "file-size": ("B", Better.LOWER),
    "instructions": ("instructions", Better.LOWER),
    "estimated-cycles": ("cycles", Better.LOWER),
    "total-cycles": ("cycles", Better.LOWER),
}
"""Units of the measures that Bencher itself defines; of others it keeps the unit on its server."""


def fits(file: FileContent) -> bool:
    """Return True if this is an object of benchmarks, each an object of measures with a value."""
    document = file.document
    return (
        isinstance(document, dict)
        and bool(document)
        and all(
            isinstance(measures, dict) and bool(measures) and all(map(_is_measure, measures.values()))
            for measures in document.values()
        )
    )


def _is_measure(measure: object) -> bool:
    return isinstance(measure, dict) and "value" in measure and measure.keys() <= {"value", *_BOUNDS}


def read(file: FileContent) -> Parsed:
    """Read one run: a series for every benchmark and measure, the bounds in its summary."""
    rows = Rows()
    for name, measures in Node(file.strict_json).members():
        for measure, node in measures.members():
            unit, better = _MEASURES.get(measure, ("", Better.UNKNOWN))
            params = {"benchmark": _IGNORED.sub("", name), "metric": measure}
            with rows.failing(params):
                rows.add(params, (node["value"].number(name),), unit, better, summary=node.finite(_BOUNDS))
    return Report(_NAME, (RunReport(rows.table()),)), ()
