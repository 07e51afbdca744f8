"""Read what Julia's BenchmarkTools writes with ``BenchmarkTools.save``."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from knickpoint.formats.format import Parsed
from knickpoint.formats.toolbox.file_content import FileContent
from knickpoint.formats.toolbox.json_node import Node
from knickpoint.formats.toolbox.result_rows import Rows
from knickpoint.model.report import Report, RunReport
from knickpoint.model.unit_names import Better

_NAME: Final = "benchmarktools"
_GROUP: Final = "BenchmarkGroup"
_MEASURED: Final = ("Trial", "TrialEstimate")
_PREFIX: Final = "BenchmarkTools."
_DEEPEST: Final = 50


def fits(file: FileContent) -> bool:
    """Return True if this is a pair: versions, BenchmarkTools' among them, and what was saved."""
    document = file.document
    return (
        isinstance(document, list)
        and len(document) == 2
        and isinstance(document[0], dict)
        and "BenchmarkTools" in document[0]
        and isinstance(document[1], list)
    )


def read(file: FileContent) -> Parsed:
    """Read one run: time and time of garbage collection in nanoseconds, memory in bytes, and allocations.

    The keys of nested groups, joined with ``/``, are the benchmark. The times of a trial are samples; an estimate is a
    single value. Parameters, ratios and judgements that were saved along are not results.
    """
    root = Node(file.json)
    parts = list(root.elements())
    if len(parts) != 2:
        raise root.refuse("expected a pair: the versions, and the saved data")
    rows = Rows()
    for saved in parts[1].elements():
        for name, kind, node in _measured(saved, "", _DEEPEST):
            _add(rows, name or _NAME, kind, node)
    environment = parts[0].facts()
    return Report(_NAME, (RunReport(rows.table(), environment=environment),)), ()


def _measured(saved: Node, name: str, deepest: int) -> Iterator[tuple[str, str, Node]]:
    """Yield name, kind and content of each trial or estimate in what was saved, a pair of kind and content."""
    pair = list(saved.elements())
    if len(pair) != 2 or deepest < 1:
        raise saved.refuse("expected a pair of a type and its content, nested less deeply")
    kind = pair[0].text().removeprefix(_PREFIX)
    if kind in _MEASURED:
        yield name, kind, pair[1]
    elif kind == _GROUP:
        for key, inner in pair[1]["data"].members():
            yield from _measured(inner, f"{name}/{key}" if name else key, deepest - 1)


def _add(rows: Rows, name: str, kind: str, node: Node) -> None:
    params = {"benchmark": name}
    for metric, member, unit in (("time", "times", "ns"), ("gctime", "gctimes", "ns")):
        named = {**params, "metric": metric}
        with rows.failing(named):
            if kind == "Trial":
                rows.add(named, node[member].numbers(name), unit, Better.LOWER)
            else:
                rows.add(named, (node[metric].number(name),), unit, Better.LOWER)
    for metric, unit in (("memory", "B"), ("allocs", "allocs")):
        named = {**params, "metric": metric}
        with rows.failing(named):
            rows.add(named, (node[metric].number(name),), unit, Better.LOWER)
