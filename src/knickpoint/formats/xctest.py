"""Read the performance measurements that XCTest prints, as xcodebuild, swift test and Linux show them."""

from __future__ import annotations

import re
from typing import Final

from knickpoint.formats.format import Parsed
from knickpoint.formats.toolbox.file_content import FileContent
from knickpoint.formats.toolbox.numbers import numeral
from knickpoint.formats.toolbox.printed_reports import LONGEST_LINE, has_line, plain, unread_result
from knickpoint.formats.toolbox.result_rows import Rows
from knickpoint.model.report import Problem, Report, RunReport
from knickpoint.model.unit_names import Better

_NAME: Final = "xctest"
_MARK: Final = re.compile(r".*?\bmeasured \[(?P<metric>.*)")
_CASE: Final = re.compile(
    r".*?Test Case '(?:-\[(?P<suite>\S+) (?P<name>[^\]]+)\]|(?P<class>[^' ]+)\.(?P<function>[^' .]+))' measured \[.*"
)
"""The test as macOS names it, and as Linux does."""
_VALUES: Final = re.compile(
    r".*? measured \[(?P<metric>[^\]]*?)(?:, (?P<unit>[^,\]]+))?\] average: (?P<mean>\S*?), "
    r"relative standard deviation: (?P<deviation>\S*?)%, values: \[(?P<values>[^\]]*)\](?:.*polarity: prefers (?P<polarity>\w+))?.*"
)
_CUT: Final = re.compile(r".*?Test Case '.*' measured\b.*")
_BETTER: Final = {"smaller": Better.LOWER, "larger": Better.HIGHER}


def fits(file: FileContent) -> bool:
    """Return True if a line has the values that a test measured."""
    return has_line(file, " measured [", _VALUES)


def read(file: FileContent) -> Parsed:
    """Read one run: the values of every test and metric as samples.

    XCTest says which way is better, or the unit does.
    """
    rows = Rows()
    problems: list[Problem] = []
    for number, raw in enumerate(file.lines, 1):
        line = plain(raw).rstrip()
        if len(line) > LONGEST_LINE or not (mark := _MARK.fullmatch(line)):
            continue
        found = _VALUES.fullmatch(line)
        if found is None and number == file.open_line and _CUT.fullmatch(line):
            raise file.cut_short()
        params = {
            **_test(line),
            "metric": found["metric"] if found else mark["metric"].partition(",")[0].partition("]")[0],
        }
        samples = [numeral(text) for text in found["values"].split(",")] if found else []
        values = [sample for sample in samples if sample is not None]
        if found is None or not values or len(values) < len(samples) or not params.get("benchmark"):
            problems += unread_result(rows, params, line, number)
            continue
        deviation = numeral(found["deviation"])
        summary = {"stddev_percent": deviation} if deviation is not None else {}
        better = _BETTER.get(found["polarity"] or "", Better.UNKNOWN)
        rows.add(params, values, found["unit"] or "", better, summary=summary)
    return Report(_NAME, (RunReport(rows.table()),)), tuple(problems)


def _test(line: str) -> dict[str, str]:
    """Return the class as ``suite`` and the test as ``benchmark``, empty where the line names none."""
    found = _CASE.fullmatch(line)
    if found is None:
        return {}
    return {"suite": found["suite"] or found["class"], "benchmark": found["name"] or found["function"]}
