"""Read what Ruby's benchmark-ips prints, and what it writes with ``json!``."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from knickpoint.formats.format import Parsed
from knickpoint.formats.toolbox.file_content import FileContent
from knickpoint.formats.toolbox.json_node import Node
from knickpoint.formats.toolbox.numbers import numeral
from knickpoint.formats.toolbox.printed_reports import LONGEST_LINE, plain, unread_result
from knickpoint.formats.toolbox.result_rows import Rows
from knickpoint.model.report import Problem, Report, RunReport
from knickpoint.model.unit_names import Better

_NAME: Final = "benchmark-ips"
_MEMBERS: Final = {"name", "ips", "stddev", "microseconds", "iterations"}
_MARK: Final = re.compile(r"\(±(?P<error>[^()]*)\)\s+i/s(?!\S)")
_VALUE: Final = re.compile(r"(?P<value>\S*?)(?P<scale>[kMBTQ]?)")
_CUT: Final = re.compile(r".*\(±.*")
_CALCULATING: Final = re.compile(r"Calculating -+")
_SCALES: Final = {"": 1.0, "k": 1e3, "M": 1e6, "B": 1e9, "T": 1e12, "Q": 1e15}


def fits(file: FileContent) -> bool:
    """Return True if this is a list of reports with iterations per second, or the text with them."""
    document = file.document
    if document is not None:
        return (
            isinstance(document, list)
            and bool(document)
            and all(isinstance(entry, dict) and entry.keys() >= _MEMBERS for entry in document)
        )
    return any(_MARK.search(line) for line in file.prose.split("\n") if "i/s" in line and len(line) <= LONGEST_LINE)


def read(file: FileContent) -> Parsed:
    """Read one run: iterations per second, higher is better; the text rounds them to four or five digits."""
    rows = Rows()
    problems: tuple[Problem, ...] = ()
    if file.document is not None or file.text.lstrip().startswith("["):
        for entry in Node(file.json).elements():
            name = entry["name"].text()
            with rows.failing({"benchmark": name}):
                summary = entry.finite({"stddev": "stddev", "iterations": "iterations"})
                rows.add({"benchmark": name}, (entry["ips"].number(name),), "i/s", Better.HIGHER, summary=summary)
    else:
        problems = tuple(_add_text(rows, file))
    return Report(_NAME, (RunReport(rows.table()),)), problems


def _add_text(rows: Rows, file: FileContent) -> Iterator[Problem]:
    """Add the results of the text; yield warnings about those without a name."""
    before = ""
    for number, raw in enumerate(file.lines, 1):
        line = plain(raw).rstrip()
        if len(line) > LONGEST_LINE:
            continue
        found = _MARK.search(line)
        if found is None:
            if number == file.open_line and _CUT.fullmatch(line):
                raise file.cut_short()
            before = "" if _CALCULATING.fullmatch(line) else line.strip()
            continue
        # A name of more than 20 letters stands in the line before; without a number, the name stands in its place.
        *name, last = line[: found.start()].rsplit(None, 1) or [""]
        value, scale = _value(last)
        params = {"benchmark": (name[0].strip() if name else "") or before or (last if value is None else "")}
        error = numeral(found["error"].rstrip("%"))
        before = ""
        if value is None or not params["benchmark"]:
            yield from unread_result(rows, params, line, number)
        else:
            summary = {"range_percent": error} if error is not None else {}
            rows.add(params, (value * scale,), "i/s", Better.HIGHER, summary=summary)


def _value(text: str) -> tuple[float | None, float]:
    """Return the number in ``text``, None where it has none, and what the letter behind it multiplies it by."""
    found = _VALUE.fullmatch(text)
    return (numeral(found["value"]), _SCALES[found["scale"]]) if found else (None, 1.0)
