"""Read the lines that benchmark.js prints for each benchmark."""

from __future__ import annotations

import re
from typing import Final

from knickpoint.formats.format import Parsed
from knickpoint.formats.toolbox.file_content import FileContent
from knickpoint.formats.toolbox.numbers import numeral
from knickpoint.formats.toolbox.printed_reports import LONGEST_LINE, plain, unread_result
from knickpoint.formats.toolbox.result_rows import Rows
from knickpoint.model.report import Problem, Report, RunReport
from knickpoint.model.unit_names import Better

_NAME: Final = "benchmarkjs"
_MARK: Final = "ops/sec"
_SPREAD: Final = re.compile(r" ±(?P<spread>\S*?)% \((?P<runs>\S+) runs? sampled\)")
_CUT: Final = re.compile(r".* x [\d.,]+ ops/sec\b.*|.* x \d[\d.,]*(?: \w*)?")


def fits(file: FileContent) -> bool:
    """Return True if a line gives the operations per second of a benchmark, and how many runs it sampled."""
    text = file.prose
    return _MARK in text and any(
        _SPREAD.fullmatch(_parts(plain(line.rstrip()))[2])
        for line in text.split("\n")
        if _MARK in line and " x " in line and len(line) <= LONGEST_LINE
    )


def read(file: FileContent) -> Parsed:
    """Read one run: operations per second, higher is better; the relative margin of error is in the summary."""
    rows = Rows()
    problems: list[Problem] = []
    for number, raw in enumerate(file.lines, 1):
        line = plain(raw).rstrip()
        if len(line) > LONGEST_LINE:
            continue
        name, text, behind = _parts(line)
        found, value = _SPREAD.fullmatch(behind), numeral(text.replace(",", ""))
        if found is None and number == file.open_line and _CUT.fullmatch(line):
            raise file.cut_short()
        if found is not None and value is not None and name:
            spread = {"range_percent": numeral(found["spread"]), "samples": numeral(found["runs"])}
            summary = {name: figure for name, figure in spread.items() if figure is not None}
            rows.add({"benchmark": name}, (value,), "ops/sec", Better.HIGHER, summary=summary)
        elif _MARK in line and (name or found is not None):
            problems += unread_result(rows, {"benchmark": name}, line, number)
    return Report(_NAME, (RunReport(rows.table()),)), tuple(problems)


def _parts(line: str) -> tuple[str, str, str]:
    """Return the name, the number and what follows ``ops/sec``; the last x parts name and number."""
    before, _, behind = line.partition(_MARK)
    name, _, text = before.rpartition(" x ")
    return name.strip(), text, behind
