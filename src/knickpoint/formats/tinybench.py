"""Read what tinybench measured: tasks with their results as JSON, or the table that it offers, as JSON or printed."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from knickpoint.formats.format import Parsed
from knickpoint.formats.toolbox.file_content import FileContent
from knickpoint.formats.toolbox.json_node import Node, measures
from knickpoint.formats.toolbox.numbers import NoNumberError, numeral
from knickpoint.formats.toolbox.printed_reports import plain
from knickpoint.formats.toolbox.result_rows import Rows
from knickpoint.model.errors import FormatError
from knickpoint.model.report import Report, RunReport
from knickpoint.model.unit_names import Better

_NAME: Final = "tinybench"
_TASK_NAMES: Final = ("Task name", "Task Name")
_STATISTICS: Final = {
    "mean": "mean",
    "min": "min",
    "max": "max",
    "p75": "p75",
    "p99": "p99",
    "p995": "p99.5",
    "p999": "p99.9",
}
_SUMMARY: Final = {"sd": "stddev", "mad": "mad", "samplesCount": "samples"}
_HEADER: Final = re.compile(r"│ \(index\) +│ (?P<columns>'?Task [nN]ame'?[^\n]*)│")
_MEDIAN: Final = re.compile(r"(?:Latency|Average Time|latency) med(?:ian)? \((?P<unit>\w+)\)")
_MEAN: Final = re.compile(r"(?:Latency (?:avg|average)|Average Time|latency avg) \((?P<unit>\w+)\)")
_VALUE: Final = re.compile(r"(?P<value>[\d.]+)(?: ± .*)?")


def fits(file: FileContent) -> bool:
    """Return True if this is a list of tasks, of rows of the table, or text with the table."""
    document = file.document
    if isinstance(document, list):
        return bool(document) and (all(map(_is_task, document)) or all(map(_is_row, document)))
    return "│ (index)" in file.prose and _HEADER.search(file.prose) is not None


def read(file: FileContent) -> Parsed:
    """Read one run: the time of each task, from the samples where they were kept, else the median, else the mean.

    Throughput stays out: it is the inverse of the time. A task with an error failed.
    """
    rows = Rows()
    document = file.document
    if document is None and file.prose.lstrip()[:1] in ("[", "{"):
        _ = file.json
    if isinstance(document, list):
        for node in Node(document).elements():
            if any(node.has(name) for name in _TASK_NAMES):
                cells = {
                    name: cell.word() if not isinstance(cell.value, list | dict) else ""
                    for name, cell in node.members()
                }
                _add_row(rows, cells, node.path)
            else:
                _add_task(rows, node)
    else:
        for cells, where in _printed(file):
            _add_row(rows, cells, where)
    return Report(_NAME, (RunReport(rows.table()),)), ()


def _is_task(entry: object) -> bool:
    if not isinstance(entry, dict) or not isinstance(entry.get("name"), str):
        return False
    result = entry["result"] if isinstance(entry.get("result"), dict) else entry
    latency, throughput = result.get("latency"), result.get("throughput")
    return (
        (measures([latency], ("mean", "p50", "samples")) and isinstance(throughput, dict))
        or {"hz", "mean", "p99", "rme"} <= result.keys()
        or (
            result.get("state") in ("errored", "aborted", "not-started") and (result is not entry or "runtime" in entry)
        )
        or (result is not entry and "error" in result and "totalTime" in result)
    )


def _is_row(entry: object) -> bool:
    return isinstance(entry, dict) and any(name in entry for name in _TASK_NAMES)


def _add_task(rows: Rows, task: Node) -> None:
    name = task["name"].text()
    params = {"benchmark": name}
    inner = task.maybe("result")
    result = inner if inner is not None and isinstance(inner.value, dict) else task
    state = result.words("state") if not isinstance((result.maybe("state") or Node("")).value, list | dict) else ""
    if state in ("aborted", "not-started"):
        rows.skip(params, f"tinybench: {state}")
        return
    error = result.maybe("error")
    if error is not None or state == "errored":
        message = error.words("message") if error is not None and isinstance(error.value, dict) else ""
        rows.fail(params, message or "the task threw an error")
        return
    latency = result.maybe("latency") or result
    samples = latency.maybe("samples")
    if samples is not None and samples.value:
        with rows.failing(params):
            rows.add(params, samples.numbers(name), "ms", Better.LOWER)
        return
    measured = {stat: member for member, stat in _STATISTICS.items() if latency.has(member)}
    if latency.has("p50"):
        measured[""] = "p50"
    elif "mean" in measured:
        measured[""] = measured.pop("mean")
    else:
        raise task.refuse("the result has neither a median nor a mean", of=name)
    for stat, member in measured.items():
        named = {**params, "stat": stat} if stat else params
        with rows.failing(named):
            summary = None if stat else latency.finite(_SUMMARY)
            rows.add(named, (latency[member].number(name),), "ms", Better.LOWER, summary=summary)


def _add_row(rows: Rows, cells: dict[str, str], where: str) -> None:
    name = next((cells[column] for column in _TASK_NAMES if cells.get(column)), "")
    if not name:
        raise FormatError("a row of the table names no task", where=where, remedy="Write the file again.")
    params = {"benchmark": name}
    if cells.get("Error"):
        rows.fail(params, cells["Error"])
        return
    found = {stat: match for stat, pattern in (("", _MEDIAN), ("mean", _MEAN)) if (match := _column(cells, pattern))}
    if "" not in found and "mean" in found:
        found[""] = found.pop("mean")
    if not found:
        raise FormatError(
            "the table has no column with the latency and its unit", where=where, remedy="Print bench.table()."
        )
    count = numeral(cells.get("Samples", ""))
    summary = {"samples": count} if count is not None else {}
    for stat, (text, unit) in found.items():
        named = {**params, "stat": stat} if stat else params
        with rows.failing(named):
            value = _VALUE.fullmatch(text)
            number = numeral(value["value"]) if value else None
            if number is None:
                raise NoNumberError(f"expected a time, got {text!r}", where=where)
            rows.add(named, (number,), unit, Better.LOWER, summary=None if stat else summary)


def _column(cells: dict[str, str], pattern: re.Pattern[str]) -> tuple[str, str] | None:
    """Return the cell under the column that ``pattern`` names, and the unit in that name."""
    for column, text in cells.items():
        found = pattern.fullmatch(column)
        if found:
            return text, found["unit"]
    return None


def _printed(file: FileContent) -> Iterator[tuple[dict[str, str], str]]:
    """Yield the rows of each table that ``console.table`` printed, and the line of each."""
    header: list[str] = []
    for number, raw in enumerate(file.lines, 1):
        line = plain(raw)
        if line.startswith("└"):
            header = []
        elif _HEADER.fullmatch(line):
            header = _cells(line)
        elif header and line.startswith("│"):
            cells = _cells(line)
            if len(cells) != len(header):
                raise FormatError(
                    f"the row has {len(cells)} cells, the header {len(header)}",
                    where=f"line {number}",
                    remedy="The table is truncated, or a name has a │; write the table as JSON.",
                )
            yield dict(zip(header, cells, strict=True)), f"line {number}"
    if header:
        raise file.cut_short()


def _cells(line: str) -> list[str]:
    return [cell.strip().strip("'") for cell in line.strip().strip("│").split("│")]
