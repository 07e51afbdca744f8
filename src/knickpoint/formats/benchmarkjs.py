"""Read the lines that benchmark.js prints for each benchmark."""

from __future__ import annotations

import re
from typing import Final

from knickpoint.formats.format import Parsed
from knickpoint.formats.toolbox.file_content import FileContent
from knickpoint.formats.toolbox.numbers import numeral
from knickpoint.formats.toolbox.printed_reports import has_line, unread_result
from knickpoint.formats.toolbox.result_rows import Rows
from knickpoint.formats.toolbox.terminal_output import LONGEST_LINE, plain
from knickpoint.model.report import Problem, Report, RunReport
from knickpoint.model.unit import Better

__all__ = ["fits", "read"]

_NAME: Final = "benchmarkjs"
_LINE: Final = re.compile(
    r"\s*(?P<name>\S.*?) x (?P<value>[\d.,]+|-?inf|nan|Infinity|NaN) ops/sec ±(?P<spread>\S*?)% \((?P<runs>\S+) runs? sampled\)"
)
_MARK: Final = re.compile(r"\s*(?:(?P<name>\S.*) x )?.*\bops/sec ±.*|\s*(?P<cut_name>\S.*) x .*\bops/sec\b.*")
_CUT: Final = re.compile(r".* x [\d.,]+ ops/sec\b.*|.* x \d[\d.,]*(?: \w*)?")


def fits(file: FileContent) -> bool:
    """Tell whether a line gives the operations per second of a benchmark, and how many runs it sampled."""
    return has_line(file, " ops/sec ", _LINE)


def read(file: FileContent) -> Parsed:
    """Read one run: operations per second, higher is better; the relative margin of error is in the summary."""
    rows = Rows()
    problems: list[Problem] = []
    for number, raw in enumerate(file.lines, 1):
        line = plain(raw).rstrip()
        if len(line) > LONGEST_LINE:
            continue
        found = _LINE.fullmatch(line)
        if found is None:
            if number == file.open_line and _CUT.fullmatch(line):
                raise file.cut_short()
            if mark := _MARK.fullmatch(line):
                problems += unread_result(rows, {"benchmark": mark["name"] or mark["cut_name"] or ""}, line, number)
            continue
        params = {"benchmark": found["name"]}
        value = numeral(found["value"].replace(",", ""))
        if value is None:
            problems += unread_result(rows, params, line, number)
        else:
            spread = {"range_percent": numeral(found["spread"]), "samples": numeral(found["runs"])}
            summary = {name: figure for name, figure in spread.items() if figure is not None}
            rows.add(params, (value,), "ops/sec", Better.HIGHER, summary=summary)
    return Report(_NAME, (RunReport(rows.table()),)), tuple(problems)
