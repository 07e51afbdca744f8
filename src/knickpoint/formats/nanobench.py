"""Read what ankerl::nanobench writes: its JSON template, and the tables that it prints."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from knickpoint.formats.format import Parsed
from knickpoint.formats.toolbox.file_content import FileContent
from knickpoint.formats.toolbox.json_node import Node
from knickpoint.formats.toolbox.numbers import NoNumberError, numeral
from knickpoint.formats.toolbox.printed_reports import LONGEST_LINE, plain
from knickpoint.formats.toolbox.result_rows import Rows
from knickpoint.model.errors import FormatError
from knickpoint.model.report import Report, RunReport
from knickpoint.model.unit_names import Better

_NAME: Final = "nanobench"
_MEDIAN: Final = "median(elapsed)"
_ERROR: Final = "medianAbsolutePercentError(elapsed)"
_NO_SIZE: Final = -1.0
_COUNTERS: Final = {
    "instructions": "median(instructions)",
    "cycles": "median(cpucycles)",
    "branches": "median(branchinstructions)",
    "branch-misses": "median(branchmisses)",
    "page-faults": "median(pagefaults)",
    "context-switches": "median(contextswitches)",
}
_HEADER: Final = re.compile(
    r"\|(?: *relative \|)?(?: *complexityN \|)? *(?P<time>[num]?s)/(?P<unit>[^ |]+) \| +[^ |]+/s \| +err% \|.*\| (?P<title>.+)"
)
_COLUMNS: Final = {"ins": "instructions", "cyc": "cycles", "bra": "branches"}
_NOT_COUNTED: Final = ("", "-")
_ESCAPED: Final = re.compile(r"\\(.)")
_LAST_CELL: Final = re.compile(r"(?::wavy_dash: )?`(?P<name>.*?)`(?: \(Unstable .*)?")


def fits(file: FileContent) -> bool:
    """Return True if this is an object of results with medians of what elapsed, or text with a table's header."""
    document = file.document
    if isinstance(document, dict):
        results = document.get("results")
        return (
            isinstance(results, list)
            and bool(results)
            and all(isinstance(result, dict) and {"name", _MEDIAN} <= result.keys() for result in results)
        )
    text = file.prose
    return "err% |" in text and any(
        _HEADER.fullmatch(plain(line.rstrip()))
        for line in text.split("\n")
        if "err% |" in line and len(line) <= LONGEST_LINE
    )


def read(file: FileContent) -> Parsed:
    """Read one run: the time of one unit and, where they were counted, hardware events, by title and name.

    The epochs are samples where the JSON has them. What is printed is rounded: the JSON is better.
    """
    rows = Rows()
    if file.document is not None or file.text.lstrip().startswith("{"):
        for result in Node(file.json)["results"].elements():
            _add(rows, result)
    else:
        _add_tables(rows, file)
    return Report(_NAME, (RunReport(rows.table()),)), ()


def _add(rows: Rows, result: Node) -> None:
    name = result["name"].text()
    params = {"benchmark": name, "suite": result.words("title")}
    timed = {**params, "metric": "time"}
    with rows.failing(timed):
        size = result["complexityN"].number(name) if result.has("complexityN") else _NO_SIZE
        batch = result["batch"].number(name) if result.has("batch") else 1.0
        if batch <= 0:
            raise NoNumberError(f"a batch of {batch:g} is not a number of units", where=result.path, of=name)
        if size != _NO_SIZE:
            params, timed = {**params, "n": f"{size:g}"}, {**timed, "n": f"{size:g}"}
        _add_time(rows, timed, result, batch)
        for metric, member in _COUNTERS.items():
            # Without performance counters, nanobench writes 0.
            if result.finite({member: "count"}).get("count", 0) > 0:
                rows.add({**params, "metric": metric}, (result[member].number(name) / batch,), "", Better.LOWER)


def _add_time(rows: Rows, params: dict[str, str], result: Node, batch: float) -> None:
    """Add the time of one unit: of each epoch, else the median; an iteration has ``batch`` units."""
    name = params["benchmark"]
    epochs = list(result["measurements"].elements()) if "measurements" in result else []
    error = result.finite({_ERROR: "error"}).get("error")
    summary = {"median_error_percent": 100 * error} if error is not None else {}
    with rows.failing(params):
        nodes = [epoch["elapsed"] for epoch in epochs] or [result[_MEDIAN]]
        samples = [node.number(name) / batch for node in nodes]
        rows.add(params, samples, f"s/{result.words('unit') or 'op'}", Better.LOWER, summary=summary)


def _add_tables(rows: Rows, file: FileContent) -> None:
    for header, found, line, number in _lines(file):
        cells = [cell.strip() for cell in line.strip("|").split("|", len(header) - 1)]
        named = _LAST_CELL.fullmatch(cells[-1])
        if len(cells) != len(header) or named is None:
            if number == file.open_line:
                raise file.cut_short()
            raise FormatError(
                "the row does not have a cell for each column and a name in backticks at the end",
                where=f"line {number}",
                remedy="Write what nanobench prints as it is, or render its JSON template.",
            )
        name = _ESCAPED.sub(r"\1", named["name"])
        params = {"benchmark": name, "suite": found["title"] if found["title"] != "benchmark" else ""}
        row = dict(zip(header, cells, strict=True))
        _add_cell(rows, {**params, "metric": "time"}, cells[header.index(f"{found['time']}/{found['unit']}")],
                  f"{found['time']}/{found['unit']}", number)  # fmt: skip
        for column, metric in _COLUMNS.items():
            text = row.get(f"{column}/{found['unit']}")
            if text in _NOT_COUNTED:
                rows.skip({**params, "metric": metric}, "nanobench counted none")
            elif text is not None:
                _add_cell(rows, {**params, "metric": metric}, text, "", number)


def _add_cell(rows: Rows, params: dict[str, str], text: str, unit: str, number: int) -> None:
    with rows.failing(params):
        value = numeral(text.replace(",", ""))
        if value is None:
            raise NoNumberError(f"expected a number, got {text!r}", where=f"line {number}")
        rows.add(params, (value,), unit, Better.LOWER)


def _lines(file: FileContent) -> Iterator[tuple[list[str], re.Match[str], str, int]]:
    """Yield the header as cells and as a match, and each row below it with its number."""
    header: list[str] = []
    found: re.Match[str] | None = None
    for number, raw in enumerate(file.lines, 1):
        line = plain(raw).rstrip()
        match = _HEADER.fullmatch(line) if len(line) <= LONGEST_LINE else None
        if match is not None:
            header, found = [cell.strip() for cell in line.strip("|").split("|")], match
        elif not line.startswith("|"):
            found = None
        elif found is not None and not line.startswith("|-") and len(line) <= LONGEST_LINE:
            yield header, found, line, number
