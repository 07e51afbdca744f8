"""Read Catapult's histogram sets: a list of histograms and of the diagnostics that they share."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from knickpoint.formats.format import Parsed
from knickpoint.formats.toolbox.file_content import FileContent
from knickpoint.formats.toolbox.json_node import Node
from knickpoint.formats.toolbox.numbers import NoNumberError, read_moment
from knickpoint.formats.toolbox.result_rows import Rows
from knickpoint.model.commit import commit_name
from knickpoint.model.report import Report, RunReport
from knickpoint.model.unit_names import Better

_NAME: Final = "catapult-histograms"
_DIRECTIONS: Final = {
    "_smallerIsBetter": Better.LOWER,
    "_biggerIsBetter": Better.HIGHER,
    "-": Better.LOWER,
    "+": Better.HIGHER,
}
_UNITS: Final = {"sizeInBytes": "B", "msBestFitFormat": "ms", "tsMs": "ms", "bytesPerSecond": "B/s"}
_SERIES: Final = {"masters": "master", "bots": "bot", "benchmarks": "benchmark", "stories": "story"}
_REVISIONS: Final = ("pointId", "chromiumCommitPositions", "v8CommitPositions")
_RUNNING: Final = {"count": 0, "max": 1, "mean": 3, "min": 4}
"""Places in ``running``, which is [count, max, meanlogs, mean, min, sum, variance]."""
_MEASURED: Final = ("sampleValues", "running", "allBins")


def fits(file: FileContent) -> bool:
    """Return True if this is a list of histograms and diagnostics, with at least one histogram."""
    document = file.document
    return (
        isinstance(document, list)
        and all(isinstance(entry, dict) and (_is_histogram(entry) or "type" in entry) for entry in document)
        and any(_is_histogram(entry) and not entry.keys().isdisjoint(_MEASURED) for entry in document)
    )


def _is_histogram(entry: dict[str, object]) -> bool:
    return {"name", "unit"} <= entry.keys() and not {"value", "type"} & entry.keys()


def read(file: FileContent) -> Parsed:
    """Read one run: the sample values of each histogram, else its mean, smallest and largest value.

    The master, bot, benchmark and story of the diagnostics are params.
    """
    entries = list(Node(file.json).elements())
    shared = {entry.words("guid"): entry for entry in entries if "type" in entry and "guid" in entry}
    rows = Rows()
    revision, environment, revisions, start = "", {}, {}, None
    for entry in entries:
        if "type" in entry:
            continue
        diagnostics = dict(_diagnostics(entry, shared))
        _add(rows, entry, diagnostics)
        revision = revision or next(
            (name for key in _REVISIONS if diagnostics.get(key) and (name := commit_name(diagnostics[key][0]))), ""
        )
        revisions.update(
            {name: values[0] for name, values in diagnostics.items() if name.endswith("Revisions") and values}
        )
        environment.update(
            {
                name: " ".join(values)
                for name, values in diagnostics.items()
                if name in ("osNames", "architectures", "deviceIds")
            }
        )
        start = start or (diagnostics.get("benchmarkStart") or [""])[0]
    run = RunReport(
        rows.table(), revision=revision, time=read_moment(start), environment=environment, revisions=revisions
    )
    return Report(_NAME, (run,)), ()


def _diagnostics(entry: Node, shared: dict[str, Node]) -> Iterator[tuple[str, list[str]]]:
    """Yield name and values of the diagnostics of a histogram, those that hold plain values."""
    found = entry.maybe("diagnostics")
    for name, node in found.members() if found is not None else ():
        diagnostic = shared.get(node.value) if isinstance(node.value, str) else node
        if diagnostic is None or not isinstance(diagnostic.value, dict):
            continue
        values = diagnostic.maybe("values")
        if values is not None and isinstance(values.value, list):
            scalars = [value for value in values.elements() if isinstance(value.value, str | int | float)]
            yield name, [value.word() for value in scalars]
        elif "min" in diagnostic:
            yield name, [diagnostic.words("min")]


def _add(rows: Rows, entry: Node, diagnostics: dict[str, list[str]]) -> None:
    name = entry["name"].text()
    unit, better = entry["unit"].text(), Better.UNKNOWN
    for ending, direction in _DIRECTIONS.items():
        if unit.endswith(ending):
            unit, better = unit.removesuffix(ending), direction
    unit = _UNITS.get(unit, unit)
    params = {param: " ".join(diagnostics[name_]) for name_, param in _SERIES.items() if diagnostics.get(name_)}
    params["metric"] = name
    samples = entry.maybe("sampleValues")
    if samples is not None and samples.value:
        with rows.failing(params):
            values = [sample.number(name) for sample in samples.elements() if sample.value is not None]
            if not values:
                raise NoNumberError("every sample is null", where=samples.path)
            rows.add(params, values, unit, better)
        return
    running = entry.maybe("running")
    if running is None or not running.value:
        rows.fail(params, "the histogram is empty")
        return
    numbers = list(running.elements())
    if len(numbers) <= max(_RUNNING.values()):
        raise running.refuse(f"expected 7 statistics, got {len(numbers)}", of=name)
    with rows.failing(params):
        mean, count = numbers[_RUNNING["mean"]].number(name), numbers[_RUNNING["count"]].number(name)
        rows.add(params, (mean,), unit, better, summary={"count": count})
    for stat in ("min", "max"):
        named = {**params, "stat": stat}
        with rows.failing(named):
            rows.add(named, (numbers[_RUNNING[stat]].number(name),), unit, better)
