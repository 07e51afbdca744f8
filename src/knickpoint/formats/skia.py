"""Read Skia Perf's format, version 1."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from knickpoint.formats.format import Parsed
from knickpoint.formats.skia_columns import quick_table
from knickpoint.formats.toolbox.file_content import FileContent
from knickpoint.formats.toolbox.json_node import Node, measures
from knickpoint.formats.toolbox.result_rows import Rows
from knickpoint.model.report import Problem, Report, ResultTable, RunReport, Severity
from knickpoint.model.unit import Better, better_of, read_unit
from knickpoint.model.unit_in_name import unit_in_name

__all__ = ["careful_table", "fits", "read", "skia_better", "skia_unit"]

_NAME: Final = "skia"
_DIRECTIONS: Final = {"up": Better.HIGHER, "down": Better.LOWER}
_SUFFIXES: Final = {"_smallerIsBetter": Better.LOWER, "_biggerIsBetter": Better.HIGHER}


def fits(file: FileContent) -> bool:
    """Tell whether this is an object with a version, a commit and results."""
    document = file.document
    return (
        isinstance(document, dict)
        and document.get("version") == 1
        and "git_hash" in document
        and isinstance(document.get("results", []), list)
        and (not document.get("results") or measures(document["results"], ("measurement", "measurements")))
    )


def read(file: FileContent) -> Parsed:
    """Read one run: a trace per result, or per value of a group of measurements.

    The unit is the param ``unit`` or ``units``, else the name of the group where that is a unit; the direction
    is ``improvement_direction``, else the unit's.
    """
    root = Node(file.json)
    if root["version"].value != 1 or isinstance(root["version"].value, bool):
        raise root["version"].refuse("only version 1 is known", remedy="Write version 1, as an integer.")
    revision = root.words("git_hash")
    number = revision.removeprefix("CP:")
    problems: list[Problem] = []
    environment = {name: text for name in ("issue", "patchset") if (text := root.words(name))}
    if environment.get("issue"):
        problems.append(
            Problem(
                f"these are results of patch {environment['issue']}, not of commit {revision[:12]} alone",
                where="issue",
                remedy="Tell them apart by a param, as in --param patch=NAME.",
                severity=Severity.WARNING,
            )
        )
    common = root.maybe("key")
    params = {name: node.text() for name, node in common.members()} if common is not None else {}
    links = root.maybe("links")
    run = RunReport(
        _table(root, params),
        revision=number if number.isdecimal() else revision,
        branch=params.get("branch", ""),
        environment=environment,
        links=links.facts() if links is not None else {},
    )
    return Report(_NAME, (run,)), tuple(problems)


def _table(root: Node, common: dict[str, str]) -> ResultTable:
    results = root.maybe("results")
    quick = (
        quick_table(results.value, common, _traits) if results is not None and isinstance(results.value, list) else None
    )
    return quick or careful_table(root, common)


def _traits(params: Mapping[str, str], group: str) -> tuple[str, Better]:
    unit = skia_unit(params, group)
    return unit, skia_better(params, unit)


def skia_unit(params: Mapping[str, str], group: str = "") -> str:
    """Return the unit that ``params`` name, else ``group`` where that is the name of a unit, else the metric's."""
    text = params.get("units") or params.get("unit") or ""
    for suffix in _SUFFIXES:
        text = text.removesuffix(suffix)
    if not text and group and not read_unit(group).dimension.startswith("?"):
        return group
    return text or unit_in_name(params.get("metric", ""))


def skia_better(params: Mapping[str, str], unit: str) -> Better:
    """Return the direction that ``params`` say, else that of the metric's name and the unit."""
    direction = _DIRECTIONS.get(params.get("improvement_direction", ""))
    if direction is not None:
        return direction
    written = params.get("units") or params.get("unit") or ""
    for suffix, better in _SUFFIXES.items():
        if written.endswith(suffix):
            return better
    return better_of(params.get("metric", ""), unit, params.get("benchmark", ""))


def careful_table(root: Node, common: dict[str, str]) -> ResultTable:
    """Return the results of any file, one by one, naming the place of what is wrong."""
    rows = Rows()
    results = root.maybe("results")
    for result in results.elements() if results is not None else ():
        key = result.maybe("key")
        params = {**common, **({name: node.text() for name, node in key.members()} if key is not None else {})}
        measurements = result.maybe("measurements")
        if measurements is None or not measurements.value:
            unit = skia_unit(params)
            with rows.failing(params):
                rows.add(params, (result["measurement"].number(str(params)),), unit, skia_better(params, unit))
            continue
        for group, singles in measurements.members():
            for single in singles.elements():
                named = {**params, group: single["value"].text()}
                unit = skia_unit(named, group)
                links = single.maybe("links")
                facts = links.facts() if links is not None else None
                with rows.failing(named):
                    value = single["measurement"].number(str(named))
                    rows.add(named, (value,), unit, skia_better(named, unit), links=facts)
    return rows.table()
