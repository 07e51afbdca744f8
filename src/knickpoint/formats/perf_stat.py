"""Read what ``perf stat`` writes with ``-j`` and with ``-x``."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from knickpoint.formats.format import Parsed
from knickpoint.formats.toolbox.file_content import FileContent
from knickpoint.formats.toolbox.json_node import Node
from knickpoint.formats.toolbox.numbers import NoNumberError, numeral, read_moment
from knickpoint.formats.toolbox.printed_reports import LONGEST_LINE
from knickpoint.formats.toolbox.result_rows import Rows
from knickpoint.model.errors import FormatError
from knickpoint.model.report import Report, RunReport
from knickpoint.model.unit_names import Better

_NAME: Final = "perf-stat"
_BENCHMARK: Final = "perf stat"
_STARTED: Final = re.compile(r"# started on (?P<time>.+)")
_JSON: Final = re.compile(r'\{(?:"[\w-]+" : (?:"[^"]*"|[\d.-]+), )*"counter-value" : ".*\}?')
_SEPARATORS: Final = ",;|\t:"
_COUNT: Final = r"(?P<value>[\d.]+|<not (?:supported|counted)>)"
_TABLE: Final = {
    separator: re.compile(
        r"(?:(?P<unit_of_cpu>CPU\d+|[SNDC]\d[\w-]*){s}(?:\d+{s})?)?{count}{s}(?P<unit>[A-Za-z]*){s}"
        r"(?P<event>[^{s}\s]+){s}(?:(?P<error>[\d.]+)%{s})?(?P<runtime>\d+){s}(?P<percent>[\d.]+)(?:{s}.*)?".replace(
            "{s}", re.escape(separator)
        ).replace("{count}", _COUNT)
    )
    for separator in _SEPARATORS
}
_INTERVAL: Final = {separator: re.compile(rf"\s+\d+\.\d+{re.escape(separator)}.*") for separator in _SEPARATORS}
_PLACES: Final = ("cpu", "core", "die", "socket", "node", "thread")
"""Members that say on which part of the machine, or of which thread, events were counted."""


@dataclass(frozen=True, slots=True)
class _Count:
    """One event as it was counted; ``place`` has where, where perf says so."""

    event: str
    value: str
    unit: str
    place: dict[str, str]
    summary: dict[str, float]


def fits(file: FileContent) -> bool:
    """Return True if the first line that is not a comment counts an event."""
    first = _first_line(file)
    return bool(_JSON.fullmatch(first) or _pattern(first) or _interval(first))


def read(file: FileContent) -> Parsed:
    """Read one run: a series for each event, of which fewer are better, as all of them cost something.

    perf does not write which command it measured, so the benchmark is called ``perf stat``. Events that the machine
    cannot count are skipped; what perf derives from others stays out, and so does a count for each interval.
    """
    first = _first_line(file)
    if _interval(first) or '"interval"' in first:
        raise FormatError(
            "each line counts the events of one interval of the run, not of the whole run",
            where="the first line",
            remedy="Run perf stat without -I.",
        )
    rows = Rows()
    for count, where in _counts(file, first):
        _add(rows, count, where)
    found = next((found for line in file.lines[:5] if (found := _STARTED.fullmatch(line))), None)
    return Report(_NAME, (RunReport(rows.table(), time=read_moment(found["time"]) if found else None),)), ()


def _first_line(file: FileContent) -> str:
    text = file.readable[:65536]
    lines = (line.rstrip("\r") for line in text.split("\n"))
    first = next((line for line in lines if line.strip() and not line.startswith("#")), "")
    return first if len(first) <= LONGEST_LINE else ""


def _pattern(line: str) -> re.Pattern[str] | None:
    return next((pattern for pattern in _TABLE.values() if pattern.fullmatch(line)), None)


def _interval(line: str) -> bool:
    return any(
        interval.fullmatch(line) and _TABLE[separator].fullmatch(line.partition(separator)[2])
        for separator, interval in _INTERVAL.items()
    )


def _counts(file: FileContent, first: str) -> list[tuple[_Count, str]]:
    pattern = _pattern(first)
    found = []
    for number, line in enumerate(file.lines, 1):
        if not line.strip() or line.startswith("#"):
            continue
        where = f"line {number}"
        if pattern is None:
            found.append((_json_count(Node(file.parse_json(line, first_line=number), step=f"{where}: ")), where))
            continue
        match = pattern.fullmatch(line) if len(line) <= LONGEST_LINE else None
        if match is None:
            if number == file.open_line:
                raise file.cut_short()
            raise FormatError(
                f"{line[:60]!r} counts no event",
                where=where,
                remedy="Let perf write into a file with -o, where the output of the command does not come in between.",
            )
        found.append((_table_count(match), where))
    return found


def _json_count(node: Node) -> _Count:
    place = {name: text for name in _PLACES if (text := node.words(name))}
    summary = node.finite({"variance": "stderr_percent", "pcnt-running": "percent_running"})
    return _Count(node["event"].text(), node.words("counter-value"), node.words("unit"), place, summary)


def _table_count(match: re.Match[str]) -> _Count:
    place = match["unit_of_cpu"]
    summary = {"percent_running": numeral(match["percent"])}
    if match["error"]:
        summary["stderr_percent"] = numeral(match["error"])
    return _Count(
        match["event"],
        match["value"],
        match["unit"],
        {"cpu": place.removeprefix("CPU")} if place else {},
        {name: value for name, value in summary.items() if value is not None},
    )


def _add(rows: Rows, count: _Count, where: str) -> None:
    params = {"benchmark": _BENCHMARK, **count.place, "metric": count.event}
    if count.value.startswith("<not"):
        rows.skip(params, f"perf: {count.value.strip('<>')}")
        return
    with rows.failing(params):
        value = numeral(count.value)
        if value is None:
            raise NoNumberError(f"expected a count, got {count.value!r}", where=where)
        rows.add(params, (value,), count.unit, Better.LOWER, summary=count.summary)
