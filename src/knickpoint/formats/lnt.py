"""Read LNT's report format, version 2."""

from __future__ import annotations

import math
from typing import Final

from knickpoint.formats.format import Parsed
from knickpoint.formats.toolbox.file_content import FileContent
from knickpoint.formats.toolbox.json_node import Node
from knickpoint.formats.toolbox.numbers import read_moment, shown, to_float
from knickpoint.formats.toolbox.result_rows import Rows
from knickpoint.model.commit import commit_name
from knickpoint.model.report import Report, RunReport
from knickpoint.model.unit_names import Better

_NAME: Final = "lnt"
_REVISIONS: Final = ("commit", "git_sha", "git_commit", "llvm_project_revision", "revision", "run_order", "order")
_UNITS: Final = {
    "execution_time": "s",
    "exec_time": "s",
    "compile_time": "s",
    "link_time": "s",
    "code_size": "B",
    "mem_bytes": "B",
    "size": "B",
}
_HIGHER: Final = ("score",)
_MEASURES: Final = {*_UNITS, *_HIGHER}
"""What must be a number; under other names texts, such as hashes, are left out."""
_STATUSES: Final = {0: "", 1: "failed", 2: "failed as expected", 3: "not run"}


def fits(file: FileContent) -> bool:
    """Return True if this is a report of version 2."""
    document = file.document
    return (
        isinstance(document, dict)
        and str(document.get("format_version")) == "2"
        and isinstance(document.get("tests"), list)
        and "machine" in document
        and any(
            isinstance(value, int | float | list) or value is None
            for test in document["tests"]
            if isinstance(test, dict)
            for value in test.values()
        )
    )


def read(file: FileContent) -> Parsed:
    """Read one run: every number of a test is a metric, a list its samples, ``METRIC_status`` its outcome."""
    root = Node(file.json)
    run = root["run"]
    machine = root["machine"]
    rows = Rows()
    for test in root["tests"].elements():
        _add(rows, {"machine": machine.words("name"), "benchmark": test["name"].text()}, test)
    facts = {f"run.{name}": text for name, text in run.facts().items() if name not in ("start_time", "end_time")}
    report = RunReport(
        rows.table(),
        revision=next((name for key in _REVISIONS if (name := commit_name(run.words(key)))), ""),
        time=read_moment(run.words("start_time")),
        environment={**machine.facts(), **facts},
    )
    return Report(_NAME, (report,)), ()


def _add(rows: Rows, params: dict[str, str], test: Node) -> None:
    name = params["benchmark"]
    for metric, node in test.members():
        named = {**params, "metric": metric}
        text = isinstance(node.value, str) or node.value is None
        if metric == "name" or metric.endswith("_status") or (text and metric not in _MEASURES):
            continue
        failure = _outcome(test.value.get(f"{metric}_status", 0)) if isinstance(test.value, dict) else ""
        if failure:
            (rows.skip if failure == "not run" else rows.fail)(named, failure)
            continue
        better = Better.HIGHER if metric in _HIGHER else Better.LOWER if metric in _UNITS else Better.UNKNOWN
        with rows.failing(named):
            values = node.numbers(name) if isinstance(node.value, list) else (node.number(name),)
            rows.add(named, values, _UNITS.get(metric, ""), better)


def _outcome(status: object) -> str:
    """Return the failure that a status states of a metric, "" if it passed.

    One that is not a number states a failure.
    """
    number = to_float(status)
    return _STATUSES.get(int(number), "failed") if math.isfinite(number) else f"failed: its status is {shown(status)}"
