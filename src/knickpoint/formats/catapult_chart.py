"""Read Catapult's chart JSON, bare or wrapped for the upload to a dashboard."""

from __future__ import annotations

from typing import Final

from knickpoint.formats.format import Parsed
from knickpoint.formats.toolbox.file_content import FileContent
from knickpoint.formats.toolbox.json_node import Node, measures
from knickpoint.formats.toolbox.result_rows import Rows
from knickpoint.model.report import Problem, Report, RunReport, Severity
from knickpoint.model.unit_names import Better

_NAME: Final = "catapult-chart"
_BETTER: Final = {
    "up": Better.HIGHER,
    "bigger_is_better": Better.HIGHER,
    "higher_is_better": Better.HIGHER,
    "down": Better.LOWER,
    "smaller_is_better": Better.LOWER,
    "lower_is_better": Better.LOWER,
}
_MEASURED: Final = ("value", "values", "buckets")


def fits(file: FileContent) -> bool:
    """Return True if this has charts by name."""
    document = file.document
    if not isinstance(document, dict):
        return False
    chart = document.get("chart_data", document)
    charts = chart.get("charts") if isinstance(chart, dict) else None
    return isinstance(charts, dict) and any(measures(traces, _MEASURED) for traces in charts.values())


def read(file: FileContent) -> Parsed:
    """Read one run: a series for every chart and trace; the trace ``summary`` is that of the chart itself.

    Histograms hold counts by bucket, not values, so they stay out, with a warning.
    """
    root = Node(file.strict_json)
    chart = root.maybe("chart_data") or root
    common = {name: text for name in ("master", "bot") if (text := root.words(name))}
    common["benchmark"] = chart.words("benchmark_name") or chart.words("benchmark_description")
    rows = Rows()
    problems: list[Problem] = []
    for name, traces in chart["charts"].members():
        for trace, node in traces.members():
            params = {**common, "metric": name}
            if trace != "summary":
                params["story"] = trace
            problem = _add(rows, params, node)
            if problem is not None:
                problems.append(problem)
    versions = root.maybe("versions")
    supplemental = root.maybe("supplemental")
    run = RunReport(
        rows.table(),
        revision=root.words("point_id"),
        environment=supplemental.facts() if supplemental is not None else {},
        revisions=versions.facts() if versions is not None else {},
    )
    return Report(_NAME, (run,)), tuple(problems)


def _add(rows: Rows, params: dict[str, str], trace: Node) -> Problem | None:
    kind = trace.words("type")
    unit = trace.words("units")
    better = _BETTER.get(trace.words("improvement_direction"), Better.UNKNOWN)
    name = params["metric"]
    if kind == "histogram":
        return Problem(
            f"the histogram {name!r} has counts, not values, and was left out",
            where=trace.path,
            remedy="Have it written as list_of_scalar_values.",
            severity=Severity.WARNING,
        )
    found = trace.maybe("values" if kind == "list_of_scalar_values" else "value")
    if found is None:
        rows.fail(params, trace.words("none_value_reason") or "there is no value")
        return None
    values = list(found.elements()) if isinstance(found.value, list) else [found]
    if not values or any(value.value is None for value in values):
        rows.fail(params, trace.words("none_value_reason") or "a value is null")
        return None
    with rows.failing(params):
        rows.add(
            params, [value.number(name) for value in values], unit, better, summary=trace.finite({"std": "stddev"})
        )
    return None
