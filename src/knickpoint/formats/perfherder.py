"""Read Perfherder data: an artefact, or a log with ``PERFHERDER_DATA:`` lines."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from knickpoint.formats.format import Parsed
from knickpoint.formats.toolbox.file_content import FileContent
from knickpoint.formats.toolbox.json_node import Node, inner, measures
from knickpoint.formats.toolbox.numbers import read_moment
from knickpoint.formats.toolbox.result_rows import Rows
from knickpoint.model.report import Report, RunReport
from knickpoint.model.unit_names import Better

_NAME: Final = "perfherder"
_LINE: Final = re.compile(r"PERFHERDER_DATA:[ \t]*(?=\{)")


def fits(file: FileContent) -> bool:
    """Return True if this is an object with framework and suites, or has a line with one."""
    document = file.document
    if isinstance(document, dict):
        suites = document.get("suites")
        return (
            isinstance(document.get("framework"), dict)
            and isinstance(suites, list)
            and (not suites or measures([*suites, *inner(suites, "subtests")], ("value",)))
        )
    text = file.prose
    return "PERFHERDER_DATA:" in text and _LINE.search(text) is not None


def read(file: FileContent) -> Parsed:
    """Read one run: a series for each suite that has a value, and for each subtest.

    Lower is better unless the file says otherwise. Options are part of the series, tags are not.
    """
    rows = Rows()
    environment: dict[str, str] = {}
    times: list[float] = []
    for root in _blobs(file):
        common = {"framework": root["framework"]["name"].text()}
        application = root.maybe("application")
        if application is not None:
            common["application"] = application.words("name")
            environment["application.version"] = application.words("version")
        system = root.maybe("os")
        environment.update(
            {f"os.{name}": text for name, text in (system.facts() if system is not None else {}).items()}
        )
        times.extend(root.finite({"pushTimestamp": "seconds"}).values())
        for suite in root["suites"].elements():
            _add_suite(rows, common, suite, environment)
    run = RunReport(
        rows.table(),
        time=read_moment(min(times, default=None)),
        environment={name: text for name, text in environment.items() if text},
    )
    return Report(_NAME, (run,)), ()


def _blobs(file: FileContent) -> Iterator[Node]:
    if isinstance(file.document, dict):
        yield Node(file.document)
        return
    for number, line in enumerate(file.lines, 1):
        found = _LINE.search(line)
        if found:
            yield Node(file.parse_json(line[found.end() :].rstrip(), first_line=number), step=f"line {number}")


def _add_suite(rows: Rows, common: dict[str, str], suite: Node, environment: dict[str, str]) -> None:
    params = {**common, "benchmark": suite["name"].text()}
    options = suite.maybe("extraOptions")
    if options is not None and options.value:
        params["options"] = " ".join(sorted(option.text() for option in options.elements()))
    tags = suite.maybe("tags")
    if tags is not None and tags.value:
        environment[f"tags.{params['benchmark']}"] = " ".join(sorted(tag.text() for tag in tags.elements()))
    if suite.has("value") or suite.has("replicates"):
        _add(rows, params, suite)
    subtests = suite.maybe("subtests")
    for subtest in subtests.elements() if subtests is not None else ():
        _add(rows, {**params, "test": subtest["name"].text()}, subtest)


def _add(rows: Rows, params: dict[str, str], node: Node) -> None:
    name = node["name"].text()
    higher = "lowerIsBetter" in node and node["lowerIsBetter"].value is False
    better = Better.HIGHER if higher else Better.LOWER
    replicates = node.maybe("replicates")
    unit = node.words("unit")
    with rows.failing(params):
        if replicates is None or not replicates.value:
            rows.add(params, (node["value"].number(name),), unit, better)
        else:
            rows.add(params, replicates.numbers(name), unit, better, summary=node.finite({"value": "value"}))
